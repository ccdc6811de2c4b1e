/*
 * The inside of a JSON string: its escapes, read one at a time for the grammar, and undone for the
 * readers. Never allocates.
 */
#include "data/json_text.h"

#include <string.h>

#include "base/utf8.h"

#define SHOWN_BYTES 64

/* The value of four hexadecimal digits at p, or -1. */
static int
hex4(const unsigned char *p)
{
	int value = 0;

	for (size_t i = 0; i < 4; i++) {
		int c = p[i];

		if (c >= '0' && c <= '9')
			value = value * 16 + c - '0';
		else if (c >= 'a' && c <= 'f')
			value = value * 16 + c - 'a' + 10;
		else if (c >= 'A' && c <= 'F')
			value = value * 16 + c - 'A' + 10;
		else
			return -1;
	}
	return value;
}

/* \uXXXX, or two of them that make a pair. */
static size_t
read_unicode(const unsigned char *p, size_t n, uint32_t *code, const char **why)
{
	int first = n >= 6 ? hex4(p + 2) : -1;
	int second;

	if (first < 0) {
		*why = "\\u without four hexadecimal digits";
		return 0;
	}
	if (first < 0xd800 || first > 0xdfff) {
		*code = (uint32_t)first;
		return 6;
	}
	second = n >= 12 && p[6] == '\\' && p[7] == 'u' ? hex4(p + 8) : -1;
	if (first > 0xdbff || second < 0xdc00 || second > 0xdfff) {
		*why = "lone surrogate";
		return 0;
	}
	*code = 0x10000 + (((uint32_t)first - 0xd800) << 10) + ((uint32_t)second - 0xdc00);
	return 12;
}

size_t
sbx_json_escape_read(const unsigned char *p, size_t n, uint32_t *code, const char **why)
{
	static const char letters[] = "\"\\/bfnrt";
	static const char meanings[] = "\"\\/\b\f\n\r\t";
	const char *letter;

	if (n >= 2 && p[1] == 'u')
		return read_unicode(p, n, code, why);
	letter = n >= 2 && p[1] != '\0' ? strchr(letters, p[1]) : NULL;
	if (letter == NULL) {
		*why = "unknown escape";
		return 0;
	}
	*code = (uint32_t)meanings[letter - letters];
	return 2;
}

static size_t
encode(uint32_t code, unsigned char out[4])
{
	if (code < 0x80) {
		out[0] = (unsigned char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (unsigned char)(0xc0 | code >> 6);
		out[1] = (unsigned char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (unsigned char)(0xe0 | code >> 12);
		out[1] = (unsigned char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (unsigned char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (unsigned char)(0xf0 | code >> 18);
	out[1] = (unsigned char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (unsigned char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (unsigned char)(0x80 | (code & 0x3f));
	return 4;
}

size_t
sbx_json_text_decode(const char *raw, size_t length, char *out)
{
	size_t in = 0, done = 0;

	while (in < length) {
		const char *escape = memchr(raw + in, '\\', length - in);
		size_t plain = escape != NULL ? (size_t)(escape - raw) - in : length - in;
		unsigned char utf8[4];
		const char *why;
		uint32_t code;
		size_t n;

		if (out != NULL)
			memcpy(out + done, raw + in, plain);
		in += plain;
		done += plain;
		if (escape == NULL)
			break;
		n = sbx_json_escape_read((const unsigned char *)escape, length - in, &code, &why);
		if (n == 0)
			break; /* not reached: the text passed the check */
		in += n;
		n = encode(code, utf8);
		if (out != NULL)
			memcpy(out + done, utf8, n);
		done += n;
	}
	return done;
}

int
sbx_json_text_shown(const char *raw, size_t length)
{
	return (int)sbx_utf8_floor(raw, length < SHOWN_BYTES ? length : SHOWN_BYTES);
}
