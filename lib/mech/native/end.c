/*
 * How commands of a session end: what pid 1 and the kernel say of them, the kill, and the last
 * accounts. Killing and measuring go through the command's control group, from outside, whatever
 * happens inside; pid 1 may be slow or dead, so nothing here waits for it.
 */
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/scoped.h"
#include "mech/native/session.h"
#include "mech/native/wire.h"

static struct sbx_native_running *
find(const struct sbx_session *session, uint32_t id)
{
	struct sbx_native_running *running = session->running;

	while (running != NULL && running->id != id)
		running = running->next;
	return running;
}

/* The newest command, once: its kill makes room, and more is told when that is not enough. */
static int
tell_oom(struct sbx_session *session, struct sbx_mech_event *event)
{
	struct sbx_native_running *running = session->running;

	while (running != NULL && running->files_pid != 0)
		running = running->next;
	if (running == NULL || running->oom_told)
		return 0;
	running->oom_told = 1;
	*event = (struct sbx_mech_event){ .kind = SBX_EVENT_OOM, .id = running->id };
	return 1;
}

/* The memory limit struck: told once for each command; the caller kills the rest. */
static int
next_oom(struct sbx_session *session, struct sbx_mech_event *event)
{
	struct sbx_native_running *running;
	struct epoll_event ready[8];
	int n = epoll_wait(session->epoll_fd, ready, 8, 0);

	for (int i = 0; i < n; i++) {
		if (session->monitor != NULL &&
			ready[i].data.fd == sbx_native_monitor_fd(session->monitor)) {
			if (sbx_native_monitor_check(session->monitor) && tell_oom(session, event))
				return 1;
			continue;
		}
		if (sbx_native_files_event(session, ready[i].data.fd, event))
			return 1;
		/* Late word of a command that ended: its group is not for another one. */
		if (session->spare != NULL && session->spare->oom_fd == ready[i].data.fd)
			sbx_native_forget(sbx_take_ptr(session->spare));
		for (running = session->running; running != NULL; running = running->next) {
			if (running->oom_fd != ready[i].data.fd || running->oom_told)
				continue;
			running->oom_told = 1;
			epoll_ctl(session->epoll_fd, EPOLL_CTL_DEL, running->oom_fd, NULL);
			*event = (struct sbx_mech_event){ .kind = SBX_EVENT_OOM,
				.id = running->id };
			return 1;
		}
	}
	return 0;
}

int
sbx_native_next(struct sbx_session *session, struct sbx_mech_event *event)
{
	struct sbx_init_reply reply;
	struct sbx_native_running *running;

	while (!session->lost) {
		ssize_t n = recv(session->sock, &reply, sizeof(reply), MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return next_oom(session, event);
		if (n != (ssize_t)sizeof(reply) || reply.magic != SBX_INIT_MAGIC ||
			reply.version != SBX_INIT_VERSION)
			break;
		running = find(session, reply.id);
		if (running == NULL || !sbx_wire_event(&reply, event))
			continue;
		if (event->kind == SBX_EVENT_EXITED)
			running->waited_cpu_us = reply.cpu_us;
		return 1;
	}
	if (session->lost)
		return 0;
	session->lost = 1;
	epoll_ctl(session->epoll_fd, EPOLL_CTL_DEL, session->sock, NULL);
	*event = (struct sbx_mech_event){ .kind = SBX_EVENT_LOST };
	return 1;
}

int
sbx_native_signal(struct sbx_session *session, uint32_t id, int signo, struct sbx_err *err)
{
	const struct sbx_native_running *running = find(session, id);

	if (running == NULL || running->files_pid != 0)
		return sbx_fail(err, SBX_E_NOT_FOUND, "no command %u", id);
	if (sbx_wire_signal(session->sock, id, signo) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "talk to pid 1");
	return 0;
}

int
sbx_native_kill(struct sbx_session *session, uint32_t id, int *restarted, struct sbx_err *err)
{
	struct sbx_native_running *running = find(session, id);

	if (running == NULL)
		return sbx_fail(err, SBX_E_NOT_FOUND, "no command %u", id);
	if (running->files_pid != 0) {
		if (running->files_pid > 0 && kill(running->files_pid, SIGKILL) != 0)
			return sbx_fail_sys(err, SBX_E_INTERNAL, "end the reader of the workspace");
		return 0;
	}
	if (running->has_group) {
		running->pids_full = sbx_cgroup_pids_full(&session->groups);
		if (sbx_cgroup_kill(&running->group) != 0)
			return sbx_fail_sys(err, SBX_E_INTERNAL, "kill the command's group");
		return 0;
	}
	*restarted = 1;
	if (sbx_wire_tell(session->sock, SBX_INIT_KILL, 0) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "talk to pid 1");
	return 0;
}

static int
finish_group(struct sbx_session *session, struct sbx_native_running *running,
	struct sbx_mech_usage *usage, struct sbx_err *err)
{
	struct sbx_cgroup_usage figures = { 0 };
	int full = running->pids_full;

	if (running->background && !running->group.killed) {
		usage->stays = sbx_cgroup_populated(&running->group) == 1;
		usage->background = running->group.number;
	} else if (sbx_cgroup_populated(&running->group) == 1) {
		usage->left_over = 1;
		full |= sbx_cgroup_pids_full(&session->groups);
		if (sbx_cgroup_kill(&running->group) != 0)
			return sbx_fail_sys(err, SBX_E_INTERNAL, "kill the command's group");
		if (sbx_cgroup_wait_empty(&running->group,
			    sbx_clock_mono_us() + SBX_NATIVE_EMPTY_US) != 1)
			return sbx_fail(err, SBX_E_BUSY, "processes of the command do not die");
	}
	if (sbx_cgroup_usage(&session->groups, &running->group, &figures, err) != 0)
		return -1;
	usage->cpu_us = figures.cpu_us;
	usage->peak_memory_bytes = figures.peak_memory_bytes;
	usage->oom_kills = figures.oom_kills;
	usage->pids_hits = figures.pids_hits + (figures.pids_hits == 0 && full);
	usage->exact = figures.exact && session->awake_fd < 0; /* who is awake uses some, too */
	usage->has_memory = 1;
	return 0;
}

static int
runs_commands(const struct sbx_session *session)
{
	const struct sbx_native_running *running = session->running;

	while (running != NULL && running->files_pid != 0)
		running = running->next;
	return running != NULL;
}

/* The next command of this session may have the group, as long as nothing was killed in it. */
static void
keep_or_forget(struct sbx_session *session, struct sbx_native_running *running, int rc)
{
	if (rc == 0 && session->spare == NULL && running->has_group && !running->oom_told &&
		sbx_cgroup_rearm(&session->groups, &running->group)) {
		running->next = NULL;
		session->spare = running;
		return;
	}
	sbx_native_forget(running);
}

int
sbx_native_finish(struct sbx_session *session, uint32_t id, struct sbx_mech_usage *usage,
	struct sbx_err *err)
{
	struct sbx_native_running **at = &session->running;
	struct sbx_native_running *running;
	int rc = 0;

	*usage = (struct sbx_mech_usage){ 0 };
	while (*at != NULL && (*at)->id != id)
		at = &(*at)->next;
	running = *at;
	if (running == NULL)
		return sbx_fail(err, SBX_E_NOT_FOUND, "no command %u", id);
	*at = running->next;
	if (running->files_pid != 0) {
		sbx_native_forget(running);
		return 0;
	}
	if (running->has_group) {
		rc = finish_group(session, running, usage, err);
	} else {
		usage->cpu_us = running->waited_cpu_us;
		usage->peak_memory_bytes = sbx_native_monitor_peak(session->monitor);
		usage->has_memory = usage->peak_memory_bytes != 0;
	}
	/* A pid 1 that is gone needs no word. */
	(void)sbx_wire_tell(session->sock, SBX_INIT_DONE, id);
	if (running->background && running->has_group) {
		sbx_cgroup_background_release(&session->groups, &running->group);
		running->has_group = 0;
	}
	keep_or_forget(session, running, rc);
	if (!runs_commands(session))
		sbx_native_background_leave(session);
	return rc;
}
