/* data/json: the walk over a document, the typed readers, the table. */
#include "data/json.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tap.h"

static void
test_walk(void)
{
	static const char text[] =
		" {\"o\":{\"x\":1},\"a\":[10,[20,21],{\"y\":[]},\"s\"],\"n\":null,\"e\\u0073c\":true} ";
	struct sbx_err err = { 0 };
	SBX_AUTO_JSON doc = sbx_json_parse(text, strlen(text), &err);
	struct sbx_json root, a, key, value, absent = { NULL, 0 };
	size_t cursor = 0, n = 0;
	const char *raw;

	ok(doc != NULL, "parse: %s", err.msg);
	root = sbx_json_root(doc);
	a = sbx_json_get(root, "a");
	is_int(sbx_json_type(root), SBX_JSON_OBJECT, "root is an object");
	is_int(sbx_json_count(root), 4, "of four members");
	is_int(sbx_json_type(a), SBX_JSON_ARRAY, "an array");
	is_int(sbx_json_count(a), 4, "of four elements");
	is_int(sbx_json_type(sbx_json_at(a, 0)), SBX_JSON_NUMBER, "a number");
	is_int(sbx_json_count(sbx_json_at(a, 1)), 2, "an array in the array");
	is_int(sbx_json_type(sbx_json_get(sbx_json_at(a, 2), "y")), SBX_JSON_ARRAY, "empty array");
	is_int(sbx_json_type(sbx_json_at(a, 3)), SBX_JSON_STRING, "a string behind containers");
	is_int(sbx_json_type(sbx_json_at(a, 4)), SBX_JSON_ABSENT, "nothing past the end");
	is_int(sbx_json_type(sbx_json_get(root, "n")), SBX_JSON_NULL, "null is not absent");
	is_int(sbx_json_type(sbx_json_get(root, "esc")), SBX_JSON_BOOL, "a key with an escape");
	is_int(sbx_json_type(sbx_json_get(root, "x")), SBX_JSON_ABSENT, "get does not descend");
	is_int(sbx_json_type(sbx_json_get(a, "x")), SBX_JSON_ABSENT, "an array has no members");
	is_int(sbx_json_type(sbx_json_at(root, 0)), SBX_JSON_ABSENT, "an object no elements");
	is_int(sbx_json_type(sbx_json_get(absent, "x")), SBX_JSON_ABSENT, "absent has neither");
	is_int(sbx_json_count(absent), 0, "absent counts nothing");
	ok(!sbx_json_each(absent, &cursor, &key, &value), "absent has nothing to visit");
	while (sbx_json_each(root, &cursor, &key, &value)) {
		is_int(sbx_json_type(key), SBX_JSON_STRING, "key %zu is a string", n);
		n++;
	}
	is_int(n, 4, "each visits all members");
	cursor = 0;
	ok(sbx_json_each(a, &cursor, &key, &value), "each visits elements");
	is_int(sbx_json_type(key), SBX_JSON_ABSENT, "which have no key");
	raw = sbx_json_raw_borrow(a, &n);
	ok(n == 25 && strncmp(raw, "[10,[20,21],{\"y\":[]},\"s\"]", n) == 0,
		"raw text of an array");
	raw = sbx_json_raw_borrow(sbx_json_at(a, 3), &n);
	ok(n == 3 && strncmp(raw, "\"s\"", n) == 0, "raw text of a string has its quotes");
	ok(sbx_json_raw_borrow(absent, &n) == NULL && n == 0, "absent has no text");
}

static void
test_strings(void)
{
	static const char text[] =
		"[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u20ac\\ud83d\\ude00\xc3\xa9\",\"a\\u0000b\",\"\"]";
	struct sbx_err err = { 0 };
	SBX_AUTO_JSON doc = sbx_json_parse(text, strlen(text), &err);
	struct sbx_json root = sbx_json_root(doc);
	SBX_AUTO_BUF buf = SBX_BUF_INIT(4);
	char *s = NULL;

	is_int(sbx_json_string(sbx_json_at(root, 0), "x", 19, &s, &err), 0, "string: %s", err.msg);
	is_str(s, "\"\\/\b\f\n\r\t\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa9", "is unescaped");
	ok(sbx_json_string_is(sbx_json_at(root, 0), s), "string_is compares unescaped");
	ok(!sbx_json_string_is(sbx_json_at(root, 0), "\"\\/"), "string_is wants all of it");
	free(s);
	s = NULL;
	ok(sbx_json_string(sbx_json_at(root, 0), "x", 18, &s, &err) < 0, "one byte too long");
	is_int(err.code, SBX_E_BAD_REQUEST, "too long: code");
	is_str(err.msg, "x: 19 bytes, at most 18", "too long: message");
	ok(sbx_json_string(sbx_json_at(root, 1), "x", 99, &s, &err) < 0, "NUL in a string");
	is_str(err.msg, "x: must not hold a NUL", "NUL: message");
	ok(s == NULL, "a failed read leaves the target alone");
	is_int(sbx_json_bytes(sbx_json_at(root, 1), "x", &buf, &err), 0, "bytes may hold a NUL");
	ok(buf.length == 3 && memcmp(buf.data, "a\0b", 3) == 0, "and come unescaped");
	ok(sbx_json_bytes(sbx_json_at(root, 1), "x", &buf, &err) < 0, "bytes over the cap");
	is_int(err.code, SBX_E_TOO_LARGE, "bytes over the cap: code");
	ok(!sbx_json_string_is(sbx_json_at(root, 1), "a"), "string_is does not stop at a NUL");
	ok(sbx_json_string_is(sbx_json_at(root, 2), ""), "the empty string");
	ok(!sbx_json_string_is(root, ""), "an array is no string");
}

static void
test_numbers(void)
{
	static const char text[] =
		"[18446744073709551615,-9223372036854775808,1.0,1e2,-1,true,\"7\","
		"18446744073709551616,100000000000000000000000]";
	struct sbx_err err = { 0 };
	SBX_AUTO_JSON doc = sbx_json_parse(text, strlen(text), &err);
	struct sbx_json r = sbx_json_root(doc), absent = { NULL, -1 };
	uint64_t u = 5;
	int64_t i = 0;
	int b = 0;

	is_int(sbx_json_u64(sbx_json_at(r, 0), "n", 0, UINT64_MAX, &u, &err), 0, "largest u64");
	ok(u == UINT64_MAX, "has its value");
	is_int(sbx_json_i64(sbx_json_at(r, 1), "n", INT64_MIN, 0, &i, &err), 0, "least i64");
	ok(i == INT64_MIN, "has its value");
	ok(sbx_json_u64(sbx_json_at(r, 2), "n", 0, 9, &u, &err) < 0, "a fraction");
	is_str(err.msg, "n: must be an integer, without fraction or exponent", "fraction: message");
	ok(sbx_json_u64(sbx_json_at(r, 3), "n", 0, 999, &u, &err) < 0, "an exponent");
	ok(sbx_json_u64(sbx_json_at(r, 4), "n", 0, 9, &u, &err) < 0, "a negative");
	is_str(err.msg, "n: \"-1\" is not a number from 0 to 9", "negative: message");
	ok(sbx_json_u64(sbx_json_at(r, 5), "n", 0, 9, &u, &err) < 0, "a boolean");
	is_str(err.msg, "n: must be an integer", "boolean: message");
	ok(sbx_json_u64(sbx_json_at(r, 6), "n", 0, 9, &u, &err) < 0, "a number in quotes");
	ok(sbx_json_u64(sbx_json_at(r, 7), "n", 0, UINT64_MAX, &u, &err) < 0, "2^64");
	ok(sbx_json_u64(sbx_json_at(r, 8), "n", 0, UINT64_MAX, &u, &err) < 0, "24 digits");
	is_str(err.msg, "n: a number of 24 digits is too large", "24 digits: message");
	ok(u == UINT64_MAX, "failed reads leave the target alone");
	ok(sbx_json_u64(absent, "n", 0, 9, &u, &err) < 0, "absent");
	is_int(err.code, SBX_E_BAD_REQUEST, "absent: code");
	is_str(err.msg, "n: missing", "absent: message");
	is_int(sbx_json_bool(sbx_json_at(r, 5), "b", &b, &err), 0, "a boolean");
	is_int(b, 1, "is true");
	ok(sbx_json_bool(r, "b", &b, &err) < 0, "an array for a boolean");
	is_str(err.msg, "b: must be true or false", "array for a boolean: message");
}

struct sample {
	int flag, colour;
	uint64_t count, size, wait;
	int64_t shift;
	char *name;
	struct sbx_json rest;
};

static const char *const colours[] = { "red", "green", NULL };

static const struct sbx_json_field sample_table[] = {
	{ .key = "flag", .kind = SBX_JSON_F_BOOL, .offset = offsetof(struct sample, flag) },
	{ .key = "colour",
		.kind = SBX_JSON_F_ENUM,
		.offset = offsetof(struct sample, colour),
		.names = colours },
	{ .key = "count",
		.kind = SBX_JSON_F_U64,
		.offset = offsetof(struct sample, count),
		.umin = 1,
		.umax = 9 },
	{ .key = "size",
		.kind = SBX_JSON_F_SIZE,
		.offset = offsetof(struct sample, size),
		.umax = 1 << 30 },
	{ .key = "wait",
		.kind = SBX_JSON_F_DURATION,
		.offset = offsetof(struct sample, wait),
		.umax = 3600000 },
	{ .key = "shift",
		.kind = SBX_JSON_F_I64,
		.offset = offsetof(struct sample, shift),
		.min = -5,
		.umax = 5 },
	{ .key = "name",
		.kind = SBX_JSON_F_STRING,
		.offset = offsetof(struct sample, name),
		.required = 1,
		.umin = 1,
		.umax = 8 },
	{ .key = "rest", .kind = SBX_JSON_F_VALUE, .offset = offsetof(struct sample, rest) },
	{ .key = NULL },
};

static const char *const bad_samples[][2] = {
	{ "[]", "spec: must be an object" },
	{ "{}", "spec.name: missing" },
	{ "{\"nam\":\"x\"}", "spec: unknown key \"nam\"" },
	{ "{\"name\":1}", "spec.name: must be a string" },
	{ "{\"name\":null}", "spec.name: must be a string" },
	{ "{\"name\":\"\"}", "spec.name: must be at least 1 bytes" },
	{ "{\"name\":\"123456789\"}", "spec.name: 9 bytes, at most 8" },
	{ "{\"name\":\"x\",\"flag\":1}", "spec.flag: must be true or false" },
	{ "{\"name\":\"x\",\"colour\":\"blue\"}", "spec.colour: must be one of red, green" },
	{ "{\"name\":\"x\",\"count\":0}", "spec.count: \"0\" is not a number from 1 to 9" },
	{ "{\"name\":\"x\",\"shift\":-6}", "spec.shift: \"-6\" is not a number from -5 to 5" },
	{ "{\"name\":\"x\",\"size\":\"2GiB\"}",
		"spec.size: \"2GiB\" is not a size from 0B to 1GiB" },
	{ "{\"name\":\"x\",\"size\":true}",
		"spec.size: must be a number of bytes or a string with a unit" },
	{ "{\"name\":\"x\",\"wait\":[]}",
		"spec.wait: must be a number of milliseconds or a string with a unit" },
	{ "{\"name\":\"x\",\"wait\":\"90\"}", "spec.wait: \"90\" has no unit (ms, s, m, h, d)" },
	{ "{\"name\":\"x\",\"wait\":\"2h\"}",
		"spec.wait: \"2h\" is not a duration from 0ms to 1h" },
};

static int
read_sample(const char *text, struct sample *out, struct sbx_err *err)
{
	SBX_AUTO_JSON doc = sbx_json_parse(text, strlen(text), err);

	memset(err, 0, sizeof(*err));
	return sbx_json_read(sbx_json_root(doc), "spec", sample_table, out, err);
}

static void
test_table(void)
{
	struct sample s = { .count = 7, .name = sbx_mem_dup("old") };
	struct sbx_err err = { 0 };

	is_int(read_sample("{\"name\":\"new\"}", &s, &err), 0, "only what is required: %s",
		err.msg);
	is_str(s.name, "new", "a former string is replaced");
	is_int(s.count, 7, "a missing key leaves its target");
	is_int(read_sample("{\"wait\":250,\"size\":\"64KiB\",\"colour\":\"green\",\"flag\":true,"
			   "\"count\":9,\"shift\":-5,\"na\\u006de\":\"x\",\"rest\":[]}",
		       &s, &err),
		0, "all keys: %s", err.msg);
	is_int(s.wait, 250, "a bare duration is milliseconds");
	is_int(s.size, 65536, "a size with its unit");
	is_int(s.colour, 1, "a word");
	is_int(s.flag, 1, "a boolean");
	is_int(s.shift, -5, "a negative");
	is_str(s.name, "x", "a key with an escape");
	ok(s.rest.doc != NULL && s.rest.token > 0, "a value for later");
	is_int(read_sample("{\"name\":\"x\",\"wait\":\"90s\",\"size\":512}", &s, &err), 0, "units");
	is_int(s.wait, 90000, "a duration with its unit");
	is_int(s.size, 512, "a bare size");
	for (size_t i = 0; i < sizeof(bad_samples) / sizeof(bad_samples[0]); i++) {
		ok(read_sample(bad_samples[i][0], &s, &err) < 0, "refused: %s", bad_samples[i][0]);
		is_int(err.code, SBX_E_BAD_REQUEST, "code");
		is_str(err.msg, bad_samples[i][1], "message");
	}
	free(s.name);
}

static void
test_only_keys(void)
{
	static const char *const keys[] = { "a", "b", NULL };
	static const char text[] = "[{\"b\":1},{\"a\":1,\"c\":2}]";
	struct sbx_err err = { 0 };
	SBX_AUTO_JSON doc = sbx_json_parse(text, strlen(text), &err);
	struct sbx_json r = sbx_json_root(doc);

	is_int(sbx_json_only_keys(sbx_json_at(r, 0), "o", keys, &err), 0, "known keys");
	ok(sbx_json_only_keys(sbx_json_at(r, 1), "o", keys, &err) < 0, "an unknown key");
	is_int(err.code, SBX_E_BAD_REQUEST, "unknown key: code");
	is_str(err.msg, "o: unknown key \"c\"", "unknown key: message");
	ok(sbx_json_only_keys(r, "o", keys, &err) < 0, "an array has no keys");
}

int
main(void)
{
	test_walk();
	test_strings();
	test_numbers();
	test_table();
	test_only_keys();
	return done();
}
