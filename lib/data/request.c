/*
 * A request out of a line: first its id, so that whatever is wrong with the rest can be answered
 * under it; then its op, and the keys that this op has. Opens nothing.
 */
#include "data/request.h"

#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/scoped.h"
#include "data/cmd_env.h"
#include "data/names.h"

/* execve(2): MAX_ARG_STRLEN is 131,072 with the NUL on pages of 4 KiB. */
#define ARGUMENT_MAX 131071
#define ARGUMENTS_MAX 65536
#define PATH_BYTES_MAX 65535 /* trees may be deeper than PATH_MAX */
#define ID_NUMBER_MAX (INT64_C(1) << 53) /* beyond it JSON numbers of others are not exact */

/* signal(7), by name without SIG: those that mean something to a process group. */
static const struct {
	const char *name;
	int number;
} signals[] = { { "HUP", SIGHUP }, { "INT", SIGINT }, { "QUIT", SIGQUIT }, { "KILL", SIGKILL },
	{ "TERM", SIGTERM }, { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 }, { "ALRM", SIGALRM },
	{ "CONT", SIGCONT }, { "STOP", SIGSTOP }, { "TSTP", SIGTSTP }, { "WINCH", SIGWINCH } };

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
	if (*op >= SBX_REQUEST_OPS)
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
read_input(struct sbx_json v, const char *what, struct sbx_request *request, struct sbx_err *err)
{
	if (sbx_json_type(v) == SBX_JSON_ABSENT)
		return 0;
	request->has_input = 1;
	sbx_buf_init(&request->input, SBX_JSON_LINE_MAX);
	return read_bytes(v, what, &request->input, err);
}

/* Octal digits, as they are shown: "0644". */
static int
read_mode(struct sbx_json v, struct sbx_request *request, struct sbx_err *err)
{
	SBX_AUTO_FREE char *text = NULL;
	size_t length;

	if (sbx_json_type(v) == SBX_JSON_ABSENT)
		return 0;
	if (sbx_json_string(v, "request.mode", 4, &text, err) < 0)
		return -1;
	length = strlen(text);
	if (length == 0 || strspn(text, "01234567") != length || (length == 4 && text[0] != '0'))
		return sbx_fail(err, SBX_E_BAD_REQUEST,
			"request.mode: \"%s\" is not \"0000\" to \"0777\"", text);
	request->has_mode = 1;
	for (size_t i = 0; i < length; i++)
		request->mode = request->mode * 8 + (uint32_t)(text[i] - '0');
	return 0;
}

static int
read_signal(struct sbx_json v, struct sbx_request *request, struct sbx_err *err)
{
	SBX_AUTO_FREE char *text = NULL;
	const char *name;

	if (sbx_json_string(v, "request.signal", 16, &text, err) < 0)
		return -1;
	name = strncmp(text, "SIG", 3) == 0 ? text + 3 : text;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (strcmp(name, signals[i].name) == 0)
			request->signal = signals[i].number;
	if (request->signal != 0)
		return 0;
	sbx_fail(err, SBX_E_BAD_REQUEST, "request.signal: \"%s\" is none of those that can be sent",
		text);
	return sbx_fail_hint(err, "HUP INT QUIT KILL TERM USR1 USR2 ALRM CONT STOP TSTP WINCH");
}

static int
read_path(struct sbx_json v, const char *what, char **path, struct sbx_err *err)
{
	if (sbx_json_type(v) != SBX_JSON_ABSENT)
		return read_text(v, what, PATH_BYTES_MAX, path, err);
	*path = sbx_mem_dup("");
	return 0;
}

static int
check_read(const struct sbx_request *request, struct sbx_err *err)
{
	if (request->stream || request->limit <= SBX_REQUEST_READ_MAX)
		return 0;
	return sbx_fail(err, SBX_E_BAD_REQUEST,
		"request.limit: must be from 1 to %llu, or be asked for as a stream",
		(unsigned long long)SBX_REQUEST_READ_MAX);
}

/* What the table left for later, of the one op. */
static int
read_rest(struct sbx_request_reading *reading, struct sbx_err *err)
{
	struct sbx_request *request = &reading->request;

	switch ((enum sbx_request_op)request->op) {
	case SBX_REQUEST_EXEC:
		if (read_argv(reading->argv, request, err) < 0 ||
			read_env(reading->env, request, err) < 0)
			return -1;
		return read_input(reading->input, "request.stdin", request, err);
	case SBX_REQUEST_READ:
		return read_path(reading->path, "request.path", &request->path, err) < 0 ?
			-1 :
			check_read(request, err);
	case SBX_REQUEST_STAT:
	case SBX_REQUEST_LIST:
	case SBX_REQUEST_MEASURE:
	case SBX_REQUEST_REMOVE:
		return read_path(reading->path, "request.path", &request->path, err);
	case SBX_REQUEST_WRITE:
	case SBX_REQUEST_MKDIR:
		if (read_path(reading->path, "request.path", &request->path, err) < 0 ||
			read_mode(reading->mode, request, err) < 0)
			return -1;
		return read_input(reading->input, "request.data", request, err);
	case SBX_REQUEST_RENAME:
		return read_path(reading->path, "request.path", &request->path, err) < 0 ?
			-1 :
			read_path(reading->to, "request.to", &request->to, err);
	case SBX_REQUEST_STDIN:
		return read_id(reading->target, "request.target", &request->target, err) < 0 ?
			-1 :
			read_input(reading->input, "request.data", request, err);
	case SBX_REQUEST_SIGNAL:
		return read_id(reading->target, "request.target", &request->target, err) < 0 ?
			-1 :
			read_signal(reading->signal, request, err);
	case SBX_REQUEST_CANCEL:
		return read_id(reading->target, "request.target", &request->target, err);
	case SBX_REQUEST_BACKGROUND:
	case SBX_REQUEST_END_BACKGROUND:
	case SBX_REQUEST_PING:
	case SBX_REQUEST_OPS:
		break;
	}
	return 0;
}

static int
read_all(struct sbx_json root, struct sbx_request_reading *reading, struct sbx_err *err)
{
	struct sbx_request *request = &reading->request;

	if (read_op(sbx_json_get(root, "op"), &request->op, err) < 0 ||
		sbx_json_read(root, "request", sbx_request_fields[request->op], reading, err) < 0)
		return -1;
	return read_rest(reading, err);
}

int
sbx_request_read(const char *line, size_t length, struct sbx_request *request, struct sbx_err *err)
{
	SBX_AUTO_JSON doc = sbx_json_parse(line, length, err);
	struct sbx_json absent = { .doc = doc, .token = -1 }, root, id;
	struct sbx_request_reading reading = { .env = absent,
		.input = absent,
		.path = absent,
		.to = absent,
		.mode = absent };
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
	failed = failed || read_all(root, &reading, err) < 0;
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
	free(request->to);
	free(request->name);
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
