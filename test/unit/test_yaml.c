/* data/yaml: what a configuration may say, and the line of what it may not. */
#include "data/yaml.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/scoped.h"
#include "tap.h"

struct sample {
	int flag, colour;
	uint64_t count, size, wait, cpu, depth;
	char *name;
	struct sbx_yaml_strings list;
	struct sbx_yaml_pairs pairs;
};

static const char *const colours[] = { "red", "green", NULL };

static const struct sbx_yaml_key inner_table[] = {
	{ .key = "depth",
		.kind = SBX_YAML_U64,
		.offset = offsetof(struct sample, depth),
		.max = 9 },
	{ .key = NULL },
};

static const struct sbx_yaml_key sample_table[] = {
	{ .key = "flag", .kind = SBX_YAML_BOOL, .offset = offsetof(struct sample, flag) },
	{ .key = "colour",
		.kind = SBX_YAML_ENUM,
		.offset = offsetof(struct sample, colour),
		.names = colours },
	{ .key = "count",
		.kind = SBX_YAML_U64,
		.offset = offsetof(struct sample, count),
		.min = 1,
		.max = 9 },
	{ .key = "size",
		.kind = SBX_YAML_SIZE,
		.offset = offsetof(struct sample, size),
		.max = 1 << 30 },
	{ .key = "wait",
		.kind = SBX_YAML_DURATION,
		.offset = offsetof(struct sample, wait),
		.max = 3600000 },
	{ .key = "cpu",
		.kind = SBX_YAML_MILLI,
		.offset = offsetof(struct sample, cpu),
		.min = 10,
		.max = 64000 },
	{ .key = "name",
		.kind = SBX_YAML_STRING,
		.offset = offsetof(struct sample, name),
		.min = 1,
		.max = 8 },
	{ .key = "list",
		.kind = SBX_YAML_STRINGS,
		.offset = offsetof(struct sample, list),
		.max = 3 },
	{ .key = "pairs",
		.kind = SBX_YAML_PAIRS,
		.offset = offsetof(struct sample, pairs),
		.min = 1,
		.max = 2 },
	{ .key = "inner", .kind = SBX_YAML_MAP, .table = inner_table },
	{ .key = NULL },
};

static const char *const bad_documents[][2] = {
	/* what is not a mapping by the table */
	{ "just text", "f:1: must be a mapping" },
	{ "- a\n- b\n", "f:1: must be a mapping" },
	{ "flag: true\ncuont: 1\n", "f:2: unknown key \"cuont\"" },
	{ "inner:\n  deep: 1\n", "f:2: inner: unknown key \"deep\"" },
	{ "inner: 7\n", "f:1: inner: must be a mapping" },
	{ "inner:\n", "f:1: inner: must be a mapping" },
	{ "? [a]\n: 1\n", "f:1: a key: must be a single value" },
	{ "~: 1\n", "f:1: a key: has no value" },
	{ "list: a\n", "f:1: list: must be a list" },
	{ "list:\n  a: b\n", "f:2: list: must be a list" },
	{ "list: [a, [b]]\n", "f:1: list: must be a single value" },
	{ "list:\n  - a\n  -\n", "f:3: list: has no value" },
	{ "list: [a, b, c, d]\n", "f:1: list: must have 0 to 3 entries" },
	{ "pairs: []\n", "f:1: pairs: must be a mapping" },
	{ "pairs: {}\n", "f:1: pairs: must have 1 to 2 entries" },
	{ "pairs: {a: 1, b: 2, c: 3}\n", "f:1: pairs: must have 1 to 2 entries" },
	{ "pairs:\n  a: [1]\n", "f:2: pairs.a: must be a single value" },
	{ "name: [a]\n", "f:1: name: must be a single value" },
	{ "name: {a: b}\n", "f:1: name: must be a single value" },
	/* duplicates */
	{ "count: 1\nflag: true\ncount: 2\n", "f:3: duplicate key \"count\"" },
	{ "count: 1\n\"c\\x6funt\": 2\n", "f:2: duplicate key \"count\"" },
	{ "inner: {depth: 1, depth: 1}\n", "f:1: inner: duplicate key \"depth\"" },
	{ "pairs:\n  a: 1\n  'a': 2\n", "f:3: pairs: duplicate key \"a\"" },
	/* values */
	{ "flag: yes\n", "f:1: flag: must be one of false, true" },
	{ "flag: True\n", "f:1: flag: must be one of false, true" },
	{ "colour: blue\n", "f:1: colour: must be one of red, green" },
	{ "\n\ncount: 0\n", "f:3: count: \"0\" is not a number from 1 to 9" },
	{ "count: 0x5\n", "f:1: count: \"0x5\" is not a number from 1 to 9" },
	{ "count: -1\n", "f:1: count: \"-1\" is not a number from 1 to 9" },
	{ "size: 2GiB\n", "f:1: size: \"2GiB\" is not a size from 0B to 1GiB" },
	{ "wait: 2h\n", "f:1: wait: \"2h\" is not a duration from 0ms to 1h" },
	{ "cpu: 0.009\n", "f:1: cpu: \"0.009\" is not a number from 0.010 to 64.000" },
	{ "cpu: 64.001\n", "f:1: cpu: \"64.001\" is not a number from 0.010 to 64.000" },
	{ "cpu: 1.0005\n", "f:1: cpu: \"1.0005\" is not a number from 0.010 to 64.000" },
	{ "cpu: 1.\n", "f:1: cpu: \"1.\" is not a number from 0.010 to 64.000" },
	{ "cpu: .5\n", "f:1: cpu: \".5\" is not a number from 0.010 to 64.000" },
	{ "cpu: 1.5.5\n", "f:1: cpu: \"1.5.5\" is not a number from 0.010 to 64.000" },
	{ "cpu: 1e1\n", "f:1: cpu: \"1e1\" is not a number from 0.010 to 64.000" },
	{ "name:\n", "f:1: name: has no value" },
	{ "name: ~\n", "f:1: name: has no value" },
	{ "name: null\n", "f:1: name: has no value" },
	{ "name: ''\n", "f:1: name: 0 bytes, must be 1 to 8" },
	{ "name: 123456789\n", "f:1: name: 9 bytes, must be 1 to 8" },
	{ "name: \"a\\0b\"\n", "f:1: name: must not hold a NUL" },
	/* what YAML has and a configuration has not */
	{ "name: &a x\n", "f:1: anchors are not allowed" },
	{ "inner: &a\n  depth: 1\n", "f:1: anchors are not allowed" },
	{ "&a name: x\n", "f:1: anchors are not allowed" },
	{ "list: &a [x]\n", "f:1: anchors are not allowed" },
	{ "flag: true\nname: *a\n", "f:2: aliases are not allowed" },
	{ "name: !!str x\n", "f:1: tags are not allowed" },
	{ "name: ! x\n", "f:1: tags are not allowed" },
	{ "--- !x\nname: x\n", "f:1: tags are not allowed" },
	{ "<<: {flag: true}\n", "f:1: unknown key \"<<\"" },
	{ "flag: true\n---\nflag: false\n", "f:2: a second document is not allowed" },
	{ "---\n---\n", "f:2: a second document is not allowed" },
	/* what is not YAML */
	{ "flag: true\n\tcount: 1\n", "f:2: found a tab character that violates indentation" },
	{ "list: [a, b\n", "f:2: did not find expected ',' or ']'" },
	{ "name: \"a\n", "f:2: found unexpected end of stream" },
	{ "flag: true\nname: a\x01\n", "f:2: control characters are not allowed" },
	{ "flag: true\n\nname: \xff\n", "f:3: invalid UTF-8" },
	{ "\xff\xfe", "f:1: invalid UTF-8" },
};

static void
sample_done(struct sample *s)
{
	free(s->name);
	sbx_yaml_strings_done(&s->list);
	sbx_yaml_pairs_done(&s->pairs);
}

/* The text in memory of exactly its size, so that a sanitizer sees a read past the end. */
static int
read_exact(const char *text, size_t length, struct sample *out, struct sbx_err *err)
{
	SBX_AUTO_FREE char *copy = sbx_mem_alloc(length > 0 ? length : 1, 1);

	memset(err, 0, sizeof(*err));
	memcpy(copy, text, length);
	return sbx_yaml_read("f", copy, length, sample_table, out, err);
}

static int
read_sample(const char *text, struct sample *out, struct sbx_err *err)
{
	return read_exact(text, strlen(text), out, err);
}

static void
test_all_kinds(void)
{
	struct sample s = { .name = sbx_mem_dup("old") };
	struct sbx_err err;

	is_int(read_sample("# all\nflag: true\ncolour: green\ncount: 9\nsize: 64KiB\nwait: 90s\n"
			   "cpu: 1.5\nname: \"no\"\nlist:\n  - a\n  - 'b c'\n"
			   "pairs:\n  x: 1\n  y:z: \"\"\ninner:\n  depth: 3\n",
		       &s, &err),
		0, "all kinds: %s", err.msg);
	is_int(s.flag, 1, "bool");
	is_int(s.colour, 1, "enum");
	is_int(s.count, 9, "u64");
	is_int(s.size, 65536, "size");
	is_int(s.wait, 90000, "duration");
	is_int(s.cpu, 1500, "milli");
	is_str(s.name, "no", "string");
	is_int(s.list.count, 2, "list");
	is_str(s.list.items[1], "b c", "its item");
	is_int(s.list.lines[1], 11, "and the item's line");
	is_int(s.pairs.count, 2, "pairs");
	is_str(s.pairs.keys[1], "y:z", "a key");
	is_str(s.pairs.values[1], "", "and its value, empty in quotes");
	is_int(s.depth, 3, "an offset of a nested table counts from the same target");
	is_int(read_sample("list: []\npairs: {x: 2}\n", &s, &err), 0, "again: %s", err.msg);
	is_int(s.list.count, 0, "a list is replaced");
	is_str(s.pairs.values[0], "2", "pairs are replaced");
	is_str(s.name, "no", "a missing key leaves its target");
	sample_done(&s);
}

static void
test_milli(void)
{
	static const struct {
		const char *text;
		uint64_t want;
	} samples[] = { { "cpu: 2", 2000 }, { "cpu: 0.25", 250 }, { "cpu: 0.010", 10 },
		{ "cpu: 64.000", 64000 }, { "cpu: '1.5'", 1500 } };
	struct sample s = { 0 };
	struct sbx_err err;

	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		is_int(read_sample(samples[i].text, &s, &err), 0, "%s", samples[i].text);
		is_int(s.cpu, samples[i].want, "%s: value", samples[i].text);
	}
}

static void
test_empty(void)
{
	static const char *const texts[] = { "", "\n", "# only a comment\n", "---\n", "---\n...\n",
		"\xef\xbb\xbf# a byte order mark\n", "{}\n" };
	struct sample s = { .count = 7 };
	struct sbx_err err;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		is_int(read_sample(texts[i], &s, &err), 0, "empty document %zu: %s", i, err.msg);
		is_int(s.count, 7, "empty document %zu changes nothing", i);
	}
}

static void
test_bad(void)
{
	struct sbx_err err;

	for (size_t i = 0; i < sizeof(bad_documents) / sizeof(bad_documents[0]); i++) {
		struct sample s = { 0 };

		ok(read_sample(bad_documents[i][0], &s, &err) < 0, "document %zu is refused", i);
		is_int(err.code, SBX_E_CONFIG, "document %zu: code", i);
		is_str(err.msg, bad_documents[i][1], "document %zu: message", i);
		sample_done(&s);
	}
}

static void
test_limits(void)
{
	SBX_AUTO_BUF deep = SBX_BUF_INIT(SBX_YAML_TEXT_MAX);
	struct sample s = { 0 };
	struct sbx_err err;

	ok(read_exact("name: a\0b\n", 10, &s, &err) < 0, "a raw NUL");
	is_str(err.msg, "f:1: control characters are not allowed", "a raw NUL: message");
	ok(sbx_yaml_read("f", "", (size_t)SBX_YAML_TEXT_MAX + 1, sample_table, &s, &err) < 0,
		"a text over the cap");
	is_int(err.code, SBX_E_CONFIG, "over the cap: code");
	is_str(err.msg, "f: 1048577 bytes, at most 1048576", "over the cap: message");
	(void)sbx_buf_add_str(&deep, "list: ");
	while (deep.length < 1000000)
		(void)sbx_buf_add_str(&deep, "[[[[[[[[[[[[[[[[[[[[");
	ok(read_exact(deep.data, deep.length, &s, &err) < 0, "a million brackets");
	is_str(err.msg, "f:1: list: must be a single value", "a million brackets: message");
	sample_done(&s);
	is_int(sbx_yaml_read("f", "x", 1, sample_table, &s, NULL), -1, "the error may be left out");
}

int
main(void)
{
	test_all_kinds();
	test_milli();
	test_empty();
	test_bad();
	test_limits();
	return done();
}
