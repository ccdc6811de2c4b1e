/*
 * Our hold on the environment: one loop, one session of the mechanism, and the commands that run
 * over it. Events of the session go to the command that they are of. When the environment dies its
 * commands are told, and the next one opens a new session.
 */
#include "exec.h"

#include <sys/epoll.h>
#include <sys/signalfd.h>

#include "run.h"

static void
let_go(struct exec_hold *hold)
{
	sbx_loop_del(hold->loop, hold->events);
	hold->events = NULL;
	if (hold->session != NULL)
		hold->target->mech->close(hold->session);
	hold->session = NULL;
	hold->lost = 0;
}

static void
dispatch(struct exec_hold *hold, const struct sbx_mech_event *event)
{
	struct exec_run *run = hold->runs, *next;

	if (event->kind == SBX_EVENT_LOST)
		hold->lost = 1;
	for (; run != NULL; run = next) {
		next = run->next; /* an event may be the end of its run */
		if (event->kind == SBX_EVENT_LOST || run->id == event->id)
			exec_pump_event(run, event);
	}
}

/* A session that is lost may still hold output of its commands: it goes when they are over. */
static void
on_events(void *arg, uint32_t epoll_events)
{
	struct exec_hold *hold = arg;
	struct sbx_mech_event event;

	(void)epoll_events;
	while (hold->target->mech->next(hold->session, &event) > 0)
		dispatch(hold, &event);
	if (hold->lost && hold->runs == NULL)
		let_go(hold);
}

/* The second signal does not wait for anything. */
static void
on_signal(void *arg, const struct signalfd_siginfo *info)
{
	struct exec_hold *hold = arg;
	struct exec_run *run = hold->runs, *next;
	int again = hold->signal != 0;

	if (info->ssi_signo == SIGWINCH || info->ssi_signo == SIGTSTP ||
		info->ssi_signo == SIGCONT) {
		hold->terminal(hold->terminal_arg, (int)info->ssi_signo);
		return;
	}
	hold->signal = (int)info->ssi_signo;
	for (; run != NULL && !again; run = next) {
		next = run->next;
		exec_pump_hurry(run);
	}
	if (again || hold->runs == NULL)
		sbx_loop_stop(hold->loop);
}

int
exec_hold_session(struct exec_hold *hold, struct sbx_err *err)
{
	const struct exec_target *target = hold->target;

	if (hold->lost && hold->runs == NULL)
		let_go(hold);
	if (hold->session != NULL)
		return 0;
	if (target->mech->open(&target->tool.host, &target->env, &target->record, &hold->session,
		    err) < 0)
		return -1;
	hold->events = sbx_loop_add(hold->loop, target->mech->fd(hold->session), EPOLLIN, on_events,
		hold, err);
	return hold->events == NULL ? -1 : 0;
}

int
exec_hold_open(struct exec_hold *hold, struct exec_target *target, struct sbx_err *err)
{
	hold->target = target;
	hold->changes.dir = hold->changes.lock_fd = -1;
	exec_signals_hold(&hold->held, hold->terminal != NULL);
	hold->holding = 1;
	hold->loop = sbx_loop_make(err);
	if (hold->loop == NULL)
		return -1;
	return sbx_loop_signals(hold->loop, &hold->held, on_signal, hold, err);
}

void
exec_hold_close(struct exec_hold *hold)
{
	if (hold->loop != NULL) {
		exec_changes_close(hold);
		let_go(hold);
	}
	sbx_loop_free(hold->loop);
	hold->loop = NULL;
	if (hold->holding)
		exec_signals_release(&hold->held);
	hold->holding = 0;
}
