/* data/errors: names, exit statuses, the error record there and back. */
#include "data/errors.h"

#include "tap.h"

static const struct {
	enum sbx_code code;
	const char *name;
	int exit;
	const char *retry;
} rows[] = {
	{ SBX_E_USAGE, "usage", 64, "never" },
	{ SBX_E_CONFIG, "config", 78, "never" },
	{ SBX_E_BAD_REQUEST, "bad_request", 65, "never" },
	{ SBX_E_TOO_LARGE, "too_large", 65, "never" },
	{ SBX_E_NOT_FOUND, "not_found", 66, "never" },
	{ SBX_E_CONFLICT, "conflict", 65, "never" },
	{ SBX_E_DENIED, "denied", 77, "never" },
	{ SBX_E_UNAVAILABLE, "unavailable", 69, "later" },
	{ SBX_E_UNCONFIGURED, "unconfigured", 69, "never" },
	{ SBX_E_STALE_EPOCH, "stale_epoch", 77, "never" },
	{ SBX_E_EXPIRED, "expired", 77, "never" },
	{ SBX_E_RELEASING, "releasing", 75, "later" },
	{ SBX_E_LOCKED, "locked", 75, "later" },
	{ SBX_E_BUSY, "busy", 75, "later" },
	{ SBX_E_QUOTA, "quota", 71, "never" },
	{ SBX_E_TIMEOUT, "timeout", 75, "same_id" },
	{ SBX_E_CANCELLED, "cancelled", 75, "same_id" },
	{ SBX_E_START_FAILED, "start_failed", 71, "never" },
	{ SBX_E_IO, "io_error", 71, "same_id" },
	{ SBX_E_CORRUPT, "corrupt", 71, "never" },
	{ SBX_E_INTERNAL, "internal", 70, "never" },
};

static void
test_table(void)
{
	is_int(sizeof(rows) / sizeof(rows[0]), SBX_E_COUNT - 1, "every code is tested");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		is_str(sbx_code_name(rows[i].code), rows[i].name, "name of %s", rows[i].name);
		is_int(sbx_code_exit(rows[i].code), rows[i].exit, "status of %s", rows[i].name);
		is_str(sbx_code_retry(rows[i].code), rows[i].retry, "retry of %s", rows[i].name);
		is_int(sbx_code_parse(rows[i].name), rows[i].code, "%s is read back", rows[i].name);
	}
	is_str(sbx_code_name((enum sbx_code)999), "internal", "a code that is none");
	is_int(sbx_code_parse("no such"), SBX_E_INTERNAL, "a name that is none");
	is_int(sbx_code_parse("ok"), SBX_E_INTERNAL, "ok is no error");
}

static int
read_back(const char *text, struct sbx_err *err)
{
	SBX_AUTO_JSON doc = sbx_json_parse(text, strlen(text), NULL);

	return doc != NULL && sbx_error_from_record(sbx_json_root(doc), err);
}

static void
test_record(void)
{
	SBX_AUTO_BUF out = SBX_BUF_INIT(65536);
	struct sbx_err err = { .code = SBX_OK }, back;

	sbx_fail(&err, SBX_E_NOT_FOUND, "there is no \"%s\"", "x\n");
	sbx_error_record(&err, NULL, &out);
	is_str(sbx_buf_str(&out),
		"{\"type\":\"error\",\"id\":null,\"code\":\"not_found\",\"message\":\"there is no "
		"\\\"x\\n\\\"\",\"executed\":\"no\",\"retry\":\"never\"}\n",
		"a record without id and hint");
	sbx_buf_clear(&out);
	sbx_fail_hint(&err, "look elsewhere");
	err.executed = SBX_EXECUTED_UNKNOWN;
	sbx_error_record(&err, "\"r-1\"", &out);
	is_str(sbx_buf_str(&out),
		"{\"type\":\"error\",\"id\":\"r-1\",\"code\":\"not_found\",\"message\":\"there is no "
		"\\\"x\\n\\\"\",\"hint\":\"look elsewhere\",\"executed\":\"unknown\",\"retry\":\"never\"}\n",
		"a record with all");
	ok(read_back(sbx_buf_str(&out), &back), "it is read back");
	is_int(back.code, SBX_E_NOT_FOUND, "with its code");
	is_str(back.msg, err.msg, "its message");
	is_str(back.hint, "look elsewhere", "its hint");
	is_int(back.executed, SBX_EXECUTED_UNKNOWN, "and what is known of the effect");
}

static void
test_foreign(void)
{
	struct sbx_err back;

	ok(!read_back("{\"type\":\"env\",\"code\":\"busy\"}", &back), "another record is none");
	ok(!read_back("[]", &back), "an array is none");
	ok(read_back("{\"type\":\"error\"}", &back), "an empty one is one");
	is_int(back.code, SBX_E_INTERNAL, "without a code it is internal");
	is_str(back.msg, "an error record without a message", "and says that it says nothing");
	is_int(back.executed, SBX_EXECUTED_UNKNOWN, "nothing is known of its effect");
	ok(read_back("{\"type\":\"error\",\"code\":7,\"message\":[],\"executed\":\"no\"}", &back),
		"wrong types are no reason to lose it");
	is_int(back.code, SBX_E_INTERNAL, "code of a wrong type");
	is_int(back.executed, SBX_EXECUTED_NO, "executed no");
}

int
main(void)
{
	test_table();
	test_record();
	test_foreign();
	return done();
}
