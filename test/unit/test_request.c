/* data/request: what a line may ask for, what it is refused for and by which name. */
#include "data/request.h"

#include <string.h>

#include "tap.h"

static enum sbx_code
read_request(const char *json, struct sbx_request *request, struct sbx_err *err)
{
	memset(err, 0, sizeof(*err));
	return sbx_request_read(json, strlen(json), request, err) < 0 ? err->code : SBX_OK;
}

static void
test_exec(void)
{
	struct sbx_request request;
	struct sbx_err err;

	is_int(read_request("{\"op\":\"exec\",\"argv\":[\"true\"]}", &request, &err), SBX_OK,
		"a command is enough");
	is_int(request.op, SBX_REQUEST_EXEC, "its op");
	is_str(request.id, NULL, "no id");
	is_str(request.argv[0], "true", "its program");
	is_str(request.argv[1], NULL, "and nothing more");
	ok(request.env != NULL && request.env[0] == NULL, "no variables, and a list of none");
	ok(request.cwd == NULL && !request.has_input && request.timeout_ms == 0 &&
			request.output_bytes == 0,
		"the rest is not given");
	sbx_request_done(&request);
	is_int(read_request(
		       "{\"id\":\"a\\u00e9\",\"op\":\"exec\",\"argv\":[\"sh\",\"\",{\"base64\":\"/w==\"}],"
		       "\"cwd\":\"d\",\"env\":{\"A\":\"1\",\"B\":\"\"},\"stdin\":{\"base64\":\"AP8=\"},"
		       "\"timeout_ms\":5,\"output_bytes\":262144}",
		       &request, &err),
		SBX_OK, "all members at once");
	is_str(request.id, "\"a\\u00e9\"", "an id is kept as it was written");
	is_str(request.argv[1], "", "an empty argument");
	is_str(request.argv[2], "\377", "one that is no text");
	is_str(request.env[1], "B=", "an empty variable");
	ok(request.has_input && request.input.length == 2 &&
			memcmp(request.input.data, "\0\377", 2) == 0,
		"input with a NUL");
	is_int(request.timeout_ms, 5, "its time");
	is_int(request.output_bytes, 262144, "its output");
	sbx_request_done(&request);
}

static void
test_others(void)
{
	struct sbx_request request;
	struct sbx_err err;

	is_int(read_request("{\"id\":-7,\"op\":\"ping\"}", &request, &err), SBX_OK, "ping");
	is_str(request.id, "-7", "a number as id");
	sbx_request_done(&request);
	is_int(read_request("{\"op\":\"cancel\",\"target\":\"x\"}", &request, &err), SBX_OK,
		"cancel");
	is_str(request.target, "\"x\"", "its target, as an id is kept");
	sbx_request_done(&request);
	is_int(read_request("{\"op\":\"read\",\"path\":\"a/b\",\"offset\":3,\"limit\":4}", &request,
		       &err),
		SBX_OK, "read");
	ok(request.op == SBX_REQUEST_READ && request.offset == 3 && request.limit == 4,
		"its range");
	is_str(request.path, "a/b", "its path");
	sbx_request_done(&request);
	is_int(read_request("{\"op\":\"list\"}", &request, &err), SBX_OK, "list without a path");
	is_str(request.path, "", "is of the workspace");
	sbx_request_done(&request);
	is_int(read_request("{\"op\":\"measure\",\"path\":{\"base64\":\"/w==\"}}", &request, &err),
		SBX_OK, "a path that is no text");
	is_str(request.path, "\377", "as it is");
	sbx_request_done(&request);
}

static void
test_refused(void)
{
	static const struct {
		const char *json;
		enum sbx_code code;
		const char *word; /* in the message */
	} cases[] = {
		{ "", SBX_E_BAD_REQUEST, "json" },
		{ "[]", SBX_E_BAD_REQUEST, "object" },
		{ "{}", SBX_E_BAD_REQUEST, "request.op" },
		{ "{\"op\":1}", SBX_E_BAD_REQUEST, "request.op" },
		{ "{\"op\":\"fly\"}", SBX_E_BAD_REQUEST, "request.op" },
		{ "{\"op\":\"changes\"}", SBX_E_UNAVAILABLE, "changes" },
		{ "{\"op\":\"ping\",\"id\":1.5}", SBX_E_BAD_REQUEST, "request.id" },
		{ "{\"op\":\"ping\",\"id\":true}", SBX_E_BAD_REQUEST, "request.id" },
		{ "{\"op\":\"ping\",\"id\":1,\"id\":2}", SBX_E_BAD_REQUEST, "id" },
		{ "{\"op\":\"ping\",\"argv\":[\"x\"]}", SBX_E_BAD_REQUEST, "argv" },
		{ "{\"op\":\"exec\"}", SBX_E_BAD_REQUEST, "argv" },
		{ "{\"op\":\"exec\",\"argv\":[]}", SBX_E_BAD_REQUEST, "request.argv" },
		{ "{\"op\":\"exec\",\"argv\":\"x\"}", SBX_E_BAD_REQUEST, "request.argv" },
		{ "{\"op\":\"exec\",\"argv\":[1]}", SBX_E_BAD_REQUEST, "request.argv" },
		{ "{\"op\":\"exec\",\"argv\":[\"a\\u0000\"]}", SBX_E_BAD_REQUEST, "NUL" },
		{ "{\"op\":\"exec\",\"argv\":[{\"base64\":\"YQBi\"}]}", SBX_E_BAD_REQUEST, "NUL" },
		{ "{\"op\":\"exec\",\"argv\":[{\"base64\":\"a\"}]}", SBX_E_BAD_REQUEST, "base64" },
		{ "{\"op\":\"exec\",\"argv\":[{\"hex\":\"61\"}]}", SBX_E_BAD_REQUEST, "hex" },
		{ "{\"op\":\"exec\",\"argv\":[\"x\"],\"cwd\":\"\"}", SBX_E_BAD_REQUEST, "cwd" },
		{ "{\"op\":\"exec\",\"argv\":[\"x\"],\"env\":[]}", SBX_E_BAD_REQUEST,
			"request.env" },
		{ "{\"op\":\"exec\",\"argv\":[\"x\"],\"env\":{\"AWS_SECRET_ACCESS_KEY\":\"x\"}}",
			SBX_E_DENIED, "AWS_SECRET" },
		{ "{\"op\":\"exec\",\"argv\":[\"x\"],\"stdin\":1}", SBX_E_BAD_REQUEST,
			"request.stdin" },
		{ "{\"op\":\"exec\",\"argv\":[\"x\"],\"timeout_ms\":0}", SBX_E_BAD_REQUEST,
			"timeout_ms" },
		{ "{\"op\":\"exec\",\"argv\":[\"x\"],\"output_bytes\":262145}", SBX_E_BAD_REQUEST,
			"output_bytes" },
		{ "{\"op\":\"read\"}", SBX_E_BAD_REQUEST, "path" },
		{ "{\"op\":\"read\",\"path\":\"a\\u0000b\"}", SBX_E_BAD_REQUEST, "NUL" },
		{ "{\"op\":\"read\",\"path\":\"a\",\"limit\":262145}", SBX_E_BAD_REQUEST, "limit" },
		{ "{\"op\":\"list\",\"limit\":1001}", SBX_E_BAD_REQUEST, "limit" },
		{ "{\"op\":\"stat\",\"offset\":1}", SBX_E_BAD_REQUEST, "offset" },
		{ "{\"op\":\"cancel\"}", SBX_E_BAD_REQUEST, "target" },
	};
	struct sbx_request request;
	struct sbx_err err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		is_int(read_request(cases[i].json, &request, &err), cases[i].code, "%s is refused",
			cases[i].json);
		ok(strstr(err.msg, cases[i].word) != NULL, "  by name: %s", err.msg);
		sbx_request_done(&request);
	}
	is_int(read_request("{\"id\":\"k\",\"op\":\"exec\",\"argv\":[]}", &request, &err),
		SBX_E_BAD_REQUEST, "what is wrong behind an id");
	is_str(request.id, "\"k\"", "is answered under it");
	sbx_request_done(&request);
}

static void
test_longest(void)
{
	static char longest[131073];
	char *argv[] = { (char[]){ "x" }, longest, NULL };
	struct sbx_err err = { 0 };

	memset(longest, 'a', 131071);
	is_int(sbx_request_check_argv(argv, &err), 0, "131,071 bytes in one argument");
	longest[131071] = 'a';
	is_int(sbx_request_check_argv(argv, &err), -1, "one more is refused");
	ok(err.code == SBX_E_BAD_REQUEST && strstr(err.msg, "131071") != NULL &&
			strstr(err.msg, "argument 1") != NULL,
		"with the number and which one: %s", err.msg);
}

int
main(void)
{
	test_exec();
	test_others();
	test_refused();
	test_longest();
	return done();
}
