/*
 * From the start of a command to the end of all that came from it, in three steps.
 *
 * Run: bytes, timers and the mechanism's events, until its first process has ended. Then, draining,
 * a bounded wait for both outputs to end, which a descendant that holds a pipe does not prolong:
 * 100 ms without a byte, 2 s at most. Settle: whatever is left of it is ended, and only then are
 * its counters read. Deliver: the pipes hold what was written before that. Nothing writes any more,
 * so reading is no wait; only our own stdout may be slow. A command that ended by itself has it all
 * delivered, one that we killed does not outlive its limit by more than 2 s. A mechanism that
 * carries outputs is served meanwhile: it writes what it holds and then ends the pipes.
 *
 * All of it is called by the loop. Where over() may be called, it is called last.
 */
#include "exec.h"

#include <string.h>

#include "base/clock.h"
#include "base/scoped.h"
#include "run.h"

#define DRAIN_IDLE_US (INT64_C(100) * 1000)
#define DRAIN_MOST_US (INT64_C(2) * 1000 * 1000)
#define DELIVER_MOST_US (INT64_C(2) * 1000 * 1000)
#define KILL_MOST_US (INT64_C(5) * 1000 * 1000)

static int
both_over(const struct exec_run *run)
{
	const struct exec_stream *streams = run->streams;

	if (run->step == EXEC_DELIVERING)
		return exec_stream_is_over(&streams[0]) && exec_stream_is_over(&streams[1]);
	return streams[0].fd < 0 && streams[1].fd < 0;
}

static void
cancel_timers(struct exec_run *run)
{
	sbx_loop_cancel(run->hold->loop, run->limit);
	sbx_loop_cancel(run->hold->loop, run->guard);
	run->limit = run->guard = NULL;
}

static void
finish(struct exec_run *run)
{
	cancel_timers(run);
	run->step = EXEC_OVER;
	exec_changes_leave(run);
	exec_feed_stop(&run->feed);
	for (int i = 0; i < 2; i++)
		exec_stream_stop(&run->streams[i]);
	run->over(run->arg);
}

void
exec_pump_fail(struct exec_run *run)
{
	finish(run);
}

static void
on_deliver_end(void *arg)
{
	struct exec_run *run = arg;

	run->guard = NULL;
	finish(run);
}

static void
deliver(struct exec_run *run)
{
	run->step = EXEC_DELIVERING;
	for (int i = 0; i < 2 && !run->hold->target->mech->carries_output; i++)
		exec_stream_drain(&run->streams[i]);
	if (both_over(run)) {
		finish(run);
		return;
	}
	if (run->outcome.forced != SBX_REASON_EXITED)
		run->guard = sbx_loop_at(run->hold->loop, sbx_clock_mono_us() + DELIVER_MOST_US,
			on_deliver_end, run);
}

/* End what is left of the command, read its counters, hand over what it wrote. */
static void
settle(struct exec_run *run)
{
	struct exec_outcome *outcome = &run->outcome;
	struct exec_hold *hold = run->hold;

	cancel_timers(run);
	exec_feed_stop(&run->feed);
	if (!outcome->lost) {
		if (hold->target->mech->finish(hold->session, run->id, &outcome->usage,
			    &outcome->trouble) == 0)
			outcome->has_usage = 1;
		else
			outcome->trouble.executed = SBX_EXECUTED_YES;
	}
	if (run->failure.code != SBX_OK || hold->signal != 0) {
		finish(run);
		return;
	}
	run->step = EXEC_COMPARING;
	exec_changes_tell(run, deliver);
}

static void
on_unkillable(void *arg)
{
	struct exec_run *run = arg;

	run->guard = NULL;
	sbx_fail(&run->failure, SBX_E_TIMEOUT, "the command was killed and did not end");
	run->failure.executed = SBX_EXECUTED_YES;
	settle(run);
}

/*
 * Work on the workspace that takes bytes leaves nothing half made when they end; and a container is
 * not restarted for a reader, whose answer nobody takes any more.
 */
static int
ends_by_its_bytes(const struct exec_run *run)
{
	return run->feed.wanted || run->hold->target->mech->carries_output;
}

void
exec_pump_end(struct exec_run *run, enum sbx_reason reason)
{
	struct exec_outcome *outcome = &run->outcome;
	struct exec_hold *hold = run->hold;

	if (run->step == EXEC_WAITING) {
		sbx_fail(&run->failure, SBX_E_CANCELLED, "the command was not begun yet");
		exec_pump_fail(run);
		return;
	}
	if (run->step != EXEC_RUNNING || outcome->forced != SBX_REASON_EXITED)
		return;
	outcome->forced = reason;
	if (run->is_files && ends_by_its_bytes(run)) {
		exec_feed_stop(&run->feed);
		exec_stream_abandon(&run->streams[0]);
		run->guard = sbx_loop_at(hold->loop, sbx_clock_mono_us() + KILL_MOST_US,
			on_unkillable, run);
		return;
	}
	if (hold->target->mech->kill(hold->session, run->id, &outcome->kill_restarted,
		    &run->failure) < 0) {
		run->failure.executed = SBX_EXECUTED_YES;
		settle(run);
		return;
	}
	run->guard = sbx_loop_at(hold->loop, sbx_clock_mono_us() + KILL_MOST_US, on_unkillable,
		run);
}

int
exec_pump_signal(struct exec_run *run, int signo, struct sbx_err *err)
{
	const struct sbx_mech *mech = run->hold->target->mech;

	if (run->step != EXEC_RUNNING)
		return sbx_fail(err, SBX_E_NOT_FOUND, "the command is over");
	if (mech->signal == NULL)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "mechanism %s sends no signals",
			mech->name);
	return mech->signal(run->hold->session, run->id, signo, err);
}

void
exec_pump_hurry(struct exec_run *run)
{
	if (run->step == EXEC_WAITING || run->step == EXEC_RUNNING)
		exec_pump_end(run, SBX_REASON_CANCELLED);
	else if (run->step == EXEC_DRAINING)
		settle(run);
	else if (run->step == EXEC_COMPARING || run->step == EXEC_DELIVERING)
		finish(run);
}

static void
on_limit(void *arg)
{
	struct exec_run *run = arg;

	run->limit = NULL;
	exec_pump_end(run, run->plan->overrun);
}

static void
arm_limit(struct exec_run *run)
{
	int64_t limit_us = (int64_t)run->plan->limit_ms * 1000;

	sbx_loop_cancel(run->hold->loop, run->limit);
	run->limit = sbx_loop_at(run->hold->loop, sbx_clock_mono_us() + limit_us, on_limit, run);
}

static int
is_paused(const struct exec_run *run)
{
	return run->streams[0].paused || run->streams[1].paused;
}

static void
on_drain_idle(void *arg)
{
	struct exec_run *run = arg;
	int64_t next = run->moved_us + DRAIN_IDLE_US;

	run->guard = NULL;
	if (next > run->drain_until_us || is_paused(run))
		next = run->drain_until_us;
	if (sbx_clock_mono_us() < next) {
		run->guard = sbx_loop_at(run->hold->loop, next, on_drain_idle, run);
		return;
	}
	/* What we did not read is not held by anybody. */
	run->outcome.pipes_held = !is_paused(run);
	settle(run);
}

static void
drain(struct exec_run *run)
{
	int64_t now = sbx_clock_mono_us();

	cancel_timers(run);
	exec_feed_stop(&run->feed);
	run->step = EXEC_DRAINING;
	run->moved_us = now;
	run->drain_until_us = now + DRAIN_MOST_US;
	if (both_over(run) || run->hold->signal != 0)
		settle(run);
	else
		run->guard = sbx_loop_at(run->hold->loop, now + DRAIN_IDLE_US, on_drain_idle, run);
}

static void
on_moved(void *arg)
{
	struct exec_run *run = arg;

	run->moved_us = sbx_clock_mono_us();
	/* A terminal that is not read any more is hung up, which takes both of its descriptors. */
	if (run->on_terminal && run->streams[0].fd < 0)
		exec_feed_stop(&run->feed);
	if (run->step == EXEC_RUNNING || !both_over(run))
		return;
	if (run->step == EXEC_DRAINING)
		settle(run);
	else if (run->step == EXEC_DELIVERING)
		finish(run);
}

/* What comes after its end concerns others, or is told by finish(). */
void
exec_pump_event(struct exec_run *run, const struct sbx_mech_event *event)
{
	struct exec_outcome *outcome = &run->outcome;

	if (run->step != EXEC_RUNNING)
		return;
	switch (event->kind) {
	case SBX_EVENT_STARTED:
		outcome->started_us = sbx_clock_mono_us();
		/* Starting it, bounded as much, is not taken from its time. */
		if (run->limit != NULL && run->plan->overrun == SBX_REASON_TIMEOUT)
			arm_limit(run);
		if (run->started != NULL)
			run->started(run->arg);
		return;
	case SBX_EVENT_OOM:
		outcome->oom = 1;
		exec_pump_end(run, SBX_REASON_MEMORY);
		return;
	case SBX_EVENT_EXITED:
		outcome->ended_us = sbx_clock_mono_us();
		outcome->status = event->status;
		drain(run);
		return;
	case SBX_EVENT_START_FAILED:
		outcome->start_error = event->error;
		memcpy(outcome->stage, event->stage, sizeof(outcome->stage));
		break;
	case SBX_EVENT_RESTARTED:
		outcome->restarted = 1;
		break;
	case SBX_EVENT_LOST:
		outcome->lost = 1;
		break;
	}
	outcome->ended_us = sbx_clock_mono_us();
	settle(run);
}

int
exec_pump_begin(struct exec_run *run, struct sbx_err *err)
{
	struct sbx_loop *loop = run->hold->loop;

	for (int i = 0; i < 2; i++)
		if (exec_stream_start(&run->streams[i], loop, sbx_take_fd(&run->ends[i + 1]),
			    on_moved, run, err) < 0)
			return -1;
	if (run->feed.wanted &&
		exec_feed_start(&run->feed, loop, sbx_take_fd(&run->ends[0]), err) < 0)
		return -1;
	arm_limit(run);
	return 0;
}
