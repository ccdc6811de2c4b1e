/*
 * One request that takes time, from its line to its record: a command, or an access to the
 * workspace. Its events are told before its record and never after; what waits for its stdin is
 * answered with it.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scoped.h"
#include "serve.h"

#define PENDING_MAX 1024 /* STDIN requests that wait, of one command */

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
		.timeout_name = "request.timeout_ms",
		.background = request->background };
	exec_run_init(&command->run);
	if (request->op != SBX_REQUEST_EXEC) {
		exec_files_make(&command->request, &serve->hold->target->record.limits,
			&command->files);
		command->wish.files = &command->files.files;
		command->wish.output_bytes = command->files.limit;
	}
	command->next = serve->commands;
	serve->commands = command;
	serve->count++;
	return command;
}

static void
drop_pending(struct command *command)
{
	struct pending *first = command->pending;

	command->pending = first->next;
	command->pending_count--;
	free(first->id);
	free(first);
}

void
command_free(struct command *command)
{
	struct serve *serve = command->serve;
	struct command **at = &serve->commands;

	while (*at != command)
		at = &(*at)->next;
	*at = command->next;
	serve->count--;
	exec_run_close(&command->run);
	while (command->pending != NULL)
		drop_pending(command);
	sbx_cmd_env_done(&command->plan.variables);
	sbx_request_done(&command->request);
	free(command);
}

struct command *
command_find(const struct serve *serve, const char *id)
{
	struct command *command = serve->commands;

	while (command != NULL &&
		(command->request.id == NULL || strcmp(command->request.id, id) != 0))
		command = command->next;
	return command;
}

void
command_pause(struct command *command, int paused)
{
	for (int i = 0; i < 2 && command->request.stream; i++)
		exec_stream_pause(&command->run.streams[i], paused);
}

/* ---- its input */

/* Its bytes went in, or nobody takes them any more. */
static void
on_fed(void *arg)
{
	struct command *command = arg;
	const struct exec_feed *feed = &command->run.feed;
	struct sbx_err err = { 0 };

	while (command->pending != NULL && command->pending->until <= feed->taken) {
		serve_done(command->serve, "ok", command->pending->id);
		drop_pending(command);
	}
	if (feed->fd >= 0)
		return;
	while (command->pending != NULL) {
		sbx_fail(&err, SBX_E_NOT_FOUND, "request.data: not all of it was read");
		err.executed = SBX_EXECUTED_UNKNOWN;
		serve_error(command->serve, command->pending->id, &err);
		drop_pending(command);
	}
}

static void
await_fed(struct command *command, struct sbx_request *request)
{
	struct pending **at = &command->pending;

	while (*at != NULL)
		at = &(*at)->next;
	*at = sbx_mem_alloc(1, sizeof(**at));
	(*at)->id = sbx_take_ptr(request->id);
	(*at)->until = command->run.feed.given;
	command->pending_count++;
	on_fed(command);
}

void
command_give(struct command *command, struct sbx_request *request)
{
	struct exec_feed *feed = &command->run.feed;
	struct sbx_err err = { 0 };
	int rc = 0;

	if (!command->request.input_open)
		rc = sbx_fail(&err, SBX_E_BAD_REQUEST,
			"request.target: its input was not left open");
	else if (command->pending_count >= PENDING_MAX)
		rc = sbx_fail(&err, SBX_E_BUSY, "request.data: %d requests wait to be read already",
			PENDING_MAX);
	else if (exec_feed_give(feed, sbx_buf_str(&request->input), request->input.length, &err) <
		0)
		rc = sbx_fail_wrap(&err, "request.data");
	if (rc == 0 && request->input_end)
		exec_feed_end(feed);
	if (rc == 0)
		await_fed(command, request);
	else
		serve_error(command->serve, request->id, &err);
	sbx_request_done(request);
}

static int
open_input(struct command *command, struct sbx_err *err)
{
	const struct sbx_request *request = &command->request;
	struct exec_feed *feed = &command->run.feed;

	if (!request->has_input && !request->input_open && request->op != SBX_REQUEST_WRITE)
		return 0;
	exec_feed_open_queue(feed, request->op == SBX_REQUEST_WRITE);
	feed->moved = on_fed;
	feed->arg = command;
	if (request->has_input &&
		exec_feed_give(feed, sbx_buf_str(&request->input), request->input.length, err) < 0)
		return -1;
	if (!request->input_open)
		exec_feed_end(feed);
	return 0;
}

/* ---- its life */

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

	on_fed(command);
	for (int i = 0; i < 2; i++)
		if (command->events[i].writer != NULL)
			events_end(&command->events[i]);
	if (run->outcome.trouble.code != SBX_OK)
		sbx_log_err(&run->outcome.trouble);
	if (err.code == SBX_OK && answer(command, &line, &err) == 0)
		exec_writer_put(&serve->writer, &line);
	else
		serve_error(serve, command->wish.id, &err);
	command_free(command);
	serve_steer(serve);
}

static void
on_started(void *arg)
{
	const struct command *command = arg;

	events_started(&command->serve->writer, command->wish.id);
}

/* Its outputs are told as they come. */
static void
tap(struct command *command)
{
	static const char *const of_command[] = { "stdout", "stderr" };
	struct exec_run *run = &command->run;
	int is_command = command->wish.files == NULL;

	if (is_command)
		run->started = on_started;
	for (int i = 0; i < (is_command ? 2 : 1); i++) {
		command->events[i] = (struct events){ .writer = &command->serve->writer,
			.id = command->wish.id,
			.name = is_command ? of_command[i] : "data",
			.offset = command->request.offset };
		run->streams[i].tap = events_bytes;
		run->streams[i].tap_arg = &command->events[i];
	}
	command_pause(command, command->serve->held_back);
}

static int
start(struct command *command, struct sbx_err *err)
{
	struct exec_run *run = &command->run;
	struct exec_hold *hold = command->serve->hold;

	if (exec_plan_make(&command->wish, hold->target, environ, &command->plan, err) < 0 ||
		exec_run_open(run, &command->plan, 0, err) < 0 || open_input(command, err) < 0)
		return -1;
	if (command->request.stream)
		tap(command);
	return exec_run_start(run, hold, &command->wish, on_over, command, err);
}

void
command_begin(struct serve *serve, struct sbx_request *request)
{
	struct sbx_err err = { 0 };
	struct command *command;

	if (request->id != NULL && command_find(serve, request->id) != NULL) {
		sbx_fail(&err, SBX_E_CONFLICT, "request.id: %.140s is of a command that runs",
			request->id);
		serve_error(serve, request->id, &err);
		sbx_request_done(request);
		return;
	}
	if (exec_target_ready(serve->hold->target, &err) < 0) {
		serve_error(serve, request->id, &err);
		sbx_request_done(request);
		return;
	}
	command = enter(serve, request);
	if (start(command, &err) < 0) {
		serve_error(serve, command->request.id, &err);
		command_free(command);
	}
}
