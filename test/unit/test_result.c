/* data/result: the record, its bound, its streams, the exit status that stands for it. */
#include "data/result.h"

#include "base/mem.h"
#include "base/scoped.h"
#include "data/excerpt.h"
#include "data/json.h"
#include "tap.h"

static struct sbx_result_stream
stream_of(const char *text)
{
	return (struct sbx_result_stream){ .bytes = strlen(text),
		.kept = strlen(text),
		.head = text,
		.head_length = strlen(text) };
}

/* The record parsed; the caller frees the document, text holds its bytes. */
static struct sbx_json_doc *
record(const struct sbx_result *result, struct sbx_buf *text)
{
	struct sbx_err err = { .code = SBX_OK };

	sbx_buf_clear(text);
	if (!is_int(sbx_result_record(result, text, &err), 0, "a record: %s", err.msg))
		return NULL;
	ok(text->length <= SBX_JSON_LINE_MAX, "of at most 1 MiB: %zu", text->length);
	return sbx_json_parse(sbx_buf_str(text), text->length, &err);
}

static void
test_shape(void)
{
	SBX_AUTO_BUF text = SBX_BUF_INIT(SBX_JSON_LINE_MAX);
	char *argv[] = { (char[]){ "echo" }, (char[]){ "\xff" }, NULL };
	const char *enforced[] = { "userns", "seccomp:strict", NULL };
	struct sbx_result r = { .env = "e1",
		.argv = argv,
		.exit_code = 3,
		.out = stream_of("hi\n"),
		.err = { .bytes = 0 },
		.has_usage = 1,
		.wall_ms = 5,
		.cpu_ms = 4,
		.peak_memory_bytes = 6,
		.usage_exact = 1,
		.has_workspace = 1,
		.workspace_bytes = 7,
		.workspace_inodes = 8,
		.changes = "{\"shared\":true}",
		.enforced = enforced,
		.start_us = 1,
		.run_us = 2,
		.total_us = 3 };
	struct sbx_err err = { .code = SBX_OK };

	is_int(sbx_result_record(&r, &text, &err), 0, "a plain command");
	is_str(sbx_buf_str(&text),
		"{\"type\":\"result\",\"id\":null,\"env\":\"e1\",\"argv\":[\"echo\",{\"base64\":\"/w==\"}],"
		"\"reason\":\"exited\",\"exit_code\":3,\"signal\":null,\"oom\":false,\"limit\":null,"
		"\"stdout\":{\"bytes\":3,\"kept\":3,\"truncated\":false,\"text\":\"hi\\n\"},"
		"\"stderr\":{\"bytes\":0,\"kept\":0,\"truncated\":false,\"text\":\"\"},"
		"\"changes\":{\"shared\":true},"
		"\"usage\":{\"wall_ms\":5,\"cpu_ms\":4,\"peak_memory_bytes\":6,"
		"\"workspace_bytes\":7,\"workspace_inodes\":8,\"exact\":true},"
		"\"pipes_held\":false,\"killed\":0,\"restarted\":false,"
		"\"enforced\":[\"userns\",\"seccomp:strict\"],"
		"\"timing_us\":{\"start\":1,\"run\":2,\"total\":3}}\n",
		"every member");
	sbx_buf_clear(&text);
	r = (struct sbx_result){ .id = "\"q\"",
		.env = "e1",
		.argv = argv,
		.reason = SBX_REASON_MEMORY,
		.exit_code = -1,
		.signal = 9,
		.oom = 1,
		.limit = "memory",
		.limit_value = 4096,
		.pipes_held = 1,
		.killed = 1,
		.restarted = 1 };
	is_int(sbx_result_record(&r, &text, &err), 0, "one that was killed");
	ok(strstr(sbx_buf_str(&text),
		   "\"reason\":\"memory\",\"exit_code\":null,\"signal\":9,\"oom\":true,"
		   "\"limit\":\"memory\",\"limit_value\":4096,") != NULL,
		"its fate");
	ok(strstr(sbx_buf_str(&text), "\"usage\"") == NULL, "no usage where none was measured");
	ok(strstr(sbx_buf_str(&text), "\"pipes_held\":true,\"killed\":1,\"restarted\":true") !=
			NULL,
		"flags");
	sbx_buf_clear(&text);
	r = (struct sbx_result){ .env = "e1",
		.argv = argv,
		.reason = SBX_REASON_START_FAILED,
		.exit_code = 127,
		.error = "no such file" };
	is_int(sbx_result_record(&r, &text, &err), 0, "one that never ran");
	ok(strstr(sbx_buf_str(&text), "\"reason\":\"start_failed\",\"exit_code\":null,") != NULL,
		"has no exit code");
	ok(strstr(sbx_buf_str(&text), "\"error\":\"no such file\"") != NULL, "and says why");
}

static void
test_truncated(void)
{
	SBX_AUTO_BUF text = SBX_BUF_INIT(SBX_JSON_LINE_MAX);
	SBX_AUTO_BUF bytes = SBX_BUF_INIT(65536);
	struct sbx_result r = { .env = "e1", .exit_code = 0 };
	struct sbx_excerpt excerpt;
	struct sbx_json_doc *doc;
	struct sbx_json out;
	struct sbx_err err;

	sbx_excerpt_init(&excerpt, 8);
	sbx_excerpt_add(&excerpt, "abcdefghijklmnopqrst", 20);
	sbx_excerpt_finish(&excerpt, &r.out);
	doc = record(&r, &text);
	ok(strstr(sbx_buf_str(&text),
		   "\"stdout\":{\"bytes\":20,\"kept\":8,\"truncated\":true,"
		   "\"head_bytes\":4,\"left_out\":12,\"text\":\"abcd\\n[... 12 bytes left out ...]\\nqrst\"}") !=
			NULL,
		"text with a marker");
	sbx_json_free(doc);
	sbx_excerpt_done(&excerpt);

	sbx_excerpt_init(&excerpt, 8);
	sbx_excerpt_add(&excerpt,
		"\xff"
		"bcdefghijklmnopqrst",
		20);
	sbx_excerpt_finish(&excerpt, &r.out);
	doc = record(&r, &text);
	out = sbx_json_get(sbx_json_root(doc), "stdout");
	ok(sbx_json_string_is(sbx_json_get(out, "base64"), "/2JjZHFyc3Q="),
		"base64 of head and tail, no marker");
	is_int(sbx_json_bytes(sbx_json_get(out, "text"), "text", &bytes, &err), -1, "and no text");
	ok(strstr(sbx_buf_str(&text), "\"head_bytes\":4,\"left_out\":12,\"base64\"") != NULL,
		"told apart");
	sbx_json_free(doc);
	sbx_excerpt_done(&excerpt);
}

/* Text that grows sixfold in JSON, in both streams, at the largest bound. */
static void
test_bound(void)
{
	enum { EACH = 256 * 1024 };
	SBX_AUTO_BUF text = SBX_BUF_INIT(SBX_JSON_LINE_MAX);
	SBX_AUTO_FREE char *ones = sbx_mem_alloc(EACH, 1);
	struct sbx_result r = { .env = "e1", .exit_code = 0 };
	struct sbx_json_doc *doc;
	uint64_t bytes = 0, kept = 0, left_out = 0;
	struct sbx_json out;
	struct sbx_err err;

	memset(ones, 1, EACH);
	r.out = r.err = (struct sbx_result_stream){
		.bytes = EACH, .kept = EACH, .head = ones, .head_length = EACH
	};
	doc = record(&r, &text);
	out = sbx_json_get(sbx_json_root(doc), "stdout");
	is_int(sbx_json_u64(sbx_json_get(out, "bytes"), "bytes", 0, UINT64_MAX, &bytes, &err), 0,
		"bytes");
	is_int(sbx_json_u64(sbx_json_get(out, "kept"), "kept", 0, UINT64_MAX, &kept, &err), 0,
		"kept");
	is_int(sbx_json_u64(sbx_json_get(out, "left_out"), "left_out", 0, UINT64_MAX, &left_out,
		       &err),
		0, "left_out");
	is_int(bytes, EACH, "all were written");
	is_int(kept + left_out, bytes, "kept and left out are all");
	ok(kept >= EACH / 4, "as much stays as fits: %llu", (unsigned long long)kept);
	sbx_json_free(doc);
	/* Worst for base64: it fits as it is. */
	memset(ones, 0xff, EACH);
	doc = record(&r, &text);
	out = sbx_json_get(sbx_json_root(doc), "stderr");
	is_int(sbx_json_u64(sbx_json_get(out, "kept"), "kept", 0, UINT64_MAX, &kept, &err), 0,
		"kept");
	is_int(kept, EACH, "two full streams of base64 fit whole");
	sbx_json_free(doc);
}

static void
test_argv(void)
{
	SBX_AUTO_BUF text = SBX_BUF_INIT(SBX_JSON_LINE_MAX);
	SBX_AUTO_FREE char *large = sbx_mem_alloc(16 * 1024 + 1, 1);
	char *argv[] = { (char[]){ "sh" }, large, (char[]){ "last" }, NULL };
	struct sbx_result r = { .env = "e1", .exit_code = 0, .argv = argv };

	memset(large, 'x', 16 * 1024);
	sbx_json_free(record(&r, &text));
	ok(strstr(sbx_buf_str(&text), "\"argv\":[\"sh\"],\"argv_truncated\":true") != NULL,
		"argv over 16 KiB is cut at an argument");
	large[16 * 1024 - 9] = '\0';
	sbx_json_free(record(&r, &text));
	ok(strstr(sbx_buf_str(&text), "xx\",\"last\"],\"reason\"") != NULL,
		"exactly 16 KiB is whole");
}

static void
test_status(void)
{
	static const struct {
		enum sbx_reason reason;
		int exit_code, signal, want;
	} rows[] = {
		{ SBX_REASON_EXITED, 0, 0, 0 },
		{ SBX_REASON_EXITED, 42, 0, 42 },
		{ SBX_REASON_EXITED, -1, 0, 125 },
		{ SBX_REASON_SIGNAL, -1, 9, 137 },
		{ SBX_REASON_TIMEOUT, -1, 9, 124 },
		{ SBX_REASON_MEMORY, -1, 9, 137 },
		{ SBX_REASON_MEMORY, 1, 0, 1 },
		{ SBX_REASON_QUOTA, -1, 9, 137 },
		{ SBX_REASON_CANCELLED, -1, 15, 143 },
		{ SBX_REASON_EXPIRED, -1, 9, 137 },
		{ SBX_REASON_RESTARTED, -1, 9, 125 },
		{ SBX_REASON_START_FAILED, 126, 0, 126 },
		{ SBX_REASON_START_FAILED, 127, 0, 127 },
		{ SBX_REASON_START_FAILED, -1, 0, 125 },
		{ SBX_REASON_LOST, -1, 0, 125 },
		{ SBX_REASON_LOST, 0, 0, 125 },
	};
	struct sbx_result r = { .exit_code = 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		r.reason = rows[i].reason;
		r.exit_code = rows[i].exit_code;
		r.signal = rows[i].signal;
		is_int(sbx_result_status(&r), rows[i].want, "%s, code %d, signal %d",
			sbx_reason_names[r.reason], r.exit_code, r.signal);
	}
}

int
main(void)
{
	test_shape();
	test_truncated();
	test_bound();
	test_argv();
	test_status();
	return done();
}
