/*
 * A tool's hold on a live native environment, opened and closed, and the start of its commands; how
 * they end is in end.c.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/scoped.h"
#include "mech/init_proto.h"
#include "mech/native/session.h"
#include "mech/native/storage.h"
#include "mech/native/wire.h"

static int
watch(struct sbx_session *session, int fd, uint32_t events, struct sbx_err *err)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	if (epoll_ctl(session->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
		return sbx_fail_sys(err, SBX_E_INTERNAL, "watch a descriptor");
	return 0;
}

static int
open_groups(struct sbx_session *session, const struct sbx_env_record *record, struct sbx_err *err)
{
	if (record->cgroup_layout == SBX_CGROUP_NONE) {
		session->monitor = sbx_native_monitor_make(record->init_pid,
			record->limits.memory_bytes, err);
		return session->monitor == NULL ?
			-1 :
			watch(session, sbx_native_monitor_fd(session->monitor), EPOLLIN, err);
	}
	if (sbx_cgroup_host_find(record->cgroup_parent, &session->host, err) != 0)
		return -1;
	if (sbx_cgroup_open(&session->host, record->id, &session->groups, err) != 0) {
		sbx_cgroup_host_close(&session->host);
		return -1;
	}
	session->has_groups = 1;
	if (session->groups.memory_fd < 0)
		return 0;
	session->monitor = sbx_native_monitor_make_v1(session->groups.memory_fd,
		record->limits.memory_bytes, err);
	if (session->monitor == NULL)
		return err->code == SBX_OK ? 0 : -1;
	return watch(session, sbx_native_monitor_fd(session->monitor), EPOLLIN, err);
}

/* The socket comes before everything else that may block a later claimer: see cmd/sbx-init/serve.c. */
int
sbx_native_open(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record, struct sbx_session **out, struct sbx_err *err)
{
	struct sbx_session *session = sbx_mem_alloc(1, sizeof(*session));

	(void)host;
	session->init_pid = record->init_pid;
	session->owner = (uid_t)record->uid;
	session->owner_gid = (gid_t)record->gid;
	session->has_mount = sbx_native_storage_is_mount(record);
	session->sock = session->awake_fd = -1;
	session->dir_fd = fcntl(env->dir_fd, F_DUPFD_CLOEXEC, 3);
	session->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (session->epoll_fd < 0 || session->dir_fd < 0) {
		sbx_fail_sys(err, SBX_E_INTERNAL, "make a session's descriptors");
	} else {
		session->sock = sbx_wire_connect(env, err);
		if (session->sock >= 0 && watch(session, session->sock, EPOLLIN, err) == 0 &&
			open_groups(session, record, err) == 0) {
			*out = session;
			return 0;
		}
	}
	sbx_native_close(session);
	return -1;
}

void
sbx_native_forget(struct sbx_native_running *running)
{
	sbx_scoped_close(&running->oom_fd);
	sbx_native_files_end(running);
	if (running->has_group)
		sbx_cgroup_command_release(&running->group);
	free(running);
}

static void
forget_background(struct sbx_session *session, struct sbx_native_running *running)
{
	if (running->background && running->has_group) {
		sbx_cgroup_background_release(&session->groups, &running->group);
		running->has_group = 0;
	}
	sbx_native_forget(running);
}

void
sbx_native_close(struct sbx_session *session)
{
	if (session == NULL)
		return;
	while (session->running != NULL) {
		struct sbx_native_running *running = session->running;

		session->running = running->next;
		if (running->has_group && sbx_cgroup_kill(&running->group) == 0)
			(void)sbx_cgroup_wait_empty(&running->group,
				sbx_clock_mono_us() + SBX_NATIVE_EMPTY_US);
		if (running->files_pid == 0)
			(void)sbx_wire_tell(session->sock, SBX_INIT_DONE, running->id);
		forget_background(session, running);
	}
	sbx_native_background_leave(session);
	if (session->spare != NULL)
		sbx_native_forget(session->spare);
	sbx_scoped_close(&session->sock);
	sbx_scoped_close(&session->dir_fd);
	sbx_native_monitor_free(session->monitor);
	if (session->has_groups) {
		sbx_cgroup_close(&session->groups);
		sbx_cgroup_host_close(&session->host);
	}
	sbx_scoped_close(&session->epoll_fd);
	free(session);
}

int
sbx_native_fd(const struct sbx_session *session)
{
	return session->epoll_fd;
}

static int
claim(struct sbx_session *session, struct sbx_native_running *running, struct sbx_err *err)
{
	if (!session->has_groups)
		return 0;
	if (running->background ? sbx_cgroup_background_claim(&session->groups, session->owner,
					  &running->group, err) != 0 :
				  sbx_cgroup_claim(&session->groups, session->owner,
					  &running->group, err) != 0)
		return -1;
	running->has_group = 1;
	running->oom_fd = sbx_cgroup_oom_watch(&session->groups, &running->group, err);
	if (running->oom_fd < 0)
		return -1;
	/* A file of v2 is always readable: only its event says that something happened. */
	return watch(session, running->oom_fd,
		session->groups.layout == SBX_CGROUP_V2 ? EPOLLPRI : EPOLLIN, err);
}

int
sbx_native_start(struct sbx_session *session, const struct sbx_mech_command *command, uint32_t *id,
	struct sbx_err *err)
{
	SBX_AUTO_BUF message = SBX_BUF_INIT(sizeof(struct sbx_init_request) + SBX_INIT_PAYLOAD_MAX);
	struct sbx_init_request head = {
		.magic = SBX_INIT_MAGIC, .version = SBX_INIT_VERSION, .op = SBX_INIT_EXEC
	};
	int fds[6] = { command->stdin_fd, command->stdout_fd, command->stderr_fd };
	size_t fd_count = 3;
	struct sbx_native_running *running;

	if (sbx_wire_pack(command, &head, &message, err) != 0)
		return -1;
	if (command->background && !session->has_groups)
		return sbx_fail(err, SBX_E_UNAVAILABLE,
			"without control groups no process outlives its command");
	if (sbx_native_background_enter(session, command->background, err) != 0)
		return -1;
	running = command->background ? NULL : sbx_take_ptr(session->spare);
	if (running == NULL) {
		running = sbx_mem_alloc(1, sizeof(*running));
		running->oom_fd = -1;
		running->background = command->background;
		if (claim(session, running, err) != 0) {
			forget_background(session, running);
			return -1;
		}
	}
	running->id = head.id = ++session->last_id;
	if (command->tty != NULL)
		head.flags |= SBX_INIT_TTY;
	if (running->has_group) {
		head.flags |= SBX_INIT_HAS_GROUP;
		fds[fd_count++] = running->group.dir_fd;
		fds[fd_count++] = running->group.kill_fd;
	}
	if (sbx_wire_send(session->sock, &head, &message, fds, fd_count, err) != 0) {
		forget_background(session, running);
		return -1;
	}
	running->next = session->running;
	session->running = running;
	*id = running->id;
	return 0;
}
