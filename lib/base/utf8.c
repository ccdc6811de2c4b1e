/*
 * UTF-8 by table 3-7 of the Unicode standard, which says the same as RFC 3629. Only looks: what to
 * do about a wrong byte is the caller's affair.
 */
#include "base/utf8.h"

/* What may follow a first byte: the whole length and the bounds of the second byte. */
struct lead {
	size_t length; /* 0: no sequence begins so */
	unsigned char low, high;
};

static struct lead
lead_of(unsigned char c)
{
	if (c < 0x80)
		return (struct lead){ 1, 0, 0 };
	if (c < 0xc2) /* a continuation, or an overlong form of two bytes */
		return (struct lead){ 0, 0, 0 };
	if (c < 0xe0)
		return (struct lead){ 2, 0x80, 0xbf };
	if (c < 0xf0) /* E0: no overlong forms; ED: no surrogates */
		return (struct lead){ 3, c == 0xe0 ? 0xa0 : 0x80, c == 0xed ? 0x9f : 0xbf };
	if (c < 0xf5) /* F0: no overlong forms; F4: nothing over U+10FFFF */
		return (struct lead){ 4, c == 0xf0 ? 0x90 : 0x80, c == 0xf4 ? 0x8f : 0xbf };
	return (struct lead){ 0, 0, 0 };
}

static int
is_continuation(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

/* The length the sequence at p is to have, if its first n bytes are right so far; else 0. */
static size_t
begun_at(const unsigned char *p, size_t n)
{
	struct lead lead;
	size_t i;

	if (n == 0)
		return 0;
	lead = lead_of(p[0]);
	if (lead.length > 1 && n > 1 && (p[1] < lead.low || p[1] > lead.high))
		return 0;
	for (i = 2; i < lead.length && i < n; i++) {
		if (!is_continuation(p[i]))
			return 0;
	}
	return lead.length;
}

size_t
sbx_utf8_next(const unsigned char *p, size_t n)
{
	size_t length = begun_at(p, n);

	return length <= n ? length : 0;
}

int
sbx_utf8_valid(const void *bytes, size_t length)
{
	const unsigned char *p = bytes;
	size_t at = 0, step;

	while (at < length) {
		step = sbx_utf8_next(p + at, length - at);
		if (step == 0)
			return 0;
		at += step;
	}
	return 1;
}

size_t
sbx_utf8_floor(const void *bytes, size_t length)
{
	const unsigned char *p = bytes;
	size_t back;

	for (back = 1; back <= 3 && back <= length; back++) {
		if (is_continuation(p[length - back]))
			continue;
		return begun_at(p + length - back, back) > back ? length - back : length;
	}
	return length;
}

size_t
sbx_utf8_ceil(const void *bytes, size_t length, size_t start)
{
	const unsigned char *p = bytes;

	while (start < length && is_continuation(p[start]))
		start++;
	return start < length ? start : length;
}
