/*
 * A stream of requests: each line is answered by one record with its id, in the order in which they
 * are done. Commands run side by side; whoever reads us slowly, or sends more than is run at once,
 * is not read from for a while. The end of stdin lets what runs come to its end, or cancels it.
 */
#include "serve.h"

#include <string.h>

#include "base/scoped.h"
#include "data/errors.h"
#include "data/json_out.h"

#define COMMANDS_MAX 64 /* at once */
#define UNREAD_MAX ((size_t)4 * 1024 * 1024) /* of records, before requests wait */
#define UNREAD_LIVE_MAX ((size_t)1024 * 1024) /* before commands that print live do */

void
serve_error(struct serve *serve, const char *id, const struct sbx_err *err)
{
	SBX_AUTO_BUF line = SBX_BUF_INIT(SBX_JSON_LINE_MAX);

	sbx_error_record(err, id, &line);
	exec_writer_put(&serve->writer, &line);
}

void
serve_done(struct serve *serve, const char *type, const char *id)
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
		serve_error(serve, NULL, &err);
}

/* Commands that print live stand still while our reader has too much before it. */
static void
hold_back(struct serve *serve)
{
	int hold = serve->writer.queue.length > (serve->held_back ? 0 : UNREAD_LIVE_MAX);

	if (hold == serve->held_back)
		return;
	serve->held_back = hold;
	for (struct command *command = serve->commands; command != NULL; command = command->next)
		command_pause(command, hold);
}

void
serve_steer(struct serve *serve)
{
	int full = serve->count >= COMMANDS_MAX || serve->writer.queue.length > UNREAD_MAX;

	if (serve->reader.ended && serve->count == 0 && serve->writer.queue.length == 0)
		sbx_loop_stop(serve->hold->loop);
	if (serve->hold->signal != 0 && serve->count == 0)
		sbx_loop_stop(serve->hold->loop);
	exec_reader_pause(&serve->reader, full);
}

static void
on_writer(void *arg)
{
	struct serve *serve = arg;

	hold_back(serve);
	serve_steer(serve);
}

static struct command *
find_target(struct serve *serve, const struct sbx_request *request)
{
	struct command *command = command_find(serve, request->target);
	struct sbx_err err = { 0 };

	if (command != NULL)
		return command;
	sbx_fail(&err, SBX_E_NOT_FOUND, "request.target: no command with the id %.140s runs",
		request->target);
	serve_error(serve, request->id, &err);
	return NULL;
}

static void
cancel(struct serve *serve, const struct sbx_request *request)
{
	struct command *command = find_target(serve, request);

	if (command == NULL)
		return;
	serve_done(serve, "ok", request->id);
	exec_pump_end(&command->run, SBX_REASON_CANCELLED);
}

static void
send_signal(struct serve *serve, const struct sbx_request *request)
{
	struct command *command = find_target(serve, request);
	struct sbx_err err = { 0 };

	if (command == NULL)
		return;
	if (exec_pump_signal(&command->run, request->signal, &err) < 0)
		serve_error(serve, request->id, &err);
	else
		serve_done(serve, "ok", request->id);
}

static void
tell_background(struct serve *serve, const struct sbx_request *request)
{
	SBX_AUTO_BUF line = SBX_BUF_INIT(SBX_JSON_LINE_MAX);
	struct sbx_err err = { 0 };

	if (exec_background_list(serve->hold, request->id, &line, &err) < 0)
		serve_error(serve, request->id, &err);
	else
		exec_writer_put(&serve->writer, &line);
}

static void
end_background(struct serve *serve, const struct sbx_request *request)
{
	struct sbx_err err = { 0 };
	int number;

	if (exec_background_parse(request->name, "request.background", &number, &err) < 0 ||
		exec_background_end(serve->hold, number, &err) < 0)
		serve_error(serve, request->id, &err);
	else
		serve_done(serve, "ok", request->id);
}

/* Takes over the request. */
static void
give(struct serve *serve, struct sbx_request *request)
{
	struct command *command = find_target(serve, request);

	if (command != NULL)
		command_give(command, request);
	else
		sbx_request_done(request);
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
		serve_error(serve, request.id, &err);
		sbx_request_done(&request);
		return;
	}
	switch ((enum sbx_request_op)request.op) {
	case SBX_REQUEST_EXEC:
	case SBX_REQUEST_READ:
	case SBX_REQUEST_STAT:
	case SBX_REQUEST_LIST:
	case SBX_REQUEST_MEASURE:
	case SBX_REQUEST_WRITE:
	case SBX_REQUEST_MKDIR:
	case SBX_REQUEST_RENAME:
	case SBX_REQUEST_REMOVE:
		command_begin(serve, &request);
		return;
	case SBX_REQUEST_STDIN:
		give(serve, &request);
		return;
	case SBX_REQUEST_SIGNAL:
		send_signal(serve, &request);
		break;
	case SBX_REQUEST_CANCEL:
		cancel(serve, &request);
		break;
	case SBX_REQUEST_BACKGROUND:
		tell_background(serve, &request);
		break;
	case SBX_REQUEST_END_BACKGROUND:
		end_background(serve, &request);
		break;
	case SBX_REQUEST_PING:
		serve_done(serve, "pong", request.id);
		break;
	case SBX_REQUEST_OPS:
		break;
	}
	sbx_request_done(&request);
}

/* What waits for input that cannot come any more is told its end. */
static void
end_of_requests(struct serve *serve)
{
	struct command *command = serve->commands, *next;

	for (; command != NULL; command = next) {
		next = command->next; /* the end of one may come at once */
		if (serve->options->on_eof == EXEC_ON_EOF_CANCEL ||
			(command->request.input_open && command->request.op == SBX_REQUEST_WRITE &&
				!command->run.feed.ended))
			exec_pump_end(&command->run, SBX_REASON_CANCELLED);
		else
			exec_feed_end(&command->run.feed);
	}
}

static void
on_line(void *arg, const char *line, size_t length)
{
	struct serve *serve = arg;
	struct sbx_err err = { 0 };

	if (line == NULL && serve->reader.ended) {
		end_of_requests(serve);
	} else if (line == NULL) {
		sbx_fail(&err, SBX_E_TOO_LARGE, "request: a line of more than %d bytes",
			SBX_JSON_LINE_MAX);
		serve_error(serve, NULL, &err);
	} else if (!is_blank(line, length)) {
		take_request(serve, line, length);
	}
	serve_steer(serve);
}

int
exec_serve(const struct exec_options *options, struct exec_hold *hold, struct sbx_err *err)
{
	struct serve serve = { .options = options, .hold = hold };
	int failed = exec_writer_open(&serve.writer, hold->loop, on_writer, &serve, err) < 0 ||
		exec_reader_open(&serve.reader, hold->loop, on_line, &serve, err) < 0 ||
		sbx_loop_run(hold->loop, err) < 0;

	while (serve.commands != NULL)
		command_free(serve.commands);
	if (!failed && serve.writer.failure.code != SBX_OK) {
		*err = serve.writer.failure;
		failed = 1;
	}
	exec_reader_close(&serve.reader);
	exec_writer_close(&serve.writer);
	return failed ? -1 : 0;
}
