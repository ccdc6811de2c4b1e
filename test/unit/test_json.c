/*
 * data/json: what is JSON and what is not. The malformed documents include those that jsmn in
 * strict mode takes for good.
 */
#include "data/json.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/scoped.h"
#include "tap.h"

struct bad {
	const char *name, *text;
	size_t length; /* 0: strlen */
	const char *message;
};

static const struct bad bad_documents[] = {
	{ "empty input", "", 0, "json: expected a value at byte 0" },
	{ "white space only", " \n", 0, "json: expected a value at byte 2" },
	{ "missing comma in an array", "[1 2]", 0, "json: expected ',' or ']' at byte 3" },
	{ "missing comma in an object", "{\"a\":1 \"b\":2}", 0,
		"json: expected ',' or '}' at byte 7" },
	{ "missing colon", "{\"a\" 1}", 0, "json: expected ':' at byte 5" },
	{ "comma for a colon", "{\"a\",1}", 0, "json: expected ':' at byte 4" },
	{ "colon in an array", "[\"a\":1]", 0, "json: expected ',' or ']' at byte 4" },
	{ "key without a value", "{\"a\":}", 0, "json: expected a value at byte 5" },
	{ "key alone", "{\"a\"}", 0, "json: expected ':' at byte 4" },
	{ "chain of colons", "{\"a\":\"b\":\"c\"}", 0, "json: expected ',' or '}' at byte 8" },
	{ "number as key", "{1:2}", 0, "json: expected a key in quotes at byte 1" },
	{ "object as key", "{{}:2}", 0, "json: expected a key in quotes at byte 1" },
	{ "trailing comma in an array", "[1,]", 0, "json: expected a value at byte 3" },
	{ "trailing comma in an object", "{\"a\":1,}", 0,
		"json: expected a key in quotes at byte 7" },
	{ "leading comma", "[,1]", 0, "json: expected a value at byte 1" },
	{ "two commas", "[1,,2]", 0, "json: expected a value at byte 3" },
	{ "leading zero", "[01]", 0, "json: expected ',' or ']' at byte 2" },
	{ "negative leading zero", "[-01]", 0, "json: expected ',' or ']' at byte 3" },
	{ "minus alone", "[-]", 0, "json: expected a digit at byte 2" },
	{ "minus alone as root", "-", 0, "json: expected a digit at byte 1" },
	{ "plus sign", "[+1]", 0, "json: expected a value at byte 1" },
	{ "point without digits", "[1.]", 0, "json: expected a digit at byte 3" },
	{ "point without a whole", "[.5]", 0, "json: expected a value at byte 1" },
	{ "exponent without digits", "[1e]", 0, "json: expected a digit at byte 3" },
	{ "exponent with a sign only", "[1e+]", 0, "json: expected a digit at byte 4" },
	{ "hexadecimal", "[0x10]", 0, "json: expected ',' or ']' at byte 2" },
	{ "number run into a word", "[1true]", 0, "json: expected ',' or ']' at byte 2" },
	{ "number run into a string", "[1\"a\"]", 0, "json: expected ',' or ']' at byte 2" },
	{ "brackets hidden behind a quote", "[1\",[[[\",2]", 0,
		"json: expected ',' or ']' at byte 2" },
	{ "nul", "[nul]", 0, "json: expected a value at byte 1" },
	{ "nulll", "[nulll]", 0, "json: expected ',' or ']' at byte 5" },
	{ "True", "[True]", 0, "json: expected a value at byte 1" },
	{ "tru as root", "tru", 0, "json: expected a value at byte 0" },
	{ "NaN", "[NaN]", 0, "json: expected a value at byte 1" },
	{ "two roots", "{} {}", 0, "json: more text after the value at byte 3" },
	{ "two primitive roots", "1 2", 0, "json: more text after the value at byte 2" },
	{ "comma after the root", "{},", 0, "json: more text after the value at byte 2" },
	{ "bracket too many", "[]]", 0, "json: more text after the value at byte 2" },
	{ "bracket too few", "[[]", 0, "json: expected ',' or ']' at byte 3" },
	{ "brackets crossed", "[{]}", 0, "json: expected a key in quotes at byte 2" },
	{ "bracket of the other kind", "[1}", 0, "json: expected ',' or ']' at byte 2" },
	{ "comment", "[1] // x", 0, "json: more text after the value at byte 4" },
	{ "single quotes", "['a']", 0, "json: expected a value at byte 1" },
	{ "string without an end", "[\"a", 0, "json: string without an end at byte 3" },
	{ "string that ends in a backslash", "[\"a\\", 0, "json: unknown escape at byte 3" },
	{ "raw newline in a string", "[\"a\nb\"]", 0,
		"json: raw control character in a string at byte 3" },
	{ "raw tab in a key", "{\"\t\":1}", 0,
		"json: raw control character in a string at byte 2" },
	{ "NUL in a string", "[\"a\0b\"]", 7, "json: raw control character in a string at byte 3" },
	{ "NUL after the root", "[1]\0", 4, "json: more text after the value at byte 3" },
	{ "NUL first", "\0[1]", 4, "json: expected a value at byte 0" },
	{ "byte order mark", "\xef\xbb\xbf[1]", 0, "json: expected a value at byte 0" },
	{ "form feed as white space", "[1,\f2]", 0, "json: expected a value at byte 3" },
	{ "no-break space as white space", "[1,\xc2\xa0 2]", 0,
		"json: expected a value at byte 3" },
	{ "unknown escape", "[\"\\x41\"]", 0, "json: unknown escape at byte 2" },
	{ "escape of NUL", "[\"\\\0\"]", 6, "json: unknown escape at byte 2" },
	{ "\\u with three digits", "[\"\\u123\"]", 0,
		"json: \\u without four hexadecimal digits at byte 2" },
	{ "\\u at the end", "\"\\u12", 0, "json: \\u without four hexadecimal digits at byte 1" },
	{ "lone high surrogate", "[\"\\ud800\"]", 0, "json: lone surrogate at byte 2" },
	{ "lone low surrogate", "[\"\\udc00\"]", 0, "json: lone surrogate at byte 2" },
	{ "two high surrogates", "[\"\\ud800\\ud800\"]", 0, "json: lone surrogate at byte 2" },
	{ "two low surrogates", "[\"\\udc00\\udc00\"]", 0, "json: lone surrogate at byte 2" },
	{ "high surrogate before a letter", "[\"\\ud800\\u0041\"]", 0,
		"json: lone surrogate at byte 2" },
	{ "raw surrogate", "[\"\xed\xa0\x80\"]", 0, "json: invalid UTF-8 at byte 2" },
	{ "overlong slash", "[\"\xc0\xaf\"]", 0, "json: invalid UTF-8 at byte 2" },
	{ "overlong of three bytes", "[\"\xe0\x80\xaf\"]", 0, "json: invalid UTF-8 at byte 2" },
	{ "over U+10FFFF", "[\"\xf4\x90\x80\x80\"]", 0, "json: invalid UTF-8 at byte 2" },
	{ "sequence cut by the quote", "[\"\xe2\x98\"]", 0, "json: invalid UTF-8 at byte 2" },
	{ "sequence cut by the end", "\"\xe2\x98", 0, "json: invalid UTF-8 at byte 1" },
	{ "stray continuation", "[\"\x80\"]", 0, "json: invalid UTF-8 at byte 2" },
	{ "duplicate key", "{\"a\":1,\"b\":2,\"a\":3}", 0, "json: duplicate key \"a\" at byte 13" },
	{ "duplicate key, escaped", "{\"a\":1,\"\\u0061\":2}", 0,
		"json: duplicate key \"\\u0061\" at byte 7" },
	{ "duplicate key, two escapes of one", "{\"\\/\":1,\"\\u002F\":2}", 0,
		"json: duplicate key \"\\u002F\" at byte 8" },
	{ "duplicate key beyond the first plane", "{\"\xf0\x9f\x98\x80\":1,\"\\ud83d\\ude00\":2}",
		0, "json: duplicate key \"\\ud83d\\ude00\" at byte 10" },
	{ "duplicate empty key", "{\"\":1,\"\":2}", 0, "json: duplicate key \"\" at byte 6" },
	{ "duplicate key of NUL", "{\"\\u0000\":1,\"\\u0000\":2}", 0,
		"json: duplicate key \"\\u0000\" at byte 12" },
	{ "duplicate key, nested", "[{\"x\":{\"k\":[],\"k\":{}}}]", 0,
		"json: duplicate key \"k\" at byte 14" },
};

static const char *const good_documents[] = {
	"{}",
	"[]",
	"\"\"",
	"0",
	"-0",
	"42",
	" 42",
	"42 ",
	"true",
	"null\n",
	"\t\r\n [ ] ",
	"[1.5,-0.0,1e9,1E+9,1e-9,0e0,10,120.050]",
	"{\"a\":{\"a\":{\"a\":[{\"a\":1},{\"a\":2}]}}}",
	"{\"a\":1,\"A\":2,\"a \":3,\"\":4,\"ab\":5,\"a\\u0000\":6}",
	"[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"]",
	"[\"\x7f\xc2\x80\xf4\x8f\xbf\xbf\"]",
	"[[],{},[[]],[{}],{\"x\":[]},[1,[2,[3]]]]",
	"[true,false,null,true]",
	"{\"a\" : 1 , \"b\" : [ 1 , 2 ] }",
	"[\"[[[[{{{{\\\"]]]\"]",
};

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The text in memory of exactly its size, so that a sanitizer sees a read past the end. */
static struct sbx_json_doc *
parse_exact(const char *text, size_t length, struct sbx_err *err)
{
	SBX_AUTO_FREE char *copy = sbx_mem_alloc(length > 0 ? length : 1, 1);
	struct sbx_json_doc *doc;

	memset(err, 0, sizeof(*err));
	memcpy(copy, text, length);
	doc = sbx_json_parse(copy, length, err);
	sbx_json_free(doc);
	return doc; /* only for a comparison with NULL */
}

static void
test_grammar(void)
{
	struct sbx_err err;

	for (size_t i = 0; i < sizeof(bad_documents) / sizeof(bad_documents[0]); i++) {
		const struct bad *b = &bad_documents[i];
		size_t length = b->length > 0 ? b->length : strlen(b->text);

		ok(parse_exact(b->text, length, &err) == NULL, "%s is refused", b->name);
		is_int(err.code, SBX_E_BAD_REQUEST, "%s: code", b->name);
		is_str(err.msg, b->message, "%s: message", b->name);
	}
	for (size_t i = 0; i < sizeof(good_documents) / sizeof(good_documents[0]); i++) {
		ok(parse_exact(good_documents[i], strlen(good_documents[i]), &err) != NULL,
			"document %zu is taken: %s", i, err.msg);
	}
	ok(sbx_json_parse("[", 1, NULL) == NULL, "the error may be left out");
}

/* A text of `count` times `head`, a 0, and as many times `tail`. */
static char *
repeat(const char *head, size_t count, const char *tail)
{
	size_t a = strlen(head), b = strlen(tail);
	char *text = sbx_mem_alloc(count * (a + b) + 2, 1);

	for (size_t i = 0; i < count; i++) {
		memcpy(text + i * a, head, a);
		memcpy(text + count * a + 1 + i * b, tail, b);
	}
	text[count * a] = '0';
	return text;
}

static void
test_depth(void)
{
	SBX_AUTO_FREE char *arrays_32 = repeat("[", 32, "]");
	SBX_AUTO_FREE char *arrays_33 = repeat("[", 33, "]");
	SBX_AUTO_FREE char *objects_32 = repeat("{\"a\":", 32, "}");
	SBX_AUTO_FREE char *objects_33 = repeat("{\"a\":", 33, "}");
	SBX_AUTO_FREE char *deep = repeat("[", 1000000, "]");
	struct sbx_err err;
	double start;

	ok(parse_exact(arrays_32, strlen(arrays_32), &err) != NULL, "32 arrays deep");
	ok(parse_exact(objects_32, strlen(objects_32), &err) != NULL, "32 objects deep");
	ok(parse_exact(arrays_33, strlen(arrays_33), &err) == NULL, "33 arrays deep");
	is_int(err.code, SBX_E_TOO_LARGE, "33 deep: code");
	is_str(err.msg, "json: nested deeper than 32 at byte 32", "33 deep: message");
	ok(parse_exact(objects_33, strlen(objects_33), &err) == NULL, "33 objects deep");
	is_int(err.code, SBX_E_TOO_LARGE, "33 objects deep: code");
	start = seconds();
	ok(parse_exact(deep, strlen(deep), &err) == NULL, "a million deep");
	ok(seconds() - start < 1, "a million deep is refused at once");
}

static void
test_size(void)
{
	size_t count = SBX_JSON_TOKENS_MAX; /* with the array: one too many */
	SBX_AUTO_FREE char *text = sbx_mem_alloc(2 * count + 2, 1);
	struct sbx_err err;

	text[0] = '[';
	for (size_t i = 0; i < count; i++) {
		text[1 + 2 * i] = '0';
		text[2 + 2 * i] = ',';
	}
	text[2 * count] = ']';
	ok(parse_exact(text, 2 * count + 1, &err) == NULL, "over the token cap");
	is_int(err.code, SBX_E_TOO_LARGE, "token cap: code");
	is_str(err.msg, "json: more than 262144 values and keys", "token cap: message");
	text[2 * count - 2] = ']';
	ok(parse_exact(text, 2 * count - 1, &err) != NULL, "at the token cap: %s", err.msg);
	ok(sbx_json_parse(text, (size_t)SBX_JSON_TEXT_MAX + 1, &err) == NULL, "over the size cap");
	is_int(err.code, SBX_E_TOO_LARGE, "size cap: code");
	is_str(err.msg, "json: 16777217 bytes, at most 16777216", "size cap: message");
}

/* An object of 100,000 keys that end in the given digits, all written with an escape if asked. */
static char *
wide_object(int escaped, int last, size_t *length)
{
	SBX_AUTO_BUF buf = SBX_BUF_INIT(SBX_JSON_TEXT_MAX);

	for (int i = 0; i < 100000; i++)
		(void)sbx_buf_printf(&buf, "%s\"%s%d\":0", i == 0 ? "{" : ",",
			escaped ? "\\u006bey" : "key", i == 99999 ? last : i);
	(void)sbx_buf_add_char(&buf, '}');
	*length = buf.length;
	return sbx_take_ptr(buf.data);
}

static void
test_wide(void)
{
	struct sbx_err err;

	for (int escaped = 0; escaped < 2; escaped++) {
		size_t good_length, bad_length;
		SBX_AUTO_FREE char *good = wide_object(escaped, 99999, &good_length);
		SBX_AUTO_FREE char *bad = wide_object(escaped, 0, &bad_length);
		double start = seconds();

		ok(parse_exact(good, good_length, &err) != NULL, "100,000 keys: %s", err.msg);
		ok(parse_exact(bad, bad_length, &err) == NULL, "one of 100,000 keys twice");
		ok(strncmp(err.msg, "json: duplicate key", 19) == 0, "says so: %s", err.msg);
		ok(seconds() - start < 2, "in less than quadratic time");
	}
}

int
main(void)
{
	test_grammar();
	test_depth();
	test_size();
	test_wide();
	return done();
}
