/*
 * sbx-exec(1): run one command in a live environment and say what became of it. The phases are the
 * calls below; each stage is a file of its own, and none is visited twice.
 */
#include "exec.h"

#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"

struct exec {
	struct exec_options options;
	struct exec_request request;
	struct exec_target target;
	struct exec_plan plan;
	struct exec_run run;
	struct exec_outcome outcome;
};

/* The exit status, or -1 with err. */
static int
work(struct exec *exec, int argc, char **argv, int64_t began_us, struct sbx_err *err)
{
	struct exec_run *run = &exec->run;
	int operand;

	/* gather */
	operand = sbx_tool_begin(&exec_about, argc, argv, &exec->options, err);
	if (operand == SBX_TOOL_DONE)
		return 0;
	if (operand < 0 || exec_intake(&exec->options, argv + operand, &exec->request, err) < 0)
		return -1;
	/* open: from here on no new right is wanted */
	if (exec_target_open(&exec->options, exec->request.env_id, &exec->target, err) < 0 ||
		exec_plan_make(&exec->options, &exec->request, &exec->target, environ, &exec->plan,
			err) < 0 ||
		exec_run_open(&exec->options, &exec->request, &exec->plan, run, err) < 0)
		return -1;
	/* start */
	if (exec_start(&exec->request, &exec->target, &exec->plan, exec->options.cwd, run, err) < 0)
		return -1;
	/* pump: until nothing of the command is left */
	if (exec_pump(run, &exec->plan, &exec->outcome, err) < 0)
		return -1;
	exec_run_stop(run);
	if (exec->outcome.signal != 0)
		return 0;
	/* verdict */
	return exec_answer(&exec->options, &exec->request, &exec->target, &exec->plan, run,
		&exec->outcome, began_us, err);
}

int
main(int argc, char **argv)
{
	int64_t began_us = sbx_clock_mono_us();
	struct exec exec = { 0 };
	struct sbx_err err = { 0 };
	int status;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	exec_run_init(&exec.run);
	status = work(&exec, argc, argv, began_us, &err);
	exec_run_stop(&exec.run);
	if (exec.outcome.signal != 0)
		exec_signals_die(exec.outcome.signal);
	if (status < 0)
		status = exec_fail(&exec.options, &exec.request, &err);
	exec_run_close(&exec.run);
	sbx_cmd_env_done(&exec.plan.variables);
	exec_target_close(&exec.target);
	exec_request_done(&exec.request);
	return status;
}
