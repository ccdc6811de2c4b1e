/*
 * JSON from strangers: jsmn as tokenizer, made strict (RFC 8259, one root, no duplicate keys, valid
 * UTF-8, depth and token caps) by a grammar pass of our own. Readers are typed and by key.
 */
#ifndef SBX_DATA_JSON_H
#define SBX_DATA_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define SBX_JSON_DEPTH_MAX 32
#define SBX_JSON_TOKENS_MAX 262144
#define SBX_JSON_LINE_MAX (1024 * 1024) /* a record */
#define SBX_JSON_TEXT_MAX (16 * 1024 * 1024) /* any document */

struct sbx_json_doc; /* borrows the text until it is freed */

/* A place in a document: an object, an array or a value. Cheap to copy; valid while doc lives. */
struct sbx_json {
	const struct sbx_json_doc *doc;
	int token; /* -1: absent */
};

enum sbx_json_type {
	SBX_JSON_ABSENT = 0,
	SBX_JSON_NULL,
	SBX_JSON_BOOL,
	SBX_JSON_NUMBER,
	SBX_JSON_STRING,
	SBX_JSON_ARRAY,
	SBX_JSON_OBJECT
};

/*
 * Parse exactly one value (surrounding white space allowed). The text is borrowed and must outlive
 * the document. NULL with SBX_E_BAD_REQUEST (message: what, and at which byte, from 0) or, past a
 * cap on size, tokens or depth, SBX_E_TOO_LARGE.
 */
struct sbx_json_doc *sbx_json_parse(const char *text, size_t length, struct sbx_err *err)
	__attribute__((warn_unused_result));
void sbx_json_free(struct sbx_json_doc *doc); /* NULL is fine */
void sbx_json_free_scoped(struct sbx_json_doc **doc);
#define SBX_AUTO_JSON __attribute__((cleanup(sbx_json_free_scoped))) struct sbx_json_doc *

struct sbx_json sbx_json_root(const struct sbx_json_doc *doc);
enum sbx_json_type sbx_json_type(struct sbx_json v);

/* The member of an object, or an absent value (also when v is not an object). */
struct sbx_json sbx_json_get(struct sbx_json v, const char *key);
size_t sbx_json_count(struct sbx_json v); /* elements or members; 0 for others */
struct sbx_json sbx_json_at(struct sbx_json v, size_t index); /* element; linear in index */
/*
 * Iterate: start with `*cursor = 0`; returns 1 and sets what is not NULL, 0 at the end. An array's
 * elements have an absent key.
 */
int sbx_json_each(struct sbx_json v, size_t *cursor, struct sbx_json *key, struct sbx_json *value);

/*
 * Typed readers. `what` names the place in errors ("spec.limits.memory"). -1 with SBX_E_BAD_REQUEST
 * "<what>: must be a string" and the like; absent is an error as well.
 */
int sbx_json_bool(struct sbx_json v, const char *what, int *out, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* Integers only: no fraction, no exponent. */
int sbx_json_u64(struct sbx_json v, const char *what, uint64_t min, uint64_t max, uint64_t *out,
	struct sbx_err *err) __attribute__((warn_unused_result));
int sbx_json_i64(struct sbx_json v, const char *what, int64_t min, int64_t max, int64_t *out,
	struct sbx_err *err) __attribute__((warn_unused_result));
/*
 * A string, unescaped to a fresh NUL-terminated copy the caller frees; one that holds a NUL
 * (\u0000) or is longer than max_bytes is refused.
 */
int sbx_json_string(struct sbx_json v, const char *what, size_t max_bytes, char **out,
	struct sbx_err *err) __attribute__((warn_unused_result));
/* The same bytes, NUL allowed, appended to buf; SBX_E_TOO_LARGE past its cap. */
int sbx_json_bytes(struct sbx_json v, const char *what, struct sbx_buf *out, struct sbx_err *err)
	__attribute__((warn_unused_result));
int sbx_json_string_is(struct sbx_json v, const char *text); /* 1 if it is exactly this string */
/* The raw text of a value, as it stands in the document. Borrowed from the text. */
const char *sbx_json_raw_borrow(struct sbx_json v, size_t *length);

/* SBX_E_BAD_REQUEST that names the first member whose key is not in the NULL-terminated list. */
int sbx_json_only_keys(struct sbx_json v, const char *what, const char *const *keys,
	struct sbx_err *err) __attribute__((warn_unused_result));

/*
 * An object read through a table: key, type, where it goes. Unknown keys, wrong types and ranges
 * are refused by name; missing keys leave the target as it was unless `required`. After an error
 * the target is partly filled and still the caller's to release.
 */
enum sbx_json_field_kind {
	SBX_JSON_F_BOOL, /* int */
	SBX_JSON_F_U64, /* uint64_t */
	SBX_JSON_F_I64, /* int64_t */
	SBX_JSON_F_STRING, /* char *, owned by the struct; a former value is freed */
	SBX_JSON_F_VALUE, /* struct sbx_json: read later by the caller */
	SBX_JSON_F_ENUM, /* int: index in `names` */
	SBX_JSON_F_SIZE, /* uint64_t bytes: a number, or a string with a unit */
	SBX_JSON_F_DURATION, /* uint64_t ms: a number (of ms), or a string with a unit */
};
struct sbx_json_field {
	const char *key; /* NULL ends the table */
	enum sbx_json_field_kind kind;
	size_t offset;
	int required;
	int64_t min; /* F_I64 */
	uint64_t umin, umax; /* numbers; of strings their bytes; umax is never 0 where it counts */
	const char *const *names; /* F_ENUM, NULL-terminated */
};
int sbx_json_read(struct sbx_json v, const char *what, const struct sbx_json_field *table,
	void *target, struct sbx_err *err) __attribute__((warn_unused_result));

#endif
