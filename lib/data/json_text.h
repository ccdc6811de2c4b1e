/* What the files of JSON share: grammar, escapes, unique keys. Only for lib/data/json*.c. */
#ifndef SBX_DATA_JSON_TEXT_H
#define SBX_DATA_JSON_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "data/json.h"

/*
 * 0 if the text is one JSON value within the caps of json.h, duplicate keys aside; *tokens is then
 * the number of its values and keys. -1 with SBX_E_BAD_REQUEST or SBX_E_TOO_LARGE.
 */
int sbx_json_text_check(const char *text, size_t length, size_t *tokens, struct sbx_err *err)
	__attribute__((warn_unused_result));

/*
 * The escape at p, which is a backslash: how many bytes it takes (12 for a surrogate pair) and the
 * code point in *code. 0 if it is not one, with the reason in *why (static text).
 */
size_t sbx_json_escape_read(const unsigned char *p, size_t n, uint32_t *code, const char **why);

/*
 * Undo the escapes of a string that passed the check; raw is what stands between its quotes.
 * Returns the decoded length, which is at most `length`; with out NULL it only counts.
 */
size_t sbx_json_text_decode(const char *raw, size_t length, char *out);

/*
 * SBX_E_BAD_REQUEST if one of the objects among the doc's first `count` tokens has a key twice,
 * however it is escaped. text is the document's.
 */
int sbx_json_unique_check(const struct sbx_json_doc *doc, int count, const char *text,
	size_t length, struct sbx_err *err) __attribute__((warn_unused_result));

/* 0 if v is of the type, else SBX_E_BAD_REQUEST "<what>: must be <type_name>" or "...: missing". */
int sbx_json_want(struct sbx_json v, enum sbx_json_type type, const char *what,
	const char *type_name, struct sbx_err *err) __attribute__((warn_unused_result));

/* Fails with SBX_E_BAD_REQUEST that names the key. */
int sbx_json_unknown_key(struct sbx_json key, const char *what, struct sbx_err *err);

/* How many bytes of raw an error message quotes: few, and never half a code point. For "%.*s". */
int sbx_json_text_shown(const char *raw, size_t length);

#endif
