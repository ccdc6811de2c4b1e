/* base/utf8: every code point, every wrong form, cutting at both ends. */
#include "base/utf8.h"

#include "tap.h"

static const struct {
	const char *bytes;
	size_t length; /* of the sequence; 0: invalid */
} cases[] = {
	{ "a", 1 },
	{ "\x7f", 1 },
	{ "\xc2\x80", 2 },
	{ "\xdf\xbf", 2 },
	{ "\xe0\xa0\x80", 3 },
	{ "\xed\x9f\xbf", 3 },
	{ "\xee\x80\x80", 3 },
	{ "\xef\xbf\xbf", 3 },
	{ "\xf0\x90\x80\x80", 4 },
	{ "\xf4\x8f\xbf\xbf", 4 },
	{ "\x80", 0 },
	{ "\xbf", 0 },
	{ "\xc0\x80", 0 },
	{ "\xc1\xbf", 0 },
	{ "\xc2", 0 },
	{ "\xc2\x41", 0 },
	{ "\xe0\x80\x80", 0 },
	{ "\xe0\x9f\xbf", 0 },
	{ "\xed\xa0\x80", 0 },
	{ "\xed\xbf\xbf", 0 },
	{ "\xe2\x82", 0 },
	{ "\xe2\x82\x41", 0 },
	{ "\xf0\x80\x80\x80", 0 },
	{ "\xf0\x8f\xbf\xbf", 0 },
	{ "\xf4\x90\x80\x80", 0 },
	{ "\xf5\x80\x80\x80", 0 },
	{ "\xf8\x88\x80\x80\x80", 0 },
	{ "\xff", 0 },
	{ "\xfe", 0 },
	{ "\xf0\x90\x80", 0 },
};

static size_t
encode(unsigned cp, unsigned char out[4])
{
	if (cp < 0x80) {
		out[0] = (unsigned char)cp;
		return 1;
	}
	if (cp < 0x800) {
		out[0] = (unsigned char)(0xc0 | cp >> 6);
		out[1] = (unsigned char)(0x80 | (cp & 63));
		return 2;
	}
	if (cp < 0x10000) {
		out[0] = (unsigned char)(0xe0 | cp >> 12);
		out[1] = (unsigned char)(0x80 | (cp >> 6 & 63));
		out[2] = (unsigned char)(0x80 | (cp & 63));
		return 3;
	}
	out[0] = (unsigned char)(0xf0 | cp >> 18);
	out[1] = (unsigned char)(0x80 | (cp >> 12 & 63));
	out[2] = (unsigned char)(0x80 | (cp >> 6 & 63));
	out[3] = (unsigned char)(0x80 | (cp & 63));
	return 4;
}

static void
test_every_code_point(void)
{
	unsigned char bytes[4];
	unsigned cp, wrong = 0;
	size_t n, want, cut;

	for (cp = 0; cp <= 0x10ffff; cp++) {
		n = encode(cp, bytes);
		want = cp >= 0xd800 && cp <= 0xdfff ? 0 : n;
		wrong += sbx_utf8_next(bytes, n) != want;
		for (cut = 1; want > 0 && cut < n; cut++)
			wrong += sbx_utf8_next(bytes, cut) != 0 || sbx_utf8_floor(bytes, cut) != 0;
		wrong += sbx_utf8_floor(bytes, n) != n;
	}
	is_int(wrong, 0, "all 1,114,112 code points, whole and cut");
}

static void
test_cutting(void)
{
	const char *text = "a\xe2\x82\xac"
			   "b"; /* a, euro sign, b */

	is_int(sbx_utf8_floor(text, 5), 5, "floor: the whole");
	is_int(sbx_utf8_floor(text, 4), 4, "floor: behind the sign");
	is_int(sbx_utf8_floor(text, 3), 1, "floor: two bytes of it");
	is_int(sbx_utf8_floor(text, 2), 1, "floor: one byte of it");
	is_int(sbx_utf8_floor(text, 0), 0, "floor: nothing");
	is_int(sbx_utf8_floor("\x80\x80\x80\x80", 4), 4, "floor: nothing began that could be cut");
	is_int(sbx_utf8_floor("a\xff", 2), 2, "floor: a byte that begins nothing");
	is_int(sbx_utf8_floor("\xe0\x80", 2), 2, "floor: an overlong form is no beginning");
	is_int(sbx_utf8_ceil(text, 5, 0), 0, "ceil: 0");
	is_int(sbx_utf8_ceil(text, 5, 1), 1, "ceil: at the sign");
	is_int(sbx_utf8_ceil(text, 5, 2), 4, "ceil: inside the sign");
	is_int(sbx_utf8_ceil(text, 5, 5), 5, "ceil: the end");
	is_int(sbx_utf8_ceil(text, 5, 9), 5, "ceil: never past the end");
	is_int(sbx_utf8_ceil("\x80\x80", 2, 0), 2, "ceil: none begins");
}

int
main(void)
{
	size_t i, n;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		n = strlen(cases[i].bytes);
		is_int(sbx_utf8_next((const unsigned char *)cases[i].bytes, n), cases[i].length,
			"case %zu", i);
		is_int(sbx_utf8_valid(cases[i].bytes, n), cases[i].length == n, "valid %zu", i);
	}
	is_int(sbx_utf8_next((const unsigned char *)"", 0), 0, "nothing is no sequence");
	is_int(sbx_utf8_valid("", 0), 1, "the empty text is valid");
	is_int(sbx_utf8_next((const unsigned char *)"\0", 1), 1, "NUL is a code point");
	test_every_code_point();
	test_cutting();
	return done();
}
