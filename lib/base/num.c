/*
 * The one place that turns text into numbers. Units are tables. What is no number and what is out
 * of range, overflow included, is one error: it quotes the value and says what would be right.
 */
#include "base/num.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

struct unit {
	const char *suffix;
	uint64_t factor;
};

/* Ascending, after the meaning of a bare number. */
static const struct unit sizes[] = {
	{ "", 1 },
	{ "B", 1 },
	{ "KiB", UINT64_C(1) << 10 },
	{ "MiB", UINT64_C(1) << 20 },
	{ "GiB", UINT64_C(1) << 30 },
	{ "TiB", UINT64_C(1) << 40 },
	{ NULL, 0 },
};

static const struct unit durations[] = {
	{ "", 1000 },
	{ "ms", 1 },
	{ "s", 1000 },
	{ "m", 60 * 1000 },
	{ "h", 3600 * 1000 },
	{ "d", 86400 * 1000 },
	{ NULL, 0 },
};

/* How much of a wrong value an error quotes; cut at a code point. */
static int
quoted(const char *text)
{
	return (int)sbx_utf8_floor(text, strnlen(text, 64));
}

/* One or more digits of `base` (8 or 10); *p moves behind them. -1: none, or over 64 bits. */
static int
take_digits(const char **p, unsigned base, uint64_t *out)
{
	const char *at = *p;
	uint64_t value = 0;

	for (; *at >= '0' && *at < (char)('0' + base); at++) {
		if (__builtin_mul_overflow(value, base, &value) ||
			__builtin_add_overflow(value, (unsigned)(*at - '0'), &value))
			return -1;
	}
	if (at == *p)
		return -1;
	*p = at;
	*out = value;
	return 0;
}

int
sbx_num_u64(const char *text, uint64_t min, uint64_t max, const char *what, uint64_t *out,
	struct sbx_err *err)
{
	const char *p = text;
	uint64_t value;

	if (take_digits(&p, 10, &value) < 0 || *p != '\0' || value < min || value > max)
		return sbx_fail(err, SBX_E_BAD_REQUEST,
			"%s: \"%.*s\" is not a number from %ju to %ju", what, quoted(text), text,
			(uintmax_t)min, (uintmax_t)max);
	*out = value;
	return 0;
}

/* -1 where the value does not fit. */
static int
with_sign(uint64_t magnitude, int negative, int64_t *out)
{
	if (negative) {
		if (magnitude > (uint64_t)INT64_MAX + 1)
			return -1;
		*out = magnitude == 0 ? 0 : -(int64_t)(magnitude - 1) - 1;
		return 0;
	}
	if (magnitude > INT64_MAX)
		return -1;
	*out = (int64_t)magnitude;
	return 0;
}

int
sbx_num_i64(const char *text, int64_t min, int64_t max, const char *what, int64_t *out,
	struct sbx_err *err)
{
	int negative = text[0] == '-';
	const char *p = text + negative;
	uint64_t magnitude;
	int64_t value;

	if (take_digits(&p, 10, &magnitude) < 0 || *p != '\0' ||
		with_sign(magnitude, negative, &value) < 0 || value < min || value > max)
		return sbx_fail(err, SBX_E_BAD_REQUEST,
			"%s: \"%.*s\" is not a number from %jd to %jd", what, quoted(text), text,
			(intmax_t)min, (intmax_t)max);
	*out = value;
	return 0;
}

static int
parse_units(const char *text, const struct unit *units, uint64_t *out)
{
	const struct unit *unit;
	const char *p = text;
	uint64_t value;

	if (take_digits(&p, 10, &value) < 0)
		return -1;
	for (unit = units; unit->suffix != NULL; unit++) {
		if (strcmp(unit->suffix, p) == 0)
			return __builtin_mul_overflow(value, unit->factor, out) ? -1 : 0;
	}
	return -1;
}

/* A bound in the largest unit that shows it exactly. */
static void
format_units(uint64_t value, const struct unit *units, char out[32])
{
	const struct unit *unit, *best = &units[1];

	for (unit = &units[1]; unit->suffix != NULL; unit++) {
		if (value != 0 && value % unit->factor == 0)
			best = unit;
	}
	snprintf(out, 32, "%ju%s", (uintmax_t)(value / best->factor), best->suffix);
}

static int
fail_units(const char *text, uint64_t min, uint64_t max, const char *what, const struct unit *units,
	const char *kind, struct sbx_err *err)
{
	char low[32], high[32];

	format_units(min, units, low);
	format_units(max, units, high);
	return sbx_fail(err, SBX_E_BAD_REQUEST, "%s: \"%.*s\" is not a %s from %s to %s", what,
		quoted(text), text, kind, low, high);
}

int
sbx_num_size(const char *text, uint64_t min, uint64_t max, const char *what, uint64_t *out,
	struct sbx_err *err)
{
	uint64_t value;

	if (parse_units(text, sizes, &value) < 0 || value < min || value > max)
		return fail_units(text, min, max, what, sizes, "size", err);
	*out = value;
	return 0;
}

int
sbx_num_duration_ms(const char *text, uint64_t min, uint64_t max, const char *what, uint64_t *out,
	struct sbx_err *err)
{
	uint64_t value;

	if (parse_units(text, durations, &value) < 0 || value < min || value > max)
		return fail_units(text, min, max, what, durations, "duration", err);
	*out = value;
	return 0;
}

int
sbx_num_mode(const char *text, const char *what, unsigned *out, struct sbx_err *err)
{
	const char *p = text;
	uint64_t value;

	if (take_digits(&p, 8, &value) < 0 || *p != '\0' || value > 07777)
		return sbx_fail(err, SBX_E_BAD_REQUEST,
			"%s: \"%.*s\" is not an octal mode from 0 to 07777", what, quoted(text),
			text);
	*out = (unsigned)value;
	return 0;
}

void
sbx_num_format_size(uint64_t bytes, char out[16])
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	uint64_t factor = 1;
	unsigned tenth, whole;
	size_t i = 0;

	while (i + 1 < sizeof(names) / sizeof(names[0]) && bytes / factor >= 1024) {
		factor <<= 10;
		i++;
	}
	/* Cut, not rounded: 1023.99 KiB must not become 1024.0 KiB. */
	whole = (unsigned)(bytes / factor);
	tenth = (unsigned)(bytes % factor * 10 / factor);
	if (tenth == 0)
		snprintf(out, 16, "%u %s", whole % 10000, names[i]);
	else
		snprintf(out, 16, "%u.%u %s", whole % 10000, tenth % 10, names[i]);
}
