/*
 * A growing byte buffer with a hard cap that is named at its birth, so that nothing grows by
 * someone else's will. The bytes are always followed by a NUL that is not counted, so that text
 * can be read as a C string.
 */
#ifndef SBX_BASE_BUF_H
#define SBX_BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>

#include "base/err.h"

/*
 * Owned by the caller; data belongs to the buffer and moves when it grows. `overflow` sticks: once
 * an append did not fit, nothing more is taken until clear(), so that a writer of many small
 * pieces may check once at the end.
 */
struct sbx_buf {
	char *data; /* NULL while nothing was appended */
	size_t length;
	size_t room; /* allocated, without the NUL */
	size_t cap;
	int overflow;
};

/* clang-format off */
#define SBX_BUF_INIT(cap_bytes) { .cap = (cap_bytes) }
/* clang-format on */

void sbx_buf_init(struct sbx_buf *buf, size_t cap_bytes);
void sbx_buf_done(struct sbx_buf *buf); /* frees; the cap stays, the buffer may be used again */
void sbx_buf_clear(struct sbx_buf *buf); /* length 0, keeps the memory */

/* All of it or nothing: 0, or -1 with `overflow` set where the cap would be passed. */
int sbx_buf_add(struct sbx_buf *buf, const void *bytes, size_t length);
int sbx_buf_add_str(struct sbx_buf *buf, const char *text);
int sbx_buf_add_char(struct sbx_buf *buf, char c);
int sbx_buf_printf(struct sbx_buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int sbx_buf_vprintf(struct sbx_buf *buf, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

/* Room for at least `length` more bytes at the returned place; NULL (and overflow) past the cap. */
char *sbx_buf_reserve(struct sbx_buf *buf, size_t length) __attribute__((warn_unused_result));
void sbx_buf_commit(struct sbx_buf *buf, size_t length); /* counts what was written there */

/* Drop `length` bytes from the front. */
void sbx_buf_consume(struct sbx_buf *buf, size_t length);

/* The text, never NULL ("" when empty). Borrowed until the next change. */
const char *sbx_buf_str(const struct sbx_buf *buf);

/* 0, or -1 with SBX_E_TOO_LARGE that names `what` and the cap, if anything overflowed. */
int sbx_buf_check(const struct sbx_buf *buf, const char *what, struct sbx_err *err)
	__attribute__((warn_unused_result));

#define SBX_AUTO_BUF __attribute__((cleanup(sbx_buf_done))) struct sbx_buf

#endif
