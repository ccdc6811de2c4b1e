/*
 * What happens on a session's descriptors: frames from inside become events and bytes, room in pipes
 * and bytes of stdin are used. Nothing here blocks but for the wait that the caller asked for. The
 * inside is not trusted: a frame in the wrong order ends the session.
 */
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "mech/docker/session.h"
#include "mech/native/wire.h"

#define BATCH 64

/* The oldest command that has not been told yet. */
static void
tell_oom(struct sbx_session *session)
{
	for (struct sbx_docker_running *running = session->running; running != NULL;
		running = running->next) {
		if (running->step != SBX_STEP_RUNNING || running->oom_told)
			continue;
		running->oom_told = 1;
		sbx_session_tell(session, SBX_EVENT_OOM, running->id, 0);
		return;
	}
}

void
sbx_session_finish(struct sbx_session *session, struct sbx_docker_running *running)
{
	if (running->detached || running->step != SBX_STEP_ENDED)
		return;
	if (sbx_frames_add(&session->link.frames, SBX_CHAN_FINISH, 0, running->id, NULL, 0) < 0)
		return;
	running->step = SBX_STEP_FINISHING;
	for (int i = 0; i < 2; i++)
		running->outputs[i].window += SBX_CHAN_REST_MAX;
}

/* STARTED, FAILED, EXITED or ENDED, in their order and with sense: 0, or -1. */
static int
take_news(struct sbx_session *session, struct sbx_docker_running *running,
	const struct sbx_frame *frame)
{
	struct sbx_chan_end end;
	struct sbx_init_reply reply = { .id = running->id };
	struct sbx_mech_event event;
	enum sbx_chan_type type = (enum sbx_chan_type)frame->head.type;
	int is_end = type == SBX_CHAN_EXITED || type == SBX_CHAN_ENDED;

	memcpy(&end, frame->payload, sizeof(end));
	if (running->step != (is_end ? SBX_STEP_RUNNING : SBX_STEP_ASKED) ||
		(type == SBX_CHAN_FAILED && end.error <= 0) ||
		(is_end && !WIFEXITED(end.status) && !WIFSIGNALED(end.status)))
		return -1;
	if (type == SBX_CHAN_STARTED)
		reply.answer = SBX_INIT_STARTED;
	else if (type == SBX_CHAN_FAILED)
		reply.answer = SBX_INIT_FAILED;
	else
		reply.answer = type == SBX_CHAN_ENDED ? SBX_INIT_ENDED : SBX_INIT_EXITED;
	/* Our own kill of one took the others along. */
	if (session->killing != 0 && is_end && WIFSIGNALED(end.status) &&
		WTERMSIG(end.status) == SIGKILL)
		reply.answer = running->id == session->killing ? SBX_INIT_EXITED : SBX_INIT_ENDED;
	reply.stage = end.stage;
	reply.error = end.error;
	reply.status = end.status;
	running->step = type == SBX_CHAN_STARTED ? SBX_STEP_RUNNING : SBX_STEP_ENDED;
	running->cpu_us = end.cpu_us;
	if (sbx_wire_event(&reply, &event))
		sbx_session_queue(session, &event);
	if (running->step == SBX_STEP_ENDED)
		sbx_feed_end(session, running);
	else
		sbx_feed(session, running);
	if (session->killing != 0)
		sbx_session_finish(session, running);
	return 0;
}

static int
take_credit(struct sbx_session *session, struct sbx_docker_running *running,
	const struct sbx_frame *frame)
{
	uint32_t more;

	memcpy(&more, frame->payload, sizeof(more));
	/* More than a window is of no use to it, and must not add up. */
	running->credit += more;
	if (running->credit > SBX_CHAN_WINDOW)
		running->credit = SBX_CHAN_WINDOW;
	sbx_feed(session, running);
	return 0;
}

static int
take_finished(struct sbx_session *session, struct sbx_docker_running *running,
	const struct sbx_frame *frame)
{
	if (running->step != SBX_STEP_FINISHING)
		return -1;
	memcpy(&running->usage, frame->payload, sizeof(running->usage));
	running->step = SBX_STEP_FINISHED;
	for (unsigned stream = 1; stream <= 2; stream++)
		sbx_output_end(session, running, stream);
	return 0;
}

static int
take_frame(struct sbx_session *session, const struct sbx_frame *frame)
{
	struct sbx_docker_running *running = sbx_session_find(session, frame->head.id);

	/* Of one whose finish() gave up waiting, words may still come. */
	if (frame->head.id != 0 &&
		(running == NULL || running->detached || running->step == SBX_STEP_FINISHED))
		return 0;
	switch ((enum sbx_chan_type)frame->head.type) {
	case SBX_CHAN_DATA:
		return sbx_output_take(session, running, frame->head.stream, frame->payload,
			frame->head.length);
	case SBX_CHAN_END_OF:
		sbx_output_end(session, running, frame->head.stream);
		return 0;
	case SBX_CHAN_CREDIT:
		return take_credit(session, running, frame);
	case SBX_CHAN_STARTED:
	case SBX_CHAN_FAILED:
	case SBX_CHAN_EXITED:
	case SBX_CHAN_ENDED:
		return take_news(session, running, frame);
	case SBX_CHAN_FINISHED:
		return take_finished(session, running, frame);
	case SBX_CHAN_OOM:
		tell_oom(session);
		return 0;
	case SBX_CHAN_BACKGROUND_IS:
		memcpy(&session->background, frame->payload, sizeof(session->background));
		session->background_told = 1;
		return 0;
	case SBX_CHAN_KILLED:
	case SBX_CHAN_PONG:
		return 0;
	case SBX_CHAN_HELLO: /* a second one */
	case SBX_CHAN_EXEC:
	case SBX_CHAN_FINISH:
	case SBX_CHAN_KILL_ALL:
	case SBX_CHAN_PING:
	case SBX_CHAN_FILES:
	case SBX_CHAN_SIGNAL:
	case SBX_CHAN_RESIZE:
	case SBX_CHAN_BACKGROUND:
		break;
	}
	return -1;
}

/* What has come before the end counts, so the end is looked at last. */
static void
hear(struct sbx_session *session)
{
	struct sbx_frame frame;
	int more = sbx_frames_read(&session->link.frames), got;

	session->heard_ms = sbx_clock_mono_ms();
	session->asked_ms = 0;
	while ((got = sbx_frames_next(&session->link.frames, &frame)) > 0)
		if (take_frame(session, &frame) < 0) {
			got = -1;
			break;
		}
	if (got < 0 || more < 0)
		sbx_session_lose(session, got < 0);
}

static void
feed_all(struct sbx_session *session)
{
	for (struct sbx_docker_running *running = session->running; running != NULL;
		running = running->next)
		if (!running->detached)
			sbx_feed(session, running);
}

void
sbx_session_flush(struct sbx_session *session)
{
	int rc;

	if (!session->link.up)
		return;
	rc = sbx_frames_write(&session->link.frames);
	if (rc > 0 && session->writing) {
		sbx_session_unwatch(session, session->link.to_fd);
		session->writing = 0;
		feed_all(session); /* those that were held up by the queue */
		rc = sbx_frames_write(&session->link.frames);
	}
	if (rc == 0 && !session->writing)
		session->writing = sbx_session_watch(session, session->link.to_fd, EPOLLOUT, 0,
					   SBX_PART_TO) == 0;
	/* Broken: its end is heard from the other pipe, with what was still said before. */
	if (rc < 0 && session->writing) {
		sbx_session_unwatch(session, session->link.to_fd);
		session->writing = 0;
	}
}

/*
 * The engine's command line says something, which attach never does. With gVisor it may be all that
 * we hear when the sandbox dies, by its memory limit for one: docker 20.10 keeps the exec of a runsc
 * that is gone until its stdin ends. Asked once a link, since anybody inside could speak here.
 */
static void
hear_complaint(struct sbx_session *session)
{
	struct sbx_link *link = &session->link;

	if (sbx_link_listen(link) < 0)
		sbx_session_unwatch(session, link->said_fd);
	if (link->said.length == 0 || link->doubted || session->killing != 0)
		return;
	link->doubted = 1;
	if (sbx_restart_has_stopped(&session->restart, 1))
		sbx_session_lose(session, 0);
}

static void
take_link(struct sbx_session *session, unsigned part)
{
	if (part == SBX_PART_PULSE)
		sbx_pulse_beat(session);
	if (!session->link.up)
		return;
	if (part == SBX_PART_FROM)
		hear(session);
	else if (part == SBX_PART_SAID)
		hear_complaint(session);
}

void
sbx_session_serve(struct sbx_session *session, int timeout_ms)
{
	struct epoll_event ready[BATCH];
	int n;

	sbx_session_flush(session);
	n = epoll_wait(session->epoll_fd, ready, BATCH, timeout_ms);
	for (int i = 0; i < n; i++) {
		uint32_t id = (uint32_t)(ready[i].data.u64 >> 8);
		unsigned stream = ready[i].data.u64 & 0xff;
		struct sbx_docker_running *running = id != 0 ? sbx_session_find(session, id) : NULL;

		if (id == 0)
			take_link(session, stream);
		else if (running != NULL && stream == 0)
			sbx_feed(session, running);
		else if (running != NULL)
			sbx_output_ready(session, running, stream, ready[i].events);
	}
	sbx_session_flush(session);
	sbx_session_sweep(session);
}
