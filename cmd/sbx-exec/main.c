/*
 * sbx-exec(1): run commands in a live environment and say what became of each. The phases are the
 * calls below; each stage is a file of its own, and none is visited twice.
 */
#include "access.h"
#include "exec.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "data/errors.h"
#include "run.h"
#include "mech/release.h"

struct exec {
	struct exec_options options;
	struct exec_request request;
	struct exec_target target;
	struct exec_hold hold;
	struct exec_plan plan; /* of a plain command */
	struct exec_run run;
	struct exec_meter meter;
	struct exec_tty tty; /* with --tty */
};

static void
on_over(void *arg)
{
	struct exec_hold *hold = arg;

	sbx_loop_stop(hold->loop);
}

static void
on_terminal(void *arg, int signo)
{
	struct exec *exec = arg;

	exec_tty_changed(&exec->tty, &exec->run, signo);
}

/* What the window became while it was being started was not told yet. */
static void
on_started(void *arg)
{
	const struct exec_hold *hold = arg;

	hold->terminal(hold->terminal_arg, 0);
}

/* One command, from the command line: the exit status, or -1 with err. */
static int
run_one(struct exec *exec, int64_t began_us, struct sbx_err *err)
{
	char *variables[sizeof(exec->options.env.items) / sizeof(exec->options.env.items[0]) +
		2] = { NULL };
	char term[80];
	struct sbx_mech_tty size;
	struct exec_wish wish = { .argv = exec->request.argv,
		.env = variables,
		.cwd = exec->options.cwd,
		.timeout_ms = exec->options.timeout_ms,
		.output_bytes = exec->options.output_bytes,
		.timeout_name = "--timeout",
		.background = exec->options.background };
	struct exec_run *run = &exec->run;
	int with_term = exec->options.tty && exec_tty_term(getenv("TERM"), term, sizeof(term));

	/* The list is of const strings and the wish's is shaped like execve's. */
	if (with_term)
		variables[0] = term; /* before the others, which may set another */
	memcpy(variables + with_term, exec->options.env.items,
		exec->options.env.count * sizeof(variables[0]));
	if (exec->options.tty) {
		exec_tty_size(&size);
		wish.tty = &size;
		exec->hold.terminal = on_terminal;
		exec->hold.terminal_arg = exec;
		run->started = on_started;
	}
	if (exec_plan_make(&wish, &exec->target, environ, &exec->plan, err) < 0 ||
		exec_feed_open(&exec->options, exec->request.from_stdin, &run->feed, err) < 0 ||
		exec_run_open(run, &exec->plan, exec->options.raw, err) < 0 ||
		exec_hold_open(&exec->hold, &exec->target, err) < 0 ||
		exec_run_start(run, &exec->hold, &wish, on_over, &exec->hold, err) < 0)
		return -1;
	if (exec->options.tty && exec_tty_enter(&exec->tty, err) < 0)
		return -1;
	if (!exec->options.raw)
		exec_meter_start(&exec->meter, &exec->hold, run);
	if (sbx_loop_run(exec->hold.loop, err) < 0) {
		err->executed = SBX_EXECUTED_UNKNOWN; /* it was asked for */
		return -1;
	}
	exec_tty_leave(&exec->tty);
	exec_meter_stop(&exec->meter);
	exec_hold_close(&exec->hold);
	if (exec->hold.signal != 0)
		return 0;
	if (run->failure.code != SBX_OK) {
		*err = run->failure;
		return -1;
	}
	return exec_answer(&exec->options, &exec->target, &wish, run, began_us, err);
}

static int
work(struct exec *exec, int argc, char **argv, int64_t began_us, struct sbx_err *err)
{
	int operand = sbx_tool_begin(&exec_about, argc, argv, &exec->options, err);

	/* gather */
	if (operand == SBX_TOOL_DONE)
		return 0;
	if (operand < 0 || exec_intake(&exec->options, argv + operand, &exec->request, err) < 0)
		return -1;
	/* open: with the environment's record no new right is wanted any more */
	if (exec_target_open(&exec->options, exec->request.env_id, argv, &exec->target, err) < 0)
		return -1;
	/* A stream waits with that for its first request. */
	if (!exec->options.stream && exec_target_ready(&exec->target, err) < 0)
		return -1;
	/* serve */
	if (exec->request.argv != NULL)
		return run_one(exec, began_us, err);
	if (exec_hold_open(&exec->hold, &exec->target, err) < 0)
		return -1;
	if (exec_options_access(&exec->options))
		return exec_access(&exec->options, &exec->hold, &exec->run, &exec->plan, err);
	if (exec_options_background(&exec->options))
		return exec_background(&exec->options, &exec->hold, err);
	return exec_serve(&exec->options, &exec->hold, err);
}

/* What is left for a sweep is told, and is our status where that is not the command's. */
static int
release(const struct exec *exec, int status)
{
	struct sbx_release release;
	struct sbx_err err = { 0 };

	if (sbx_release(&exec->target.tool, exec->target.env.id, &release, &err) == 0)
		err = release.stays;
	else
		sbx_log_err(&err);
	if (err.code == SBX_OK || status != 0 || exec->options.raw || exec->options.exit_code)
		return status;
	return sbx_code_exit(err.code);
}

int
main(int argc, char **argv)
{
	int64_t began_us = sbx_clock_mono_us();
	struct exec exec = { 0 };
	struct sbx_err err = { 0 };
	int status;

	exec_run_init(&exec.run);
	status = work(&exec, argc, argv, began_us, &err);
	exec_tty_leave(&exec.tty);
	exec_meter_stop(&exec.meter);
	exec_run_close(&exec.run);
	if (exec.options.release)
		sbx_tool_defer();
	exec_hold_close(&exec.hold);
	if (status < 0 && exec.hold.signal == 0)
		status = exec_fail(&exec.options, &exec.request, &err);
	if (exec.options.release && exec.target.env_open)
		status = release(&exec, status);
	if (exec.hold.signal != 0)
		exec_signals_die(exec.hold.signal);
	sbx_cmd_env_done(&exec.plan.variables);
	exec_target_close(&exec.target);
	exec_request_done(&exec.request);
	if (exec.options.release || exec.options.spec != NULL)
		sbx_tool_undefer();
	return status;
}
