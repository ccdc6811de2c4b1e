/*
 * A stream of requests: each line is answered by one record with its id, in the order in which they
 * are done. Commands run side by side; whoever reads us slowly, or sends more than is run at once,
 * is not read from for a while. The end of stdin lets what runs come to its end.
 */
#include "exec.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scoped.h"
#include "data/errors.h"
#include "data/json_out.h"

#define COMMANDS_MAX 64 /* at once */
#define UNREAD_MAX ((size_t)4 * 1024 * 1024) /* of records, before requests wait */

struct serve;

/* A command on its way; what its parts borrow from each other lives here. */
struct command {
	struct command *next;
	struct serve *serve;
	struct sbx_request request;
	struct exec_wish wish;
	struct exec_files files; /* workspace access instead of a command */
	struct exec_plan plan;
	struct exec_run run;
	int64_t began_us;
};

struct serve {
	struct exec_hold *hold;
	struct exec_reader reader;
	struct exec_writer writer;
	struct command *commands;
	int count;
};

static void
put_error(struct serve *serve, const char *id, const struct sbx_err *err)
{
	SBX_AUTO_BUF line = SBX_BUF_INIT(SBX_JSON_LINE_MAX);

	sbx_error_record(err, id, &line);
	exec_writer_put(&serve->writer, &line);
}

/* {"type": TYPE, "id": ID}: done, and nothing more to say. */
static void
put_done(struct serve *serve, const char *type, const char *id)
{
	SBX_AUTO_BUF line = SBX_BUF_INIT(SBX_JSON_LINE_MAX);
	struct sbx_json_out out;
	struct sbx_err err = { 0 };

	sbx_json_out_init(&out, &line);
	sbx_json_out_object(&out, NULL);
	sbx_json_out_string(&out, "type", type);
	if (id != NULL)
		sbx_json_out_raw(&out, "id", id, strlen(id));
	else
		sbx_json_out_null(&out, "id");
	sbx_json_out_end(&out);
	if (sbx_json_out_line(&out, type, &err) == 0)
		exec_writer_put(&serve->writer, &line);
	else
		put_error(serve, NULL, &err);
}

/* Read on, wait or end: after anything that changes what there is to do. */
static void
steer(struct serve *serve)
{
	int full = serve->count >= COMMANDS_MAX || serve->writer.queue.length > UNREAD_MAX;

	if (serve->reader.ended && serve->count == 0 && serve->writer.queue.length == 0)
		sbx_loop_stop(serve->hold->loop);
	exec_reader_pause(&serve->reader, full);
}

static void
on_written(void *arg)
{
	steer(arg);
}

static struct command *
enter(struct serve *serve, const struct sbx_request *request)
{
	struct command *command = sbx_mem_alloc(1, sizeof(*command));

	command->serve = serve;
	command->request = *request;
	command->began_us = sbx_clock_mono_us();
	command->wish = (struct exec_wish){ .id = request->id,
		.argv = request->argv,
		.env = request->env,
		.cwd = request->cwd,
		.timeout_ms = request->timeout_ms,
		.output_bytes = request->output_bytes,
		.timeout_name = "request.timeout_ms" };
	exec_run_init(&command->run);
	if (request->op != SBX_REQUEST_EXEC) {
		exec_files_make(&command->request, &command->files);
		command->wish.files = &command->files.files;
		command->wish.output_bytes = command->files.limit;
	}
	command->next = serve->commands;
	serve->commands = command;
	serve->count++;
	return command;
}

static void
leave(struct command *command)
{
	struct serve *serve = command->serve;
	struct command **at = &serve->commands;

	while (*at != command)
		at = &(*at)->next;
	*at = command->next;
	serve->count--;
	exec_run_close(&command->run);
	sbx_cmd_env_done(&command->plan.variables);
	sbx_request_done(&command->request);
	free(command);
}

static int
answer(struct command *command, struct sbx_buf *line, struct sbx_err *err)
{
	if (command->wish.files != NULL)
		return exec_files_answer(&command->request, &command->run, line, err);
	return exec_verdict(command->serve->hold->target, &command->wish, &command->run,
		command->began_us, line, err);
}

static void
on_over(void *arg)
{
	struct command *command = arg;
	struct serve *serve = command->serve;
	struct exec_run *run = &command->run;
	SBX_AUTO_BUF line = SBX_BUF_INIT(SBX_JSON_LINE_MAX);
	struct sbx_err err = run->failure;

	if (run->outcome.trouble.code != SBX_OK)
		sbx_log_err(&run->outcome.trouble);
	if (err.code == SBX_OK && answer(command, &line, &err) == 0)
		exec_writer_put(&serve->writer, &line);
	else
		put_error(serve, command->wish.id, &err);
	leave(command);
	steer(serve);
	if (serve->hold->signal != 0 && serve->count == 0)
		sbx_loop_stop(serve->hold->loop);
}

static int
start(struct command *command, struct sbx_err *err)
{
	struct exec_run *run = &command->run;
	const struct sbx_buf *input = &command->request.input;

	if (exec_plan_make(&command->wish, command->serve->hold->target, environ, &command->plan,
		    err) < 0 ||
		exec_run_open(run, &command->plan, 0, err) < 0)
		return -1;
	if (command->request.has_input)
		exec_feed_open_bytes(sbx_buf_str(input), input->length, &run->feed);
	return exec_run_start(run, command->serve->hold, &command->wish, on_over, command, err);
}

static struct command *
find(const struct serve *serve, const char *id)
{
	struct command *command = serve->commands;

	while (command != NULL &&
		(command->request.id == NULL || strcmp(command->request.id, id) != 0))
		command = command->next;
	return command;
}

/* A command or an access to the workspace. Takes over the request. */
static void
execute(struct serve *serve, struct sbx_request *request)
{
	struct sbx_err err = { 0 };
	struct command *command;

	if (request->id != NULL && find(serve, request->id) != NULL) {
		sbx_fail(&err, SBX_E_CONFLICT, "request.id: %.140s is of a command that runs",
			request->id);
		put_error(serve, request->id, &err);
		sbx_request_done(request);
		return;
	}
	command = enter(serve, request);
	if (start(command, &err) < 0) {
		put_error(serve, command->request.id, &err);
		leave(command);
	}
}

static void
cancel(struct serve *serve, const struct sbx_request *request)
{
	struct command *command = find(serve, request->target);
	struct sbx_err err = { 0 };

	if (command == NULL) {
		sbx_fail(&err, SBX_E_NOT_FOUND,
			"request.target: no command with the id %.140s runs", request->target);
		put_error(serve, request->id, &err);
		return;
	}
	put_done(serve, "ok", request->id);
	exec_pump_end(&command->run, SBX_REASON_CANCELLED);
}

static int
is_blank(const char *line, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (strchr(" \t\r", line[i]) == NULL || line[i] == '\0')
			return 0;
	return 1;
}

static void
take_request(struct serve *serve, const char *line, size_t length)
{
	struct sbx_request request;
	struct sbx_err err = { 0 };

	if (sbx_request_read(line, length, &request, &err) < 0) {
		put_error(serve, request.id, &err);
		sbx_request_done(&request);
		return;
	}
	switch ((enum sbx_request_op)request.op) {
	case SBX_REQUEST_EXEC:
	case SBX_REQUEST_READ:
	case SBX_REQUEST_STAT:
	case SBX_REQUEST_LIST:
	case SBX_REQUEST_MEASURE:
		execute(serve, &request);
		return;
	case SBX_REQUEST_CANCEL:
		cancel(serve, &request);
		break;
	case SBX_REQUEST_PING:
		put_done(serve, "pong", request.id);
		break;
	}
	sbx_request_done(&request);
}

static void
on_line(void *arg, const char *line, size_t length)
{
	struct serve *serve = arg;
	struct sbx_err err = { 0 };

	if (line == NULL && !serve->reader.ended) {
		sbx_fail(&err, SBX_E_TOO_LARGE, "request: a line of more than %d bytes",
			SBX_JSON_LINE_MAX);
		put_error(serve, NULL, &err);
	} else if (line != NULL && !is_blank(line, length)) {
		take_request(serve, line, length);
	}
	steer(serve);
}

int
exec_serve(struct exec_hold *hold, struct sbx_err *err)
{
	struct serve serve = { .hold = hold };
	int failed = exec_writer_open(&serve.writer, hold->loop, on_written, &serve, err) < 0 ||
		exec_reader_open(&serve.reader, hold->loop, on_line, &serve, err) < 0 ||
		sbx_loop_run(hold->loop, err) < 0;

	while (serve.commands != NULL)
		leave(serve.commands);
	if (!failed && serve.writer.failure.code != SBX_OK) {
		*err = serve.writer.failure;
		failed = 1;
	}
	exec_reader_close(&serve.reader);
	exec_writer_close(&serve.writer);
	return failed ? -1 : 0;
}
