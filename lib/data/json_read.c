/*
 * Values of a JSON document as C values: each reader checks type and range and names the place in
 * its error. Never guesses: no number from a string, no absent value for a default.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/scoped.h"
#include "data/json_text.h"

#define INTEGER_BYTES_MAX 20 /* of the longest 64-bit one, with its sign */

int
sbx_json_want(struct sbx_json v, enum sbx_json_type type, const char *what, const char *type_name,
	struct sbx_err *err)
{
	enum sbx_json_type got = sbx_json_type(v);

	if (got == type)
		return 0;
	if (got == SBX_JSON_ABSENT)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "%s: missing", what);
	return sbx_fail(err, SBX_E_BAD_REQUEST, "%s: must be %s", what, type_name);
}

int
sbx_json_bool(struct sbx_json v, const char *what, int *out, struct sbx_err *err)
{
	size_t n;

	if (sbx_json_want(v, SBX_JSON_BOOL, what, "true or false", err) < 0)
		return -1;
	*out = *sbx_json_raw_borrow(v, &n) == 't';
	return 0;
}

/* The digits of an integer in out, with a NUL. */
static int
read_integer(struct sbx_json v, const char *what, char out[INTEGER_BYTES_MAX + 1],
	struct sbx_err *err)
{
	const char *raw;
	size_t n;

	if (sbx_json_want(v, SBX_JSON_NUMBER, what, "an integer", err) < 0)
		return -1;
	raw = sbx_json_raw_borrow(v, &n);
	for (size_t i = 0; i < n; i++) {
		if (raw[i] == '.' || raw[i] == 'e' || raw[i] == 'E')
			return sbx_fail(err, SBX_E_BAD_REQUEST,
				"%s: must be an integer, without fraction or exponent", what);
	}
	if (n > INTEGER_BYTES_MAX)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "%s: a number of %zu digits is too large",
			what, n);
	memcpy(out, raw, n);
	out[n] = '\0';
	return 0;
}

int
sbx_json_u64(struct sbx_json v, const char *what, uint64_t min, uint64_t max, uint64_t *out,
	struct sbx_err *err)
{
	char digits[INTEGER_BYTES_MAX + 1];

	if (read_integer(v, what, digits, err) < 0)
		return -1;
	return sbx_num_u64(digits, min, max, what, out, err);
}

int
sbx_json_i64(struct sbx_json v, const char *what, int64_t min, int64_t max, int64_t *out,
	struct sbx_err *err)
{
	char digits[INTEGER_BYTES_MAX + 1];

	if (read_integer(v, what, digits, err) < 0)
		return -1;
	return sbx_num_i64(digits, min, max, what, out, err);
}

/* What stands between the quotes of a string, escapes and all. */
static const char *
string_raw(struct sbx_json v, size_t *length)
{
	const char *raw = sbx_json_raw_borrow(v, length);

	*length -= 2;
	return raw + 1;
}

int
sbx_json_string(struct sbx_json v, const char *what, size_t max_bytes, char **out,
	struct sbx_err *err)
{
	SBX_AUTO_FREE char *text = NULL;
	const char *raw;
	size_t raw_length, length;

	if (sbx_json_want(v, SBX_JSON_STRING, what, "a string", err) < 0)
		return -1;
	raw = string_raw(v, &raw_length);
	length = sbx_json_text_decode(raw, raw_length, NULL);
	if (length > max_bytes)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "%s: %zu bytes, at most %zu", what, length,
			max_bytes);
	text = sbx_mem_alloc(length + 1, 1);
	(void)sbx_json_text_decode(raw, raw_length, text);
	if (memchr(text, '\0', length) != NULL)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "%s: must not hold a NUL", what);
	*out = sbx_take_ptr(text);
	return 0;
}

int
sbx_json_bytes(struct sbx_json v, const char *what, struct sbx_buf *out, struct sbx_err *err)
{
	const char *raw;
	size_t raw_length, length;
	char *to;

	if (sbx_json_want(v, SBX_JSON_STRING, what, "a string", err) < 0)
		return -1;
	raw = string_raw(v, &raw_length);
	length = sbx_json_text_decode(raw, raw_length, NULL);
	to = sbx_buf_reserve(out, length);
	if (to == NULL)
		return sbx_buf_check(out, what, err);
	(void)sbx_json_text_decode(raw, raw_length, to);
	sbx_buf_commit(out, length);
	return 0;
}

int
sbx_json_string_is(struct sbx_json v, const char *text)
{
	SBX_AUTO_FREE char *decoded = NULL;
	size_t want_length = strlen(text), length;
	const char *raw;

	if (sbx_json_type(v) != SBX_JSON_STRING)
		return 0;
	raw = string_raw(v, &length);
	if (memchr(raw, '\\', length) == NULL)
		return length == want_length && memcmp(raw, text, length) == 0;
	if (sbx_json_text_decode(raw, length, NULL) != want_length)
		return 0;
	decoded = sbx_mem_alloc(want_length + 1, 1);
	(void)sbx_json_text_decode(raw, length, decoded);
	return memcmp(decoded, text, want_length) == 0;
}

static int
is_among(struct sbx_json key, const char *const *keys)
{
	for (; *keys != NULL; keys++) {
		if (sbx_json_string_is(key, *keys))
			return 1;
	}
	return 0;
}

int
sbx_json_only_keys(struct sbx_json v, const char *what, const char *const *keys,
	struct sbx_err *err)
{
	struct sbx_json key;
	size_t cursor = 0;

	if (sbx_json_want(v, SBX_JSON_OBJECT, what, "an object", err) < 0)
		return -1;
	while (sbx_json_each(v, &cursor, &key, NULL)) {
		if (!is_among(key, keys))
			return sbx_json_unknown_key(key, what, err);
	}
	return 0;
}

int
sbx_json_unknown_key(struct sbx_json key, const char *what, struct sbx_err *err)
{
	size_t n;
	const char *raw = sbx_json_raw_borrow(key, &n);

	return sbx_fail(err, SBX_E_BAD_REQUEST, "%s: unknown key %.*s", what,
		sbx_json_text_shown(raw, n), raw);
}
