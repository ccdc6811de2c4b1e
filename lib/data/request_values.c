/*
 * The values of a request, read one by one: ids, bytes, arguments, variables, modes, signals. Each
 * names what is wrong with it. Opens nothing.
 */
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/scoped.h"
#include "data/cmd_env.h"
#include "data/request_impl.h"

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
int
sbx_request_read_id(struct sbx_json v, const char *what, char **id, struct sbx_err *err)
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

int
sbx_request_read_argv(struct sbx_json array, struct sbx_request *request, struct sbx_err *err)
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

int
sbx_request_read_env(struct sbx_json object, struct sbx_request *request, struct sbx_err *err)
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

int
sbx_request_read_input(struct sbx_json v, const char *what, struct sbx_request *request,
	struct sbx_err *err)
{
	if (sbx_json_type(v) == SBX_JSON_ABSENT)
		return 0;
	request->has_input = 1;
	sbx_buf_init(&request->input, SBX_JSON_LINE_MAX);
	return read_bytes(v, what, &request->input, err);
}

/* Octal digits, as they are shown: "0644". */
int
sbx_request_read_mode(struct sbx_json v, struct sbx_request *request, struct sbx_err *err)
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

int
sbx_request_read_signal(struct sbx_json v, struct sbx_request *request, struct sbx_err *err)
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

int
sbx_request_read_path(struct sbx_json v, const char *what, char **path, struct sbx_err *err)
{
	if (sbx_json_type(v) != SBX_JSON_ABSENT)
		return read_text(v, what, PATH_BYTES_MAX, path, err);
	*path = sbx_mem_dup("");
	return 0;
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
