/*
 * The one place that turns text into numbers: whole string, decimal, range-checked, with units.
 * Every error quotes the value and the range.
 */
#ifndef SBX_BASE_NUM_H
#define SBX_BASE_NUM_H

#include <stdint.h>

#include "base/err.h"

/*
 * Each parses the whole of `text` into *out: no sign but '-' for i64, no leading or trailing space,
 * no leading '+', no hexadecimal. -1 with SBX_E_BAD_REQUEST "<what>: ..." otherwise.
 */
int sbx_num_u64(const char *text, uint64_t min, uint64_t max, const char *what, uint64_t *out,
	struct sbx_err *err) __attribute__((warn_unused_result));
int sbx_num_i64(const char *text, int64_t min, int64_t max, const char *what, int64_t *out,
	struct sbx_err *err) __attribute__((warn_unused_result));

/* Bytes: a number with nothing, B, KiB, MiB, GiB or TiB behind it ("512MiB"). */
int sbx_num_size(const char *text, uint64_t min, uint64_t max, const char *what, uint64_t *out,
	struct sbx_err *err) __attribute__((warn_unused_result));

/* Milliseconds: a number with ms, s, m, h or d ("90s"); a bare number is seconds. */
int sbx_num_duration_ms(const char *text, uint64_t min, uint64_t max, const char *what,
	uint64_t *out, struct sbx_err *err) __attribute__((warn_unused_result));

/* Octal permission bits, 0 to 07777 ("0644"). */
int sbx_num_mode(const char *text, const char *what, unsigned *out, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* A size for people: "1.5 GiB", at most 15 characters and NUL in out. */
void sbx_num_format_size(uint64_t bytes, char out[16]);

#endif
