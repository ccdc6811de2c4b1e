/*
 * A tool's hold on a live container: opened, closed, its events answered. Commands are asked for in
 * session_start.c and end in session_end.c; what moves bytes is session_serve.c and
 * session_streams.c.
 *
 * One epoll descriptor stands for the session: it holds the pipes of the engine's command line, the
 * pipes of commands, and an eventfd that is raised while events wait which no descriptor announces.
 * The link is opened with the session, and anew by start() after a kill took it.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/scoped.h"
#include "mech/docker/session.h"

#define CLOSE_MOST_MS 300

int
sbx_session_watch(struct sbx_session *session, int fd, uint32_t events, uint32_t id,
	unsigned stream)
{
	struct epoll_event event = { .events = events, .data.u64 = (uint64_t)id << 8 | stream };

	return epoll_ctl(session->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

/* By hand, and not by closing: a child that was just forked may hold a copy for a moment. */
void
sbx_session_unwatch(struct sbx_session *session, int fd)
{
	epoll_ctl(session->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

struct sbx_docker_running *
sbx_session_find(const struct sbx_session *session, uint32_t id)
{
	struct sbx_docker_running *running = session->running;

	while (running != NULL && running->id != id)
		running = running->next;
	return running;
}

void
sbx_session_queue(struct sbx_session *session, const struct sbx_mech_event *event)
{
	if (session->event_at == session->event_end)
		session->event_at = session->event_end = 0;
	if (session->event_end == session->event_room) {
		session->event_room = session->event_room == 0 ? 8 : session->event_room * 2;
		session->events = sbx_mem_grow(session->events, session->event_room,
			sizeof(*session->events));
	}
	session->events[session->event_end++] = *event;
}

void
sbx_session_tell(struct sbx_session *session, enum sbx_mech_event_kind kind, uint32_t id,
	int status)
{
	struct sbx_mech_event event = { .kind = kind, .id = id, .status = status };

	sbx_session_queue(session, &event);
}

void
sbx_session_settle(struct sbx_session *session)
{
	int wanted = session->event_at < session->event_end;
	uint64_t count = 1;
	ssize_t n;

	if (wanted == session->awake)
		return;
	/* Neither can fail: the counter is 0 or 1. */
	n = wanted ? write(session->wake_fd, &count, sizeof(count)) :
		     read(session->wake_fd, &count, sizeof(count));
	session->awake = n == (ssize_t)sizeof(count) ? wanted : session->awake;
}

void
sbx_session_sweep(struct sbx_session *session)
{
	struct sbx_docker_running **at = &session->running;

	while (*at != NULL) {
		struct sbx_docker_running *running = *at;

		if (running->forgotten && sbx_outputs_are_over(running)) {
			*at = running->next;
			sbx_running_free(session, running);
		} else {
			at = &running->next;
		}
	}
}

int
sbx_session_connect(struct sbx_session *session, struct sbx_err *err)
{
	if (sbx_link_open(&session->link, &session->restart, err) < 0)
		return -1;
	session->restarts = sbx_restarts(&session->restart);
	if (sbx_session_watch(session, session->link.from_fd, EPOLLIN, 0, SBX_PART_FROM) == 0 &&
		sbx_session_watch(session, session->link.said_fd, EPOLLIN, 0, SBX_PART_SAID) == 0)
		return 0;
	sbx_fail_sys(err, SBX_E_INTERNAL, "watch a descriptor");
	sbx_session_disconnect(session);
	return -1;
}

void
sbx_session_disconnect(struct sbx_session *session)
{
	if (!session->link.up)
		return;
	sbx_session_unwatch(session, session->link.from_fd);
	sbx_session_unwatch(session, session->link.said_fd);
	if (session->writing)
		sbx_session_unwatch(session, session->link.to_fd);
	session->writing = 0;
	sbx_link_close(&session->link);
	for (struct sbx_docker_running *running = session->running; running != NULL;
		running = running->next) {
		running->detached = 1;
		sbx_feed_end(session, running);
		for (unsigned stream = 1; stream <= 2; stream++)
			sbx_output_end(session, running, stream);
	}
}

/* What outlives the tool's own structs is copied. */
static struct sbx_session *
make(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record)
{
	struct sbx_session *session = sbx_mem_alloc(1, sizeof(*session));
	struct sbx_docker docker;

	sbx_docker_of(host, record->mechanism, &docker);
	session->docker = docker;
	session->docker.lock_fd = -1;
	session->docker.engine = sbx_mem_dup(docker.engine);
	if (docker.runtime != NULL)
		session->docker.runtime = sbx_mem_dup(docker.runtime);
	sbx_docker_names(host, env->id, &session->names);
	session->dir_fd = fcntl(env->dir_fd, F_DUPFD_CLOEXEC, 3);
	session->restart = (struct sbx_restart){ session->dir_fd, &session->docker,
		session->names.container };
	session->link.to_fd = session->link.from_fd = session->link.said_fd = -1;
	session->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	session->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	session->pulse_fd = session->awake_fd = -1;
	return session;
}

int
sbx_docker_open(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record, struct sbx_session **out, struct sbx_err *err)
{
	struct sbx_session *session = make(host, env, record);

	if (session->dir_fd < 0 || session->epoll_fd < 0 || session->wake_fd < 0 ||
		sbx_session_watch(session, session->wake_fd, EPOLLIN, 0, SBX_PART_WAKE) < 0 ||
		sbx_pulse_open(session) < 0) {
		sbx_fail_sys(err, SBX_E_UNAVAILABLE, "make a session's descriptors");
	} else if (sbx_awake_enter(session, 0, err) == 0 &&
		sbx_session_connect(session, err) == 0) {
		*out = session;
		return 0;
	} else {
		sbx_fail_wrap(err, "environment %s", env->id);
	}
	sbx_docker_close(session);
	return -1;
}

const struct sbx_chan_hello *
sbx_docker_hello(const struct sbx_session *session)
{
	return &session->link.hello;
}

int
sbx_docker_fd(const struct sbx_session *session)
{
	return session->epoll_fd;
}

int
sbx_session_runs(const struct sbx_session *session)
{
	for (const struct sbx_docker_running *running = session->running; running != NULL;
		running = running->next)
		if (!running->detached && running->step <= SBX_STEP_RUNNING)
			return 1;
	return 0;
}

/* The channel's end would end our commands too; asked, it happens before we go. */
static void
end_running(struct sbx_session *session)
{
	int64_t until = sbx_clock_mono_ms() + CLOSE_MOST_MS, left;

	if (!sbx_session_runs(session) ||
		sbx_frames_add(&session->link.frames, SBX_CHAN_KILL_ALL, 0, 0, NULL, 0) < 0)
		return;
	session->killing = session->last_id;
	session->event_at = session->event_end = 0; /* nobody asks any more */
	sbx_session_settle(session);
	while (sbx_session_runs(session) && (left = until - sbx_clock_mono_ms()) > 0)
		sbx_session_serve(session, (int)left);
}

void
sbx_docker_close(struct sbx_session *session)
{
	if (session == NULL)
		return;
	if (session->link.up)
		end_running(session);
	sbx_session_disconnect(session);
	sbx_awake_leave(session);
	while (session->running != NULL) {
		struct sbx_docker_running *running = session->running;

		session->running = running->next;
		sbx_running_free(session, running);
	}
	sbx_scoped_close(&session->epoll_fd);
	sbx_scoped_close(&session->wake_fd);
	sbx_scoped_close(&session->pulse_fd);
	sbx_scoped_close(&session->dir_fd);
	sbx_scoped_free(&session->docker.engine);
	sbx_scoped_free(&session->docker.runtime);
	free(session->events);
	free(session);
}

int
sbx_docker_next(struct sbx_session *session, struct sbx_mech_event *event)
{
	int got;

	if (session->event_at == session->event_end)
		sbx_session_serve(session, 0);
	got = session->event_at < session->event_end;
	if (got)
		*event = session->events[session->event_at++];
	sbx_session_settle(session);
	return got;
}
