/*
 * From the start of the command to the end of all that came from it, in three steps.
 *
 * Run: bytes, timers, signals and the mechanism's events, until its first process has ended. Then a
 * bounded wait for both outputs to end, which a descendant that holds a pipe does not prolong:
 * 100 ms without a byte, 2 s at most.
 * Settle: whatever is left of it is ended, and only then are its counters read.
 * Deliver: the pipes hold what was written before that. Nothing writes any more, so reading is no
 * wait; only our own stdout may be slow. A command that ended by itself has it all delivered, one
 * that we killed does not outlive its limit by more than 2 s.
 */
#include "exec.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include "base/clock.h"
#include "base/scoped.h"

#define DRAIN_IDLE_US (INT64_C(100) * 1000)
#define DRAIN_MOST_US (INT64_C(2) * 1000 * 1000)
#define DELIVER_MOST_US (INT64_C(2) * 1000 * 1000)
#define KILL_MOST_US (INT64_C(5) * 1000 * 1000)

enum step { RUNNING, DRAINING, DELIVERING };

struct pump {
	struct exec_run *run;
	const struct exec_plan *plan;
	struct exec_outcome *outcome;
	enum step step;
	struct sbx_loop_io *events;
	struct sbx_loop_timer *limit;
	struct sbx_loop_timer
		*guard; /* of the step: killing, draining or delivering takes an end */
	int64_t moved_us, drain_until_us;
	struct sbx_err failure; /* why there will be no result; code SBX_OK: none */
};

static int
both_over(const struct pump *pump)
{
	const struct exec_stream *streams = pump->run->streams;

	if (pump->step == DELIVERING)
		return exec_stream_is_over(&streams[0]) && exec_stream_is_over(&streams[1]);
	return streams[0].fd < 0 && streams[1].fd < 0;
}

static void
on_guard(void *arg)
{
	struct pump *pump = arg;

	pump->guard = NULL;
	sbx_fail(&pump->failure, SBX_E_TIMEOUT, "the command was killed and did not end");
	pump->failure.executed = SBX_EXECUTED_YES;
	sbx_loop_stop(pump->run->loop);
}

/* End the command; the first reason is the one that counts. */
static void
end_by(struct pump *pump, enum sbx_reason reason)
{
	struct exec_run *run = pump->run;
	struct exec_outcome *outcome = pump->outcome;

	if (pump->step != RUNNING || outcome->forced != SBX_REASON_EXITED)
		return;
	outcome->forced = reason;
	if (run->mech->kill(run->session, run->id, &outcome->kill_restarted, &pump->failure) < 0) {
		pump->failure.executed = SBX_EXECUTED_YES;
		sbx_loop_stop(run->loop);
		return;
	}
	pump->guard = sbx_loop_at(run->loop, sbx_clock_mono_us() + KILL_MOST_US, on_guard, pump);
}

static void
on_limit(void *arg)
{
	struct pump *pump = arg;

	pump->limit = NULL;
	end_by(pump, pump->plan->overrun);
}

static void
arm_limit(struct pump *pump)
{
	int64_t limit_us = (int64_t)pump->plan->limit_ms * 1000;

	sbx_loop_cancel(pump->run->loop, pump->limit);
	pump->limit = sbx_loop_at(pump->run->loop, sbx_clock_mono_us() + limit_us, on_limit, pump);
}

/* The second signal does not wait for anything. */
static void
on_signal(void *arg, const struct signalfd_siginfo *info)
{
	struct pump *pump = arg;
	int again = pump->outcome->signal != 0;

	pump->outcome->signal = (int)info->ssi_signo;
	if (again || pump->step != RUNNING)
		sbx_loop_stop(pump->run->loop);
	else
		end_by(pump, SBX_REASON_CANCELLED);
}

static void
on_drain_idle(void *arg)
{
	struct pump *pump = arg;
	int64_t next = pump->moved_us + DRAIN_IDLE_US;

	pump->guard = NULL;
	if (next > pump->drain_until_us)
		next = pump->drain_until_us;
	if (sbx_clock_mono_us() < next) {
		pump->guard = sbx_loop_at(pump->run->loop, next, on_drain_idle, pump);
		return;
	}
	pump->outcome->pipes_held = 1;
	sbx_loop_stop(pump->run->loop);
}

static void
cancel_timers(struct pump *pump)
{
	sbx_loop_cancel(pump->run->loop, pump->limit);
	sbx_loop_cancel(pump->run->loop, pump->guard);
	pump->limit = pump->guard = NULL;
}

static void
begin_drain(struct pump *pump)
{
	int64_t now = sbx_clock_mono_us();

	cancel_timers(pump);
	exec_feed_stop(&pump->run->feed);
	pump->step = DRAINING;
	pump->moved_us = now;
	pump->drain_until_us = now + DRAIN_MOST_US;
	if (both_over(pump) || pump->outcome->signal != 0)
		sbx_loop_stop(pump->run->loop);
	else
		pump->guard = sbx_loop_at(pump->run->loop, now + DRAIN_IDLE_US, on_drain_idle,
			pump);
}

static void
on_moved(void *arg)
{
	struct pump *pump = arg;

	pump->moved_us = sbx_clock_mono_us();
	if (pump->step != RUNNING && both_over(pump))
		sbx_loop_stop(pump->run->loop);
}

static void
take_event(struct pump *pump, const struct sbx_mech_event *event)
{
	struct exec_outcome *outcome = pump->outcome;

	switch (event->kind) {
	case SBX_EVENT_STARTED:
		outcome->started_us = sbx_clock_mono_us();
		/* Starting it, bounded as much, is not taken from its time. */
		if (pump->limit != NULL && pump->plan->overrun == SBX_REASON_TIMEOUT)
			arm_limit(pump);
		return;
	case SBX_EVENT_START_FAILED:
		outcome->start_error = event->error;
		memcpy(outcome->stage, event->stage, sizeof(outcome->stage));
		break;
	case SBX_EVENT_EXITED:
		outcome->ended_us = sbx_clock_mono_us();
		outcome->status = event->status;
		begin_drain(pump);
		return;
	case SBX_EVENT_OOM:
		outcome->oom = 1;
		end_by(pump, SBX_REASON_MEMORY);
		return;
	case SBX_EVENT_RESTARTED:
		outcome->restarted = 1;
		break;
	case SBX_EVENT_LOST:
		outcome->lost = 1;
		break;
	}
	outcome->ended_us = sbx_clock_mono_us();
	sbx_loop_stop(pump->run->loop);
}

static void
on_events(void *arg, uint32_t epoll_events)
{
	struct pump *pump = arg;
	struct exec_run *run = pump->run;
	struct sbx_mech_event event;

	(void)epoll_events;
	while (run->mech->next(run->session, &event) > 0) {
		if (event.kind != SBX_EVENT_LOST && event.id != run->id)
			continue;
		/* What comes after its end concerns others, or is told by finish(). */
		if (pump->step == RUNNING)
			take_event(pump, &event);
	}
}

static int
watch(struct pump *pump, struct sbx_err *err)
{
	struct exec_run *run = pump->run;

	if (sbx_loop_signals(run->loop, &run->held, on_signal, pump, err) < 0)
		return -1;
	for (int i = 0; i < 2; i++)
		if (exec_stream_start(&run->streams[i], run->loop, sbx_take_fd(&run->ends[i + 1]),
			    on_moved, pump, err) < 0)
			return -1;
	if (run->feed.wanted &&
		exec_feed_start(&run->feed, run->loop, sbx_take_fd(&run->ends[0]), err) < 0)
		return -1;
	pump->events = sbx_loop_add(run->loop, run->mech->fd(run->session), EPOLLIN, on_events,
		pump, err);
	if (pump->events == NULL)
		return -1;
	arm_limit(pump);
	return 0;
}

/* End what is left of the command and read its counters. */
static void
settle(struct pump *pump)
{
	struct exec_run *run = pump->run;
	struct exec_outcome *outcome = pump->outcome;

	cancel_timers(pump);
	sbx_loop_del(run->loop, pump->events);
	if (outcome->lost)
		return;
	if (run->mech->finish(run->session, run->id, &outcome->usage, &outcome->trouble) == 0)
		outcome->has_usage = 1;
	else
		outcome->trouble.executed = SBX_EXECUTED_YES;
}

static void
on_deliver_end(void *arg)
{
	struct pump *pump = arg;

	pump->guard = NULL;
	sbx_loop_stop(pump->run->loop);
}

static void
deliver(struct pump *pump)
{
	struct exec_run *run = pump->run;

	pump->step = DELIVERING;
	for (int i = 0; i < 2; i++)
		exec_stream_drain(&run->streams[i]);
	if (both_over(pump))
		return;
	if (pump->outcome->forced != SBX_REASON_EXITED)
		pump->guard = sbx_loop_at(run->loop, sbx_clock_mono_us() + DELIVER_MOST_US,
			on_deliver_end, pump);
	if (sbx_loop_run(run->loop, &pump->outcome->trouble) < 0)
		pump->outcome->trouble.executed = SBX_EXECUTED_YES;
}

int
exec_pump(struct exec_run *run, const struct exec_plan *plan, struct exec_outcome *outcome,
	struct sbx_err *err)
{
	struct pump pump = { .run = run, .plan = plan, .outcome = outcome };

	if (watch(&pump, err) < 0 || sbx_loop_run(run->loop, err) < 0) {
		err->executed = SBX_EXECUTED_UNKNOWN; /* it was asked for */
		return -1;
	}
	settle(&pump);
	if (pump.failure.code != SBX_OK) {
		*err = pump.failure;
		return -1;
	}
	if (outcome->signal == 0)
		deliver(&pump);
	return 0;
}
