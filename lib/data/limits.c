/*
 * One environment's limits: read from a spec's JSON, from an option's text and from state records.
 * Ranges stand in limits_table.c. Applies none of them.
 */
#include "data/limits.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/scoped.h"
#include "data/limits_table.h"

/* "0.5" is 500; at most three digits behind the point, since nothing finer can be kept. */
static int
parse_milli(const char *text, uint64_t *out)
{
	const char *p = text;
	uint64_t whole = 0, part = 0;
	int digits = 0;

	if (*p < '0' || *p > '9')
		return -1;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (whole > UINT32_MAX)
			return -1;
		whole = whole * 10 + (uint64_t)(*p - '0');
	}
	if (*p == '.') {
		for (p++; *p >= '0' && *p <= '9' && digits < 3; p++, digits++)
			part = part * 10 + (uint64_t)(*p - '0');
		if (digits == 0)
			return -1;
		for (; digits < 3; digits++)
			part *= 10;
	}
	if (*p != '\0')
		return -1;
	*out = whole * 1000 + part;
	return 0;
}

/*
 * `is_number`: it was a JSON number, so a duration is in milliseconds. As a string it must say its
 * unit, since elsewhere a bare number of a duration is seconds.
 */
static int
parse(const struct sbx_limits_field *field, const char *text, int is_number, uint64_t max,
	const char *what, uint64_t *out, struct sbx_err *err)
{
	char least[32], most[32];

	switch (field->kind) {
	case SBX_LIMITS_SIZE:
		return sbx_num_size(text, field->min, max, what, out, err);
	case SBX_LIMITS_COUNT:
		return sbx_num_u64(text, field->min, max, what, out, err);
	case SBX_LIMITS_DURATION:
		if (is_number)
			return sbx_num_u64(text, field->min, max, what, out, err);
		if (strpbrk(text, "smhd") == NULL)
			return sbx_fail(err, SBX_E_BAD_REQUEST,
				"%s: \"%s\" has no unit (ms, s, m, h, d)", what, text);
		return sbx_num_duration_ms(text, field->min, max, what, out, err);
	case SBX_LIMITS_MILLI:
		if (parse_milli(text, out) == 0 && *out >= field->min && *out <= max)
			return 0;
		sbx_limits_format(field, field->min, least);
		sbx_limits_format(field, max, most);
		return sbx_fail(err, SBX_E_BAD_REQUEST,
			"%s: \"%s\" is not a number of processors from %s to %s in steps of 0.001",
			what, text, least, most);
	case SBX_LIMITS_EGRESS:
		for (uint64_t i = 0; i <= max; i++) {
			if (strcmp(text, sbx_egress_names[i]) == 0) {
				*out = i;
				return 0;
			}
		}
		return sbx_fail(err, SBX_E_BAD_REQUEST, "%s: \"%s\" is not one of none to %s", what,
			text, sbx_egress_names[max]);
	}
	return sbx_fail(err, SBX_E_INTERNAL, "%s: a field of no kind", what);
}

int
sbx_limits_check_text(const char *name, const char *text, struct sbx_err *err)
{
	uint64_t value;

	for (size_t i = 0; i < SBX_LIMITS_FIELDS; i++)
		if (strcmp(sbx_limits_fields[i].name, name) == 0)
			return parse(&sbx_limits_fields[i], text, 0, sbx_limits_fields[i].max, name,
				&value, err);
	return sbx_fail(err, SBX_E_BAD_REQUEST, "there is no limit \"%s\"", name);
}

/* A JSON number's own text, or a string's: numbers are read from what was written, not rounded. */
static int
value_in(const struct sbx_limits_field *field, struct sbx_json v, uint64_t max, uint64_t *out,
	struct sbx_err *err)
{
	SBX_AUTO_FREE char *string = NULL;
	char what[64], number[40];
	size_t length = 0;
	const char *raw;

	snprintf(what, sizeof(what), "spec.limits.%s", field->name);
	if (sbx_json_type(v) == SBX_JSON_STRING) {
		if (sbx_json_string(v, what, 64, &string, err) < 0)
			return -1;
		return parse(field, string, 0, max, what, out, err);
	}
	if (sbx_json_type(v) != SBX_JSON_NUMBER)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "%s: must be a number or a string", what);
	raw = sbx_json_raw_borrow(v, &length);
	if (length >= sizeof(number))
		return sbx_fail(err, SBX_E_BAD_REQUEST, "%s: \"%.*s...\" has too many digits", what,
			(int)sizeof(number) - 1, raw);
	memcpy(number, raw, length);
	number[length] = '\0';
	return parse(field, number, 1, max, what, out, err);
}

int
sbx_limits_resolve(struct sbx_json object, const struct sbx_profile *profile,
	struct sbx_limits *out, struct sbx_err *err)
{
	const char *keys[SBX_LIMITS_FIELDS + 1] = { NULL };
	size_t count = 0;

	*out = profile->defaults;
	if (sbx_json_type(object) == SBX_JSON_ABSENT)
		return 0;
	if (sbx_json_type(object) != SBX_JSON_OBJECT)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "spec.limits: must be an object");
	for (size_t i = 0; i < SBX_LIMITS_FIELDS; i++)
		if (sbx_limits_fields[i].in_spec)
			keys[count++] = sbx_limits_fields[i].name;
	if (sbx_json_only_keys(object, "spec.limits", keys, err) < 0)
		return -1;
	for (size_t i = 0; i < SBX_LIMITS_FIELDS; i++) {
		const struct sbx_limits_field *field = &sbx_limits_fields[i];
		struct sbx_json v = sbx_json_get(object, field->name);
		uint64_t max = sbx_limits_get(&profile->maximum, field), value;

		if (sbx_json_type(v) == SBX_JSON_ABSENT)
			continue;
		if (value_in(field, v, max, &value, err) < 0)
			return -1;
		sbx_limits_set(out, field, value);
	}
	return 0;
}

void
sbx_limits_out(const struct sbx_limits *limits, struct sbx_json_out *out, const char *key)
{
	sbx_json_out_object(out, key);
	for (size_t i = 0; i < SBX_LIMITS_FIELDS; i++) {
		const struct sbx_limits_field *field = &sbx_limits_fields[i];
		uint64_t value = sbx_limits_get(limits, field);

		if (field->kind == SBX_LIMITS_EGRESS)
			sbx_json_out_string(out, field->record, sbx_egress_names[value]);
		else
			sbx_json_out_u64(out, field->record, value);
	}
	sbx_json_out_end(out);
}

int
sbx_limits_in(struct sbx_json object, struct sbx_limits *limits, struct sbx_err *err)
{
	memset(limits, 0, sizeof(*limits));
	for (size_t i = 0; i < SBX_LIMITS_FIELDS; i++) {
		const struct sbx_limits_field *field = &sbx_limits_fields[i];
		struct sbx_json v = sbx_json_get(object, field->record);
		SBX_AUTO_FREE char *name = NULL;
		uint64_t value = 0;
		char what[48];

		snprintf(what, sizeof(what), "limits.%s", field->record);
		if (field->kind != SBX_LIMITS_EGRESS) {
			if (sbx_json_u64(v, what, field->min, field->max, &value, err) < 0)
				return -1;
		} else if (sbx_json_string(v, what, 16, &name, err) < 0 ||
			parse(field, name, 0, field->max, what, &value, err) < 0) {
			return -1;
		}
		sbx_limits_set(limits, field, value);
	}
	return 0;
}
