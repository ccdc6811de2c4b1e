/*
 * What is asked: which environment, by its id or by the record that sbx-provision printed, and which
 * command. Reads stdin only where the operand is "-", and of it only the first line.
 */
#include "exec.h"

#include <string.h>
#include <unistd.h>

#include "base/scoped.h"
#include "data/errors.h"
#include "data/json.h"

#define READ_PIECE 4096

/* The first line of stdin, without its newline. */
static int
read_line(struct sbx_buf *line, struct sbx_err *err)
{
	const char *newline = NULL;
	char *room;
	ssize_t n;

	while (newline == NULL) {
		room = sbx_buf_reserve(line, READ_PIECE);
		if (room == NULL)
			return sbx_buf_check(line, "the record on standard input", err);
		n = read(STDIN_FILENO, room, READ_PIECE);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return sbx_fail_sys(err, SBX_E_IO, "standard input");
		if (n == 0)
			return 0;
		sbx_buf_commit(line, (size_t)n);
		newline = memchr(room, '\n', (size_t)n);
	}
	line->length = (size_t)(newline - line->data);
	line->data[line->length] = '\0';
	return 0;
}

/* The environment out of a record; an error record is the answer already and goes on as it is. */
static int
read_record(struct exec_request *request, struct sbx_err *err)
{
	SBX_AUTO_BUF line = SBX_BUF_INIT(SBX_JSON_LINE_MAX);
	SBX_AUTO_JSON doc = NULL;
	SBX_AUTO_FREE char *id = NULL;
	struct sbx_json root;

	if (read_line(&line, err) < 0)
		return -1;
	if (line.length == 0)
		return sbx_fail(err, SBX_E_BAD_REQUEST,
			"standard input holds no env record; did sbx-provision fail?");
	doc = sbx_json_parse(line.data, line.length, err);
	if (doc == NULL)
		return sbx_fail_wrap(err, "env record on standard input");
	root = sbx_json_root(doc);
	if (sbx_error_from_record(root, err)) {
		sbx_buf_init(&request->upstream, line.length + 1);
		if (sbx_buf_add(&request->upstream, line.data, line.length) < 0 ||
			sbx_buf_add_char(&request->upstream, '\n') < 0)
			sbx_buf_clear(&request->upstream);
		return -1;
	}
	if (!sbx_json_string_is(sbx_json_get(root, "type"), "env"))
		return sbx_fail(err, SBX_E_BAD_REQUEST,
			"standard input: not a record of type \"env\"");
	if (sbx_json_string(sbx_json_get(root, "env"), "env", SBX_ENV_ID_SIZE, &id, err) < 0)
		return -1;
	if (!sbx_spec_is_env_id(id))
		return sbx_fail(err, SBX_E_BAD_REQUEST, "env: \"%s\" is not an environment's id",
			id);
	memcpy(request->env_id, id, SBX_ENV_ID_SIZE);
	return 0;
}

static int
take_command(char **operands, struct exec_request *request, struct sbx_err *err)
{
	if (operands[1] == NULL || strcmp(operands[1], "--") != 0)
		return sbx_fail(err, SBX_E_USAGE,
			"the environment has to be followed by -- and the command");
	if (operands[2] == NULL)
		return sbx_fail(err, SBX_E_USAGE, "no command after --");
	request->argv = operands + 2;
	return sbx_request_check_argv(request->argv, err);
}

/* The environment comes of a file: what follows -- is the command, and nothing stands before it. */
static int
take_spec(const struct exec_options *options, char **operands, int no_command,
	struct exec_request *request, struct sbx_err *err)
{
	int has_operands = operands[0] != NULL, dashes = strcmp(operands[-1], "--") == 0;

	if (strcmp(options->spec, "-") == 0)
		return sbx_fail(err, SBX_E_USAGE,
			"--spec -: standard input is the command's or holds the requests");
	if (has_operands && (!dashes || options->stream || no_command))
		return sbx_fail(err, SBX_E_USAGE, "\"%.64s\": --spec names the environment already",
			operands[0]);
	if (options->stream || no_command)
		return 0;
	if (!has_operands)
		return sbx_fail(err, SBX_E_USAGE, "no command after --");
	request->argv = operands;
	return sbx_request_check_argv(request->argv, err);
}

int
exec_intake(const struct exec_options *options, char **operands, struct exec_request *request,
	struct sbx_err *err)
{
	int no_command = exec_options_access(options) || exec_options_background(options);

	if (exec_options_check(options, err) < 0)
		return -1;
	if (options->spec != NULL)
		return take_spec(options, operands, no_command, request, err);
	if (operands[0] == NULL)
		return sbx_fail(err, SBX_E_USAGE, "no environment is named");
	if (options->stream && (operands[1] != NULL || strcmp(operands[0], "-") == 0))
		return sbx_fail(err, SBX_E_USAGE,
			"--stream: an environment's id is all it takes; commands come on stdin");
	if (no_command && operands[1] != NULL)
		return sbx_fail(err, SBX_E_USAGE, "\"%.64s\": no command goes with these options",
			operands[1]);
	if ((options->put != NULL || options->tar_in != NULL) && strcmp(operands[0], "-") == 0)
		return sbx_fail(err, SBX_E_USAGE,
			"standard input cannot be the env record and what is to be written");
	if (!options->stream && !no_command && take_command(operands, request, err) < 0)
		return -1;
	request->from_stdin = strcmp(operands[0], "-") == 0;
	if (request->from_stdin)
		return read_record(request, err);
	if (!sbx_spec_is_env_id(operands[0])) {
		sbx_fail(err, SBX_E_BAD_REQUEST, "\"%.64s\" is not an environment's id",
			operands[0]);
		return sbx_fail_hint(err, "sbx-provision prints it as .env, sbx-reap --list too");
	}
	memcpy(request->env_id, operands[0], SBX_ENV_ID_SIZE);
	return 0;
}

void
exec_request_done(struct exec_request *request)
{
	sbx_buf_done(&request->upstream);
}
