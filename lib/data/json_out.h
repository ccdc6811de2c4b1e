/*
 * JSON that cannot be left unbalanced: a writer over a buffer that keeps its own stack. Misuse (a
 * value without a key in an object, an end that does not match) is an assert; overflow of the
 * buffer sticks and is checked once, at the end.
 */
#ifndef SBX_DATA_JSON_OUT_H
#define SBX_DATA_JSON_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct sbx_json_out {
	struct sbx_buf *buf; /* borrowed */
	int depth;
	unsigned char
		kind[32]; /* of each open level: object or array, and whether it has members */
	int root_written;
};

void sbx_json_out_init(struct sbx_json_out *out, struct sbx_buf *buf);

/*
 * A key of NULL: an element of an array, or the root. In text and keys, bytes that are not UTF-8
 * become U+FFFD, and control characters (C0, DEL, C1) are escaped.
 */
void sbx_json_out_object(struct sbx_json_out *out, const char *key);
void sbx_json_out_array(struct sbx_json_out *out, const char *key);
void sbx_json_out_end(struct sbx_json_out *out); /* the innermost */
/* text of NULL is written as null. */
void sbx_json_out_string(struct sbx_json_out *out, const char *key, const char *text);
void sbx_json_out_string_n(struct sbx_json_out *out, const char *key, const char *text, size_t n);
void sbx_json_out_u64(struct sbx_json_out *out, const char *key, uint64_t v);
void sbx_json_out_i64(struct sbx_json_out *out, const char *key, int64_t v);
void sbx_json_out_bool(struct sbx_json_out *out, const char *key, int v);
void sbx_json_out_null(struct sbx_json_out *out, const char *key);
/* Text that is already valid JSON (from json_raw_borrow, or another writer). */
void sbx_json_out_raw(struct sbx_json_out *out, const char *key, const char *json, size_t n);
void sbx_json_out_base64(struct sbx_json_out *out, const char *key, const void *bytes, size_t n);
/*
 * Bytes of a stranger: {"text":...} when they are valid UTF-8, else {"base64":...}; written as
 * members of the object that is open.
 */
void sbx_json_out_bytes(struct sbx_json_out *out, const void *bytes, size_t n);

/*
 * Ends a record: asserts balance, appends "\n", and the next may begin; -1 with SBX_E_TOO_LARGE
 * if the buffer overflowed.
 */
int sbx_json_out_line(struct sbx_json_out *out, const char *what, struct sbx_err *err)
	__attribute__((warn_unused_result));

#endif
