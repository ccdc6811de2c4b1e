/* data/json_out: what is written is JSON, whatever goes in. */
#include "data/json_out.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "data/json.h"
#include "tap.h"

static void
test_record(void)
{
	SBX_AUTO_BUF buf = SBX_BUF_INIT(4096);
	struct sbx_json_out out;
	struct sbx_err err = { 0 };

	sbx_json_out_init(&out, &buf);
	sbx_json_out_object(&out, NULL);
	sbx_json_out_string(&out, "type", "x");
	sbx_json_out_string(&out, "none", NULL);
	sbx_json_out_array(&out, "list");
	sbx_json_out_u64(&out, NULL, UINT64_MAX);
	sbx_json_out_i64(&out, NULL, INT64_MIN);
	sbx_json_out_array(&out, NULL);
	sbx_json_out_end(&out);
	sbx_json_out_object(&out, NULL);
	sbx_json_out_end(&out);
	sbx_json_out_bool(&out, NULL, 2);
	sbx_json_out_bool(&out, NULL, 0);
	sbx_json_out_end(&out);
	sbx_json_out_raw(&out, "raw", "[1, 2]", 6);
	sbx_json_out_null(&out, "k\"\n");
	sbx_json_out_end(&out);
	is_int(sbx_json_out_line(&out, "record", &err), 0, "a record");
	is_str(sbx_buf_str(&buf),
		"{\"type\":\"x\",\"none\":null,\"list\":[18446744073709551615,"
		"-9223372036854775808,[],{},true,false],\"raw\":[1, 2],\"k\\\"\\n\":null}\n",
		"as it should be");
	sbx_buf_clear(&buf);
	sbx_json_out_u64(&out, NULL, 7);
	is_int(sbx_json_out_line(&out, "record", &err), 0, "a second record by the same writer");
	is_str(sbx_buf_str(&buf), "7\n", "a root need not be an object");
}

/* Writes the n bytes as the only value of a record. */
static void
is_written(const char *text, size_t n, const char *want, const char *name)
{
	SBX_AUTO_BUF buf = SBX_BUF_INIT(4096);
	struct sbx_json_out out;
	struct sbx_err err = { 0 };

	sbx_json_out_init(&out, &buf);
	sbx_json_out_string_n(&out, NULL, text, n);
	ok(sbx_json_out_line(&out, "record", &err) == 0, "%s: fits", name);
	is_str(sbx_buf_str(&buf), want, "%s", name);
}

static void
test_escapes(void)
{
	is_written(NULL, 0, "\"\"\n", "nothing");
	is_written("\"\\/\b\f\n\r\t", 8, "\"\\\"\\\\/\\b\\f\\n\\r\\t\"\n", "short escapes");
	is_written("a\0b\x1b[2J", 7, "\"a\\u0000b\\u001b[2J\"\n", "control characters");
	is_written("\x7f\xc2\x80\xc2\x9b\xc2\xa0", 7, "\"\\u007f\\u0080\\u009b\xc2\xa0\"\n",
		"DEL and C1, but not what follows them");
	is_written("\xc3\xa9\xf0\x9f\x98\x80", 6, "\"\xc3\xa9\xf0\x9f\x98\x80\"\n",
		"UTF-8 as it is");
	is_written("a\xff\xc0\xaf z\xe2\x98", 8,
		"\"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd z\xef\xbf\xbd\xef\xbf\xbd\"\n",
		"invalid UTF-8 is replaced");
}

static void
test_round_trip(void)
{
	SBX_AUTO_BUF buf = SBX_BUF_INIT(4096), back = SBX_BUF_INIT(4096);
	struct sbx_json_out out;
	struct sbx_err err = { 0 };
	char all[128];

	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (char)i;
	sbx_json_out_init(&out, &buf);
	sbx_json_out_string_n(&out, NULL, all, sizeof(all));
	if (ok(sbx_json_out_line(&out, "record", &err) == 0, "all of ASCII")) {
		SBX_AUTO_JSON doc = sbx_json_parse(buf.data, buf.length, &err);

		ok(doc != NULL, "reads back: %s", err.msg);
		is_int(sbx_json_bytes(sbx_json_root(doc), "x", &back, &err), 0, "as a string");
		ok(back.length == sizeof(all) && memcmp(back.data, all, sizeof(all)) == 0,
			"and is the same");
	}
}

static void
bytes_are(const void *bytes, size_t n, const char *want, const char *name)
{
	SBX_AUTO_BUF buf = SBX_BUF_INIT(4096);
	struct sbx_json_out out;
	struct sbx_err err = { 0 };

	sbx_json_out_init(&out, &buf);
	sbx_json_out_object(&out, NULL);
	sbx_json_out_bytes(&out, bytes, n);
	sbx_json_out_end(&out);
	ok(sbx_json_out_line(&out, "record", &err) == 0, "%s: fits", name);
	is_str(sbx_buf_str(&buf), want, "%s", name);
}

static void
test_bytes(void)
{
	bytes_are(NULL, 0, "{\"text\":\"\"}\n", "no bytes are text");
	bytes_are("a\0\xc3\xa9", 4, "{\"text\":\"a\\u0000\xc3\xa9\"}\n", "UTF-8 is text, NUL too");
	bytes_are("\xff", 1, "{\"base64\":\"/w==\"}\n", "one byte");
	bytes_are("\xff\xfe", 2, "{\"base64\":\"//4=\"}\n", "two bytes");
	bytes_are("\xff\xfe\xfd", 3, "{\"base64\":\"//79\"}\n", "three bytes");
	bytes_are("hello\xe9", 6, "{\"base64\":\"aGVsbG/p\"}\n", "six bytes");
}

static void
test_overflow(void)
{
	struct sbx_err err = { 0 };
	struct sbx_json_out out;

	for (size_t cap = 0; cap < 12; cap++) {
		SBX_AUTO_BUF buf = SBX_BUF_INIT(0);

		buf.cap = cap;
		sbx_json_out_init(&out, &buf);
		sbx_json_out_array(&out, NULL);
		sbx_json_out_string(&out, NULL, "12345");
		sbx_json_out_end(&out);
		is_int(sbx_json_out_line(&out, "record", &err), cap < 10 ? -1 : 0, "cap %zu", cap);
	}
	is_int(err.code, SBX_E_TOO_LARGE, "overflow: code");
	is_str(err.msg, "record: larger than 9 bytes", "overflow: message");
}

static void
misuse_key(struct sbx_json_out *out)
{
	sbx_json_out_object(out, NULL);
	sbx_json_out_u64(out, NULL, 1);
}

static void
misuse_element(struct sbx_json_out *out)
{
	sbx_json_out_array(out, NULL);
	sbx_json_out_u64(out, "key", 1);
}

static void
misuse_roots(struct sbx_json_out *out)
{
	sbx_json_out_u64(out, NULL, 1);
	sbx_json_out_u64(out, NULL, 2);
}

static void
misuse_end(struct sbx_json_out *out)
{
	sbx_json_out_end(out);
}

static void
misuse_open(struct sbx_json_out *out)
{
	sbx_json_out_object(out, NULL);
	(void)!sbx_json_out_line(out, "record", NULL);
}

static void
misuse_empty(struct sbx_json_out *out)
{
	(void)!sbx_json_out_line(out, "record", NULL);
}

static void
misuse_depth(struct sbx_json_out *out)
{
	for (int i = 0; i < 33; i++)
		sbx_json_out_array(out, NULL);
}

/* Whether the child that calls it is ended by an assert. */
static int
aborts(void (*misuse)(struct sbx_json_out *))
{
	const struct rlimit no_core = { 0, 0 };
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		SBX_AUTO_BUF buf = SBX_BUF_INIT(4096);
		struct sbx_json_out out;

		(void)setrlimit(RLIMIT_CORE, &no_core);
		(void)close(STDERR_FILENO);
		sbx_json_out_init(&out, &buf);
		misuse(&out);
		_exit(0);
	}
	return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
		WTERMSIG(status) == SIGABRT;
}

int
main(void)
{
	test_record();
	test_escapes();
	test_round_trip();
	test_bytes();
	test_overflow();
	ok(aborts(misuse_key), "a value without a key in an object");
	ok(aborts(misuse_element), "a key in an array");
	ok(aborts(misuse_roots), "two roots");
	ok(aborts(misuse_end), "an end of nothing");
	ok(aborts(misuse_open), "a line with an open level");
	ok(aborts(misuse_empty), "a line of nothing");
	ok(aborts(misuse_depth), "33 levels");
	return done();
}
