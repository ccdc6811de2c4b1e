/* UTF-8 as RFC 3629 has it: no surrogates, no overlong forms, nothing over U+10FFFF. */
#ifndef SBX_BASE_UTF8_H
#define SBX_BASE_UTF8_H

#include <stddef.h>

/* The length of the valid sequence at p (1 to 4), or 0 if there is none within n bytes. */
size_t sbx_utf8_next(const unsigned char *p, size_t n);
int sbx_utf8_valid(const void *bytes, size_t length);
/* The largest n <= length that does not cut a code point that begins before it. */
size_t sbx_utf8_floor(const void *bytes, size_t length);
/* The smallest n >= start at which a code point may begin. */
size_t sbx_utf8_ceil(const void *bytes, size_t length, size_t start);

#endif
