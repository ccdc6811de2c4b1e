/*
 * The writer of JSON: a stack of the open levels decides on commas and colons, so that what comes
 * out is well-formed whatever text goes in. Bytes that are not UTF-8 become U+FFFD; all controls,
 * DEL and C1 too, are escaped, so that no record can drive a terminal. Never reads JSON.
 */
#include "data/json_out.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"

#define LEVEL_OBJECT 1u
#define LEVEL_HAS_MEMBERS 2u
#define REPLACEMENT "\xef\xbf\xbd"

void
sbx_json_out_init(struct sbx_json_out *out, struct sbx_buf *buf)
{
	*out = (struct sbx_json_out){ .buf = buf };
}

/* The letter of a short escape, or 0. */
static char
short_escape(unsigned char c)
{
	switch (c) {
	case '"':
	case '\\':
		return (char)c;
	case '\b':
		return 'b';
	case '\f':
		return 'f';
	case '\n':
		return 'n';
	case '\r':
		return 'r';
	case '\t':
		return 't';
	default:
		return 0;
	}
}

/* The code point of the n bytes at p if it must be escaped, else -1. */
static int
to_escape(const unsigned char *p, size_t n)
{
	if (n == 1 && (*p < 0x20 || *p == 0x7f || *p == '"' || *p == '\\'))
		return *p;
	if (n == 2 && p[0] == 0xc2 && p[1] < 0xa0)
		return p[1]; /* C1: U+0080 to U+009F */
	return -1;
}

static void
add_escape(struct sbx_buf *buf, int code)
{
	char letter = short_escape((unsigned char)code);

	if (letter != 0)
		(void)sbx_buf_printf(buf, "\\%c", letter);
	else
		(void)sbx_buf_printf(buf, "\\u%04x", (unsigned)code);
}

/* The text in quotes. What needs no escape is copied in runs. */
static void
add_quoted(struct sbx_buf *buf, const char *text, size_t length)
{
	const unsigned char *p = (const unsigned char *)(length > 0 ? text : ""); /* NULL is none */
	size_t at = 0, run = 0; /* the run is text[run..at) */

	(void)sbx_buf_add_char(buf, '"');
	while (at < length) {
		size_t n = sbx_utf8_next(p + at, length - at);
		int code = n == 0 ? -1 : to_escape(p + at, n);

		if (n > 0 && code < 0) {
			at += n;
			continue;
		}
		(void)sbx_buf_add(buf, p + run, at - run);
		if (n == 0)
			(void)sbx_buf_add_str(buf, REPLACEMENT);
		else
			add_escape(buf, code);
		at += n > 0 ? n : 1;
		run = at;
	}
	(void)sbx_buf_add(buf, p + run, at - run);
	(void)sbx_buf_add_char(buf, '"');
}

/* What comes before a value: a comma if it is not the first, and its key. */
static void
begin(struct sbx_json_out *out, const char *key)
{
	unsigned char *level;

	if (out->depth == 0) {
		assert(key == NULL && !out->root_written);
		out->root_written = 1;
		return;
	}
	level = &out->kind[out->depth - 1];
	assert((*level & LEVEL_OBJECT) ? key != NULL : key == NULL);
	if (*level & LEVEL_HAS_MEMBERS)
		(void)sbx_buf_add_char(out->buf, ',');
	*level |= LEVEL_HAS_MEMBERS;
	if (key != NULL) {
		add_quoted(out->buf, key, strlen(key));
		(void)sbx_buf_add_char(out->buf, ':');
	}
}

static void
open_level(struct sbx_json_out *out, const char *key, unsigned char kind)
{
	begin(out, key);
	assert((size_t)out->depth < sizeof(out->kind));
	out->kind[out->depth++] = kind;
	(void)sbx_buf_add_char(out->buf, kind & LEVEL_OBJECT ? '{' : '[');
}

void
sbx_json_out_object(struct sbx_json_out *out, const char *key)
{
	open_level(out, key, LEVEL_OBJECT);
}

void
sbx_json_out_array(struct sbx_json_out *out, const char *key)
{
	open_level(out, key, 0);
}

void
sbx_json_out_end(struct sbx_json_out *out)
{
	assert(out->depth > 0);
	out->depth--;
	(void)sbx_buf_add_char(out->buf, out->kind[out->depth] & LEVEL_OBJECT ? '}' : ']');
}

void
sbx_json_out_string_n(struct sbx_json_out *out, const char *key, const char *text, size_t n)
{
	begin(out, key);
	add_quoted(out->buf, text, n);
}

void
sbx_json_out_string(struct sbx_json_out *out, const char *key, const char *text)
{
	if (text == NULL)
		sbx_json_out_null(out, key);
	else
		sbx_json_out_string_n(out, key, text, strlen(text));
}

void
sbx_json_out_u64(struct sbx_json_out *out, const char *key, uint64_t v)
{
	begin(out, key);
	(void)sbx_buf_printf(out->buf, "%" PRIu64, v);
}

void
sbx_json_out_i64(struct sbx_json_out *out, const char *key, int64_t v)
{
	begin(out, key);
	(void)sbx_buf_printf(out->buf, "%" PRId64, v);
}

void
sbx_json_out_bool(struct sbx_json_out *out, const char *key, int v)
{
	begin(out, key);
	(void)sbx_buf_add_str(out->buf, v ? "true" : "false");
}

void
sbx_json_out_null(struct sbx_json_out *out, const char *key)
{
	begin(out, key);
	(void)sbx_buf_add_str(out->buf, "null");
}

void
sbx_json_out_raw(struct sbx_json_out *out, const char *key, const char *json, size_t n)
{
	begin(out, key);
	(void)sbx_buf_add(out->buf, json, n);
}

/* RFC 4648, section 4, with padding. */
static void
add_base64(struct sbx_buf *buf, const unsigned char *bytes, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *to = n / 3 < buf->cap ? sbx_buf_reserve(buf, (n + 2) / 3 * 4) : NULL;

	if (to == NULL) {
		buf->overflow = 1;
		return;
	}
	for (size_t at = 0; at < n; at += 3, to += 4) {
		size_t left = n - at;
		uint32_t three = (uint32_t)bytes[at] << 16;

		if (left > 1)
			three |= (uint32_t)bytes[at + 1] << 8;
		if (left > 2)
			three |= bytes[at + 2];
		to[0] = digits[three >> 18];
		to[1] = digits[three >> 12 & 63];
		to[2] = left > 1 ? digits[three >> 6 & 63] : '=';
		to[3] = left > 2 ? digits[three & 63] : '=';
	}
	sbx_buf_commit(buf, (n + 2) / 3 * 4);
}

void
sbx_json_out_base64(struct sbx_json_out *out, const char *key, const void *bytes, size_t n)
{
	begin(out, key);
	(void)sbx_buf_add_char(out->buf, '"');
	add_base64(out->buf, bytes, n);
	(void)sbx_buf_add_char(out->buf, '"');
}

void
sbx_json_out_bytes(struct sbx_json_out *out, const void *bytes, size_t n)
{
	if (sbx_utf8_valid(bytes, n))
		sbx_json_out_string_n(out, "text", bytes, n);
	else
		sbx_json_out_base64(out, "base64", bytes, n);
}

int
sbx_json_out_line(struct sbx_json_out *out, const char *what, struct sbx_err *err)
{
	assert(out->depth == 0 && out->root_written);
	out->root_written = 0;
	(void)sbx_buf_add_char(out->buf, '\n');
	return sbx_buf_check(out->buf, what, err);
}
