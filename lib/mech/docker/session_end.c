/*
 * How commands of a session end: the kill, the last accounts, and what a lost channel means.
 *
 * A kill is two. The first is asked for over the channel and is what keeps the last output; it
 * proves nothing, since who broke out inside answers it. The second is the container's restart,
 * which ends every process of it whatever happens inside; only after it a command counts as killed.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "mech/docker/session.h"

#define LAST_OUTPUT_MS 300
#define FINISH_MS 10000

/* Told while it ran that its container was ended; the first of them, where memory was the cause. */
static void
end_all(struct sbx_session *session, uint32_t killed, int by_restart)
{
	for (struct sbx_docker_running *running = session->running; running != NULL;
		running = running->next) {
		running->dead_by_restart |= by_restart;
		if (running->step > SBX_STEP_RUNNING)
			continue;
		running->step = SBX_STEP_ENDED;
		if (running->id == killed)
			sbx_session_tell(session, SBX_EVENT_EXITED, running->id,
				W_EXITCODE(0, SIGKILL));
		else if (by_restart)
			sbx_session_tell(session, SBX_EVENT_RESTARTED, running->id, 0);
	}
}

static const struct sbx_docker_running *
oldest(const struct sbx_session *session)
{
	const struct sbx_docker_running *running = session->running;

	while (running != NULL && running->step > SBX_STEP_RUNNING)
		running = running->next;
	return running;
}

static void
told_lost(struct sbx_session *session)
{
	end_all(session, 0, 0);
	session->lost = 1;
	sbx_session_tell(session, SBX_EVENT_LOST, 0, 0);
}

/* Whether a command still runs, or has more to say, of those on the channel or of all. */
static int
is_unsettled(const struct sbx_session *session, int of_all)
{
	for (const struct sbx_docker_running *running = session->running; running != NULL;
		running = running->next)
		if ((of_all || !running->detached) && !running->dead_by_restart &&
			running->step < SBX_STEP_FINISHED)
			return 1;
	return 0;
}

/* The engine is asked, which takes its time: rare, and there is nothing else to do. */
void
sbx_session_lose(struct sbx_session *session, int broken)
{
	const struct sbx_docker_running *first = oldest(session);
	enum sbx_restart_found found = SBX_RESTART_RUNS;
	struct sbx_err err = { 0 };

	if (broken)
		sbx_log(SBX_LOG_WARN,
			"container %s: what came over its channel is no frame of ours",
			session->names.container);
	sbx_session_disconnect(session);
	if (session->killing != 0 && !broken)
		return; /* it was to end anyway, and kill() knows how */
	if (broken) {
		told_lost(session);
		return;
	}
	if (!is_unsettled(session, 1))
		return; /* the next start() opens another */
	if (sbx_restart_judge(&session->restart, session->restarts, &found, &err) < 0) {
		sbx_log_err(&err);
		found = SBX_RESTART_STOPPED;
	}
	if (found == SBX_RESTART_OUT_OF_MEMORY) {
		if (first != NULL)
			sbx_session_tell(session, SBX_EVENT_OOM, first->id, 0);
		end_all(session, first != NULL ? first->id : 0, 1);
	} else if (found == SBX_RESTART_HAPPENED) {
		end_all(session, 0, 1);
	} else {
		told_lost(session);
	}
}

/* Best effort: end them inside, and take what they wrote before. */
static void
take_last_output(struct sbx_session *session)
{
	int64_t until = sbx_clock_mono_ms() + LAST_OUTPUT_MS, left;

	if (sbx_frames_add(&session->link.frames, SBX_CHAN_KILL_ALL, 0, 0, NULL, 0) < 0)
		return;
	for (struct sbx_docker_running *running = session->running; running != NULL;
		running = running->next)
		sbx_session_finish(session, running);
	while (session->link.up && is_unsettled(session, 0) &&
		(left = until - sbx_clock_mono_ms()) > 0)
		sbx_session_serve(session, (int)left);
}

static struct sbx_docker_running *
find(const struct sbx_session *session, uint32_t id, struct sbx_err *err)
{
	struct sbx_docker_running *running = sbx_session_find(session, id);

	if (running != NULL && !running->forgotten)
		return running;
	sbx_fail(err, SBX_E_NOT_FOUND, "no command %u", id);
	return NULL;
}

/* Events that wait must not end a wait for descriptors: settle() raises them again. */
void
sbx_session_hush(struct sbx_session *session)
{
	size_t end = session->event_end;

	session->event_end = session->event_at;
	sbx_session_settle(session);
	session->event_end = end;
}

/* To a command that runs; one whose end is on its way needs it no more. */
static int
send_number(struct sbx_session *session, enum sbx_chan_type type, uint32_t id, uint32_t number,
	struct sbx_err *err)
{
	const struct sbx_docker_running *running = find(session, id, err);

	if (running == NULL)
		return -1;
	if (running->detached || running->step != SBX_STEP_RUNNING)
		return 0;
	if (sbx_frames_add(&session->link.frames, type, 0, id, &number, sizeof(number)) < 0)
		return sbx_fail(err, SBX_E_BUSY, "the container does not keep up");
	sbx_session_flush(session);
	return 0;
}

int
sbx_docker_signal(struct sbx_session *session, uint32_t id, int signo, struct sbx_err *err)
{
	return send_number(session, SBX_CHAN_SIGNAL, id, (uint32_t)signo, err);
}

int
sbx_docker_resize(struct sbx_session *session, uint32_t id, const struct sbx_mech_tty *tty,
	struct sbx_err *err)
{
	return send_number(session, SBX_CHAN_RESIZE, id, (uint32_t)tty->rows << 16 | tty->columns,
		err);
}

int
sbx_docker_kill(struct sbx_session *session, uint32_t id, int *restarted, struct sbx_err *err)
{
	struct sbx_docker_running *running = find(session, id, err);
	int did = 0, rc = 0;

	if (running == NULL)
		return -1;
	if (session->lost)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "the environment was lost");
	*restarted = 1;
	if (running->dead_by_restart)
		return 0;
	session->killing = id;
	sbx_session_hush(session);
	if (session->link.up)
		take_last_output(session);
	rc = sbx_restart_since(&session->restart, session->restarts, &did, err);
	sbx_session_disconnect(session);
	session->killing = 0;
	if (rc == 0)
		end_all(session, id, 1);
	sbx_session_settle(session);
	return rc;
}

/* Of one that has ended: wait for its FINISHED. */
static int
await_finished(struct sbx_session *session, struct sbx_docker_running *running, struct sbx_err *err)
{
	int64_t until = sbx_clock_mono_ms() + FINISH_MS, left;

	sbx_session_finish(session, running);
	while (!running->detached && running->step < SBX_STEP_FINISHED &&
		(left = until - sbx_clock_mono_ms()) > 0)
		sbx_session_serve(session, (int)left);
	if (running->step == SBX_STEP_FINISHED || running->dead_by_restart)
		return 0;
	if (running->detached)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "the container's channel was lost");
	return sbx_fail(err, SBX_E_BUSY, "processes of the command do not die");
}

static void
drop_events(struct sbx_session *session, uint32_t id)
{
	size_t to = session->event_at;

	for (size_t at = to; at < session->event_end; at++)
		if (session->events[at].id != id)
			session->events[to++] = session->events[at];
	session->event_end = to;
}

/* Of those that are forgotten all has come. */
static int
has_work(const struct sbx_session *session)
{
	const struct sbx_docker_running *running = session->running;

	while (running != NULL && running->forgotten)
		running = running->next;
	return running != NULL;
}

int
sbx_docker_finish(struct sbx_session *session, uint32_t id, struct sbx_mech_usage *usage,
	struct sbx_err *err)
{
	struct sbx_docker_running *running = find(session, id, err);
	const struct sbx_chan_usage *seen;
	int rc;

	*usage = (struct sbx_mech_usage){ 0 };
	if (running == NULL)
		return -1;
	if (running->step < SBX_STEP_ENDED)
		return sbx_fail(err, SBX_E_CONFLICT, "command %u has not ended", id);
	sbx_session_hush(session);
	rc = await_finished(session, running, err);
	seen = &running->usage;
	usage->cpu_us = running->cpu_us;
	usage->peak_memory_bytes = seen->peak_memory_bytes;
	usage->has_memory = seen->peak_memory_bytes != 0;
	usage->oom_kills = seen->oom_kills;
	usage->left_over = seen->left_over != 0;
	usage->stays = seen->stays != 0;
	usage->pids_hits = seen->pids_hits +
		(seen->pids_hits == 0 && seen->pids_full != 0 &&
			(usage->left_over || running->dead_by_restart));
	for (unsigned stream = 1; stream <= 2; stream++)
		sbx_output_end(session, running, stream);
	running->forgotten = 1;
	drop_events(session, id);
	sbx_session_sweep(session);
	if (!has_work(session))
		sbx_awake_leave(session);
	sbx_session_settle(session);
	return rc;
}
