/*
 * A request out of a line: first its id, so that whatever is wrong with the rest can be answered
 * under it; then its op, and the keys that this op has. Opens nothing.
 */
#include "data/request.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/scoped.h"
#include "data/cmd_env.h"
#include "data/json.h"
#include "data/names.h"

/* execve(2): MAX_ARG_STRLEN is 131,072 with the NUL on pages of 4 KiB. */
#define ARGUMENT_MAX 131071
#define ARGUMENTS_MAX 65536
#define CWD_MAX 4095
#define PATH_BYTES_MAX 65535 /* trees may be deeper than PATH_MAX */
#define OUTPUT_MAX ((uint64_t)256 * 1024)
#define TIMEOUT_MAX ((uint64_t)366 * 24 * 3600 * 1000)
#define ID_NUMBER_MAX (INT64_C(1) << 53) /* beyond it JSON numbers of others are not exact */

const char *const sbx_request_ops[] = { "exec", "read", "stat", "list", "measure", "cancel", "ping",
	"write", "mkdir", "rename", "remove", "changes", "stdin", "signal", NULL };

/* What is read later than by the table. */
struct reading {
	struct sbx_request request;
	struct sbx_json id, op, target, argv, env, input, path;
};

#define AT(member) offsetof(struct reading, member)
#define ROW(name, type, member) .key = name, .kind = SBX_JSON_F_##type, .offset = AT(member)

static const struct sbx_json_field exec_fields[] = {
	{ ROW("id", VALUE, id) },
	{ ROW("op", VALUE, op) },
	{ ROW("argv", VALUE, argv), .required = 1 },
	{ ROW("cwd", STRING, request.cwd), .umin = 1, .umax = CWD_MAX },
	{ ROW("env", VALUE, env) },
	{ ROW("stdin", VALUE, input) },
	{ ROW("timeout_ms", U64, request.timeout_ms), .umin = 1, .umax = TIMEOUT_MAX },
	{ ROW("output_bytes", U64, request.output_bytes), .umin = 1, .umax = OUTPUT_MAX },
	{ .key = NULL },
};
static const struct sbx_json_field read_fields[] = {
	{ ROW("id", VALUE, id) },
	{ ROW("op", VALUE, op) },
	{ ROW("path", VALUE, path), .required = 1 },
	{ ROW("offset", U64, request.offset), .umax = INT64_MAX },
	{ ROW("limit", U64, request.limit), .umin = 1, .umax = SBX_REQUEST_READ_MAX },
	{ .key = NULL },
};
static const struct sbx_json_field list_fields[] = {
	{ ROW("id", VALUE, id) },
	{ ROW("op", VALUE, op) },
	{ ROW("path", VALUE, path) },
	{ ROW("offset", U64, request.offset), .umax = INT64_MAX },
	{ ROW("limit", U64, request.limit), .umin = 1, .umax = SBX_REQUEST_LIST_MAX },
	{ .key = NULL },
};
static const struct sbx_json_field path_fields[] = {
	{ ROW("id", VALUE, id) },
	{ ROW("op", VALUE, op) },
	{ ROW("path", VALUE, path) },
	{ .key = NULL },
};
static const struct sbx_json_field cancel_fields[] = {
	{ ROW("id", VALUE, id) },
	{ ROW("op", VALUE, op) },
	{ ROW("target", VALUE, target), .required = 1 },
	{ .key = NULL },
};
static const struct sbx_json_field ping_fields[] = {
	{ ROW("id", VALUE, id) },
	{ ROW("op", VALUE, op) },
	{ .key = NULL },
};
static const struct sbx_json_field *const fields_of[] = { exec_fields, read_fields, path_fields,
	list_fields, path_fields, cancel_fields, ping_fields };
#define OP_COUNT (sizeof(fields_of) / sizeof(fields_of[0]))

/* An id is echoed as it was written. */
static int
read_id(struct sbx_json v, const char *what, char **id, struct sbx_err *err)
{
	SBX_AUTO_FREE char *text = NULL;
	const char *raw;
	size_t length;
	int64_t number;

	if (sbx_json_type(v) == SBX_JSON_STRING) {
		if (sbx_json_string(v, what, SBX_REQUEST_ID_MAX, &text, err) < 0)
			return -1;
	} else if (sbx_json_type(v) == SBX_JSON_NUMBER) {
		if (sbx_json_i64(v, what, -ID_NUMBER_MAX, ID_NUMBER_MAX, &number, err) < 0)
			return -1;
	} else {
		return sbx_fail(err, SBX_E_BAD_REQUEST, "%s: must be a string or an integer", what);
	}
	raw = sbx_json_raw_borrow(v, &length);
	*id = sbx_mem_dup_n(raw, length);
	return 0;
}

static int
read_op(struct sbx_json v, int *op, struct sbx_err *err)
{
	SBX_AUTO_FREE char *name = NULL;

	if (sbx_json_string(v, "request.op", 32, &name, err) < 0 ||
		sbx_names_parse(name, sbx_request_ops, "request.op", op, err) < 0)
		return -1;
	if ((size_t)*op >= OP_COUNT)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "request.op: this version has no \"%s\"",
			name);
	return 0;
}

static int
decode(struct sbx_json v, const char *what, struct sbx_buf *out, struct sbx_err *err)
{
	SBX_AUTO_FREE char *text = NULL;
	size_t length, most;
	char *room;

	if (sbx_json_string(v, what, SBX_JSON_LINE_MAX, &text, err) < 0)
		return -1;
	most = strlen(text) / 4 * 3 + 3;
	room = sbx_buf_reserve(out, most);
	if (room == NULL)
		return sbx_buf_check(out, what, err);
	if (sodium_base642bin((unsigned char *)room, most, text, strlen(text), NULL, &length, NULL,
		    sodium_base64_VARIANT_ORIGINAL) != 0)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "%s: is not base64", what);
	sbx_buf_commit(out, length);
	return 0;
}

/* Bytes: a string, or {"base64": "..."} where they are no text. */
static int
read_bytes(struct sbx_json v, const char *what, struct sbx_buf *out, struct sbx_err *err)
{
	static const char *const keys[] = { "base64", NULL };

	if (sbx_json_type(v) == SBX_JSON_STRING)
		return sbx_json_bytes(v, what, out, err);
	if (sbx_json_type(v) != SBX_JSON_OBJECT)
		return sbx_fail(err, SBX_E_BAD_REQUEST,
			"%s: must be a string, or an object with base64", what);
	if (sbx_json_only_keys(v, what, keys, err) < 0)
		return -1;
	return decode(sbx_json_get(v, "base64"), what, out, err);
}

/* Bytes without a NUL. */
static int
read_text(struct sbx_json v, const char *what, size_t most, char **out, struct sbx_err *err)
{
	SBX_AUTO_BUF bytes = SBX_BUF_INIT(SBX_JSON_LINE_MAX);

	if (read_bytes(v, what, &bytes, err) < 0)
		return -1;
	if (strlen(sbx_buf_str(&bytes)) != bytes.length)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "%s: holds a NUL", what);
	if (bytes.length > most)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "%s: has %zu bytes, at most %zu", what,
			bytes.length, most);
	*out = sbx_mem_dup_n(sbx_buf_str(&bytes), bytes.length);
	return 0;
}

static int
read_argv(struct sbx_json array, struct sbx_request *request, struct sbx_err *err)
{
	size_t count = sbx_json_count(array), cursor = 0, i = 0;
	struct sbx_json value;

	if (sbx_json_type(array) != SBX_JSON_ARRAY || count == 0)
		return sbx_fail(err, SBX_E_BAD_REQUEST,
			"request.argv: must be an array of at least one string");
	if (count > ARGUMENTS_MAX)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "request.argv: has %zu strings, at most %d",
			count, ARGUMENTS_MAX);
	request->argv = sbx_mem_alloc(count + 1, sizeof(char *));
	while (sbx_json_each(array, &cursor, NULL, &value))
		if (read_text(value, "request.argv", SBX_JSON_LINE_MAX, &request->argv[i++], err) <
			0)
			return -1;
	return sbx_request_check_argv(request->argv, err);
}

static int
read_env(struct sbx_json object, struct sbx_request *request, struct sbx_err *err)
{
	size_t count = sbx_json_count(object), cursor = 0, i = 0;
	struct sbx_json key, value;

	if (count > SBX_CMD_ENV_MAX)
		return sbx_fail(err, SBX_E_BAD_REQUEST,
			"request.env: has %zu variables, at most %d", count, SBX_CMD_ENV_MAX);
	request->env = sbx_mem_alloc(count + 1, sizeof(char *));
	if (sbx_json_type(object) == SBX_JSON_ABSENT)
		return 0;
	if (sbx_json_type(object) != SBX_JSON_OBJECT)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "request.env: must be an object");
	while (sbx_json_each(object, &cursor, &key, &value)) {
		SBX_AUTO_FREE char *name = NULL, *text = NULL;

		if (sbx_json_string(key, "request.env", SBX_JSON_LINE_MAX, &name, err) < 0 ||
			sbx_cmd_env_check_name(name, err) < 0 ||
			sbx_json_string(value, "request.env", SBX_JSON_LINE_MAX, &text, err) < 0)
			return -1;
		request->env[i++] = sbx_mem_printf("%s=%s", name, text);
	}
	return 0;
}

static int
read_input(struct sbx_json v, struct sbx_request *request, struct sbx_err *err)
{
	if (sbx_json_type(v) == SBX_JSON_ABSENT)
		return 0;
	request->has_input = 1;
	sbx_buf_init(&request->input, SBX_JSON_LINE_MAX);
	return read_bytes(v, "request.stdin", &request->input, err);
}

static int
read_rest(struct sbx_json root, struct reading *reading, struct sbx_err *err)
{
	struct sbx_request *request = &reading->request;

	if (read_op(sbx_json_get(root, "op"), &request->op, err) < 0 ||
		sbx_json_read(root, "request", fields_of[request->op], reading, err) < 0)
		return -1;
	switch ((enum sbx_request_op)request->op) {
	case SBX_REQUEST_EXEC:
		return read_argv(reading->argv, request, err) < 0 ||
				read_env(reading->env, request, err) < 0 ||
				read_input(reading->input, request, err) < 0 ?
			-1 :
			0;
	case SBX_REQUEST_READ:
	case SBX_REQUEST_STAT:
	case SBX_REQUEST_LIST:
	case SBX_REQUEST_MEASURE:
		if (sbx_json_type(reading->path) != SBX_JSON_ABSENT)
			return read_text(reading->path, "request.path", PATH_BYTES_MAX,
				&request->path, err);
		request->path = sbx_mem_dup("");
		return 0;
	case SBX_REQUEST_CANCEL:
		return read_id(reading->target, "request.target", &request->target, err);
	case SBX_REQUEST_PING:
		return 0;
	}
	return -1;
}

int
sbx_request_read(const char *line, size_t length, struct sbx_request *request, struct sbx_err *err)
{
	SBX_AUTO_JSON doc = sbx_json_parse(line, length, err);
	struct sbx_json absent = { .doc = doc, .token = -1 }, root, id;
	struct reading reading = { .env = absent, .input = absent, .path = absent };
	int failed;

	*request = reading.request;
	if (doc == NULL)
		return sbx_fail_wrap(err, "request");
	root = sbx_json_root(doc);
	if (sbx_json_type(root) != SBX_JSON_OBJECT)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "request: must be an object");
	id = sbx_json_get(root, "id");
	failed = sbx_json_type(id) != SBX_JSON_ABSENT &&
		read_id(id, "request.id", &reading.request.id, err) < 0;
	failed = failed || read_rest(root, &reading, err) < 0;
	*request = reading.request;
	return failed ? -1 : 0;
}

static void
free_strings(char **strings)
{
	for (char **at = strings; at != NULL && *at != NULL; at++)
		free(*at);
	free(strings);
}

void
sbx_request_done(struct sbx_request *request)
{
	free(request->id);
	free_strings(request->argv);
	free_strings(request->env);
	free(request->cwd);
	sbx_buf_done(&request->input);
	free(request->path);
	free(request->target);
	memset(request, 0, sizeof(*request));
}

int
sbx_request_check_argv(char *const *argv, struct sbx_err *err)
{
	for (size_t i = 0; argv[i] != NULL; i++) {
		size_t length = strlen(argv[i]);

		if (length <= ARGUMENT_MAX)
			continue;
		sbx_fail(err, SBX_E_BAD_REQUEST,
			"argument %zu has %zu bytes; the kernel takes at most %d in one", i, length,
			ARGUMENT_MAX);
		return sbx_fail_hint(err, "pass it through --stdin or a file in the workspace");
	}
	return 0;
}
