/*
 * An object read through a table of its keys, so that a record has its types and ranges in one
 * place and what is not in the table is refused. Knows no record itself.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/scoped.h"
#include "data/json_text.h"
#include "data/names.h"

#define FIELDS_MAX 64 /* bits of the set of keys that were seen */
#define WORD_BYTES_MAX 64 /* of an enumeration's word, a size, a duration */

/* A row without its maximum would refuse everything: our mistake, found at its first use. */
static void
check_table(const struct sbx_json_field *table)
{
	size_t count = 0;

	for (; table->key != NULL; table++, count++) {
		switch (table->kind) {
		case SBX_JSON_F_U64:
		case SBX_JSON_F_I64:
		case SBX_JSON_F_STRING:
		case SBX_JSON_F_SIZE:
		case SBX_JSON_F_DURATION:
			assert(table->umax > 0);
			break;
		case SBX_JSON_F_ENUM:
			assert(table->names != NULL);
			break;
		case SBX_JSON_F_BOOL:
		case SBX_JSON_F_VALUE:
			break;
		}
	}
	assert(count <= FIELDS_MAX);
}

static int
read_string(struct sbx_json v, const char *what, const struct sbx_json_field *f, char **out,
	struct sbx_err *err)
{
	char *text;

	if (sbx_json_string(v, what, (size_t)f->umax, &text, err) < 0)
		return -1;
	if (strlen(text) < f->umin) {
		free(text);
		return sbx_fail(err, SBX_E_BAD_REQUEST, "%s: must be at least %llu bytes", what,
			(unsigned long long)f->umin);
	}
	free(*out);
	*out = text;
	return 0;
}

static int
read_enum(struct sbx_json v, const char *what, const struct sbx_json_field *f, int *out,
	struct sbx_err *err)
{
	SBX_AUTO_FREE char *word = NULL;

	if (sbx_json_string(v, what, WORD_BYTES_MAX, &word, err) < 0)
		return -1;
	return sbx_names_parse(word, f->names, what, out, err);
}

/*
 * A bare number of a duration is milliseconds as a number but would be seconds as a string, so as a
 * string it must say its unit.
 */
static int
read_quantity(struct sbx_json v, const char *what, const struct sbx_json_field *f, uint64_t *out,
	struct sbx_err *err)
{
	int is_size = f->kind == SBX_JSON_F_SIZE;
	SBX_AUTO_FREE char *text = NULL;

	if (sbx_json_type(v) == SBX_JSON_NUMBER)
		return sbx_json_u64(v, what, f->umin, f->umax, out, err);
	if (sbx_json_type(v) != SBX_JSON_STRING)
		return sbx_fail(err, SBX_E_BAD_REQUEST,
			"%s: must be a number of %s or a string with a unit", what,
			is_size ? "bytes" : "milliseconds");
	if (sbx_json_string(v, what, WORD_BYTES_MAX, &text, err) < 0)
		return -1;
	if (is_size)
		return sbx_num_size(text, f->umin, f->umax, what, out, err);
	if (strpbrk(text, "smhd") == NULL)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "%s: \"%s\" has no unit (ms, s, m, h, d)",
			what, text);
	return sbx_num_duration_ms(text, f->umin, f->umax, what, out, err);
}

static int
read_field(struct sbx_json v, const char *what, const struct sbx_json_field *f, void *to,
	struct sbx_err *err)
{
	int64_t max;

	switch (f->kind) {
	case SBX_JSON_F_BOOL:
		return sbx_json_bool(v, what, to, err);
	case SBX_JSON_F_U64:
		return sbx_json_u64(v, what, f->umin, f->umax, to, err);
	case SBX_JSON_F_I64:
		max = f->umax > INT64_MAX ? INT64_MAX : (int64_t)f->umax;
		return sbx_json_i64(v, what, f->min, max, to, err);
	case SBX_JSON_F_STRING:
		return read_string(v, what, f, to, err);
	case SBX_JSON_F_VALUE:
		*(struct sbx_json *)to = v;
		return 0;
	case SBX_JSON_F_ENUM:
		return read_enum(v, what, f, to, err);
	case SBX_JSON_F_SIZE:
	case SBX_JSON_F_DURATION:
		return read_quantity(v, what, f, to, err);
	}
	return sbx_fail(err, SBX_E_INTERNAL, "%s: field of unknown kind %d", what, (int)f->kind);
}

/* The row for a key, or NULL. */
static const struct sbx_json_field *
find_field(struct sbx_json key, const struct sbx_json_field *table)
{
	for (; table->key != NULL; table++) {
		if (sbx_json_string_is(key, table->key))
			return table;
	}
	return NULL;
}

int
sbx_json_read(struct sbx_json v, const char *what, const struct sbx_json_field *table, void *target,
	struct sbx_err *err)
{
	struct sbx_json key, value;
	uint64_t seen = 0;
	size_t cursor = 0;

	check_table(table);
	if (sbx_json_want(v, SBX_JSON_OBJECT, what, "an object", err) < 0)
		return -1;
	while (sbx_json_each(v, &cursor, &key, &value)) {
		const struct sbx_json_field *f = find_field(key, table);
		SBX_AUTO_FREE char *place = NULL;

		if (f == NULL)
			return sbx_json_unknown_key(key, what, err);
		seen |= UINT64_C(1) << (f - table);
		place = sbx_mem_printf("%s.%s", what, f->key);
		if (read_field(value, place, f, (char *)target + f->offset, err) < 0)
			return -1;
	}
	for (const struct sbx_json_field *f = table; f->key != NULL; f++) {
		if (f->required && !(seen & UINT64_C(1) << (f - table)))
			return sbx_fail(err, SBX_E_BAD_REQUEST, "%s.%s: missing", what, f->key);
	}
	return 0;
}
