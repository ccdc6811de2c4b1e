/*
 * A tool's hold on a live native environment: the control socket of pid 1, and for each command a
 * claimed control group through which it is killed and measured from outside, whatever happens
 * inside. Never waits for pid 1: it may be slow or dead, and timers must fire all the same.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/scoped.h"
#include "mech/init_proto.h"
#include "mech/native.h"
#include "mech/native_monitor.h"

#define EMPTY_WAIT_US (2 * 1000 * 1000)

struct running {
	struct running *next;
	uint32_t id;
	int has_group, oom_fd, oom_told;
	int pids_full; /* when it was killed */
	struct sbx_cgroup_command group;
	uint64_t waited_cpu_us; /* as pid 1 saw it; for hosts without groups */
};

struct sbx_session {
	int epoll_fd, sock;
	int has_groups, lost;
	uid_t owner;
	uint32_t last_id;
	struct sbx_cgroup_host host;
	struct sbx_cgroup groups;
	struct sbx_native_monitor *monitor; /* NULL where groups enforce memory */
	struct running *running;
	struct running *spare; /* ended, its group kept for the next command; or NULL */
};

static int
connect_init(const struct sbx_env *env, struct sbx_err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	SBX_AUTO_FD sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (sock < 0)
		return sbx_fail_sys(err, SBX_E_INTERNAL, "make a socket");
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/init.sock",
		env->dir_fd);
	if (connect(sock, (struct sockaddr *)&address, sizeof(address)) != 0) {
		if (errno == EAGAIN)
			return sbx_fail(err, SBX_E_BUSY, "environment %s: pid 1 is busy", env->id);
		if (errno == ECONNREFUSED || errno == ENOENT)
			return sbx_fail(err, SBX_E_UNAVAILABLE,
				"environment %s: its first process is not running", env->id);
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "environment %s: connect to pid 1",
			env->id);
	}
	return sbx_take_fd(&sock);
}

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
	if (sbx_cgroup_host_open(record->cgroup_parent, &session->host, err) != 0)
		return -1;
	if (sbx_cgroup_open(&session->host, record->id, &session->groups, err) != 0) {
		sbx_cgroup_host_close(&session->host);
		return -1;
	}
	session->has_groups = 1;
	return 0;
}

/* The socket comes before everything else that may block a later claimer: see cmd/sbx-init/serve.c. */
int
sbx_native_open(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record, struct sbx_session **out, struct sbx_err *err)
{
	struct sbx_session *session = sbx_mem_alloc(1, sizeof(*session));

	(void)host;
	session->owner = (uid_t)record->uid;
	session->sock = -1;
	session->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (session->epoll_fd < 0) {
		sbx_fail_sys(err, SBX_E_INTERNAL, "make an epoll");
	} else {
		session->sock = connect_init(env, err);
		if (session->sock >= 0 && watch(session, session->sock, EPOLLIN, err) == 0 &&
			open_groups(session, record, err) == 0) {
			*out = session;
			return 0;
		}
	}
	sbx_native_close(session);
	return -1;
}

static void
forget(struct running *running)
{
	sbx_scoped_close(&running->oom_fd);
	if (running->has_group)
		sbx_cgroup_command_release(&running->group);
	free(running);
}

/* A short request without descriptors. */
static int
tell(struct sbx_session *session, enum sbx_init_op op, uint32_t id)
{
	struct sbx_init_request request = { .magic = SBX_INIT_MAGIC, .version = SBX_INIT_VERSION,
		.op = (uint16_t)op, .id = id };

	return sbx_fd_send(session->sock, &request, sizeof(request), NULL, 0) < 0 ? -1 : 0;
}

void
sbx_native_close(struct sbx_session *session)
{
	if (session == NULL)
		return;
	while (session->running != NULL) {
		struct running *running = session->running;

		session->running = running->next;
		if (running->has_group && sbx_cgroup_kill(&running->group) == 0)
			(void)sbx_cgroup_wait_empty(&running->group,
				sbx_clock_mono_us() + EMPTY_WAIT_US);
		(void)tell(session, SBX_INIT_DONE, running->id);
		forget(running);
	}
	if (session->spare != NULL)
		forget(session->spare);
	sbx_scoped_close(&session->sock);
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

static struct running *
find(const struct sbx_session *session, uint32_t id)
{
	struct running *running = session->running;

	while (running != NULL && running->id != id)
		running = running->next;
	return running;
}

/* cwd, argv, env, each with its NUL, as mech/init_proto.h has it. */
static int
pack(const struct sbx_mech_command *command, struct sbx_init_request *head, struct sbx_buf *payload,
	struct sbx_err *err)
{
	const char *cwd = command->cwd != NULL ? command->cwd : "";

	sbx_buf_add(payload, cwd, strlen(cwd) + 1);
	for (char *const *arg = command->argv; *arg != NULL; arg++, head->argc++)
		sbx_buf_add(payload, *arg, strlen(*arg) + 1);
	for (char *const *var = command->envp; *var != NULL; var++, head->envc++)
		sbx_buf_add(payload, *var, strlen(*var) + 1);
	if (head->argc + head->envc > SBX_INIT_STRINGS_MAX)
		return sbx_fail(err, SBX_E_TOO_LARGE, "more than %d arguments and variables",
			SBX_INIT_STRINGS_MAX);
	head->payload_bytes = (uint32_t)payload->length;
	return sbx_buf_check(payload, "the command", err);
}

static int
send_exec(struct sbx_session *session, struct sbx_init_request *head, const struct sbx_buf *payload,
	int *fds, size_t fd_count, struct sbx_err *err)
{
	char message[sizeof(*head) + SBX_INIT_INLINE_MAX];
	size_t length = sizeof(*head);
	SBX_AUTO_FD memfd = -1;

	if (payload->length > SBX_INIT_INLINE_MAX) {
		memfd = sbx_fd_sealed("sbx-request", payload->data, payload->length);
		if (memfd < 0)
			return sbx_fail_sys(err, SBX_E_INTERNAL, "make a memfd");
		head->flags |= SBX_INIT_IN_MEMFD;
		fds[fd_count++] = memfd;
	} else {
		memcpy(message + length, payload->data, payload->length);
		length += payload->length;
	}
	memcpy(message, head, sizeof(*head));
	if (sbx_fd_send(session->sock, message, length, fds, fd_count) < 0) {
		if (errno == EAGAIN)
			return sbx_fail(err, SBX_E_BUSY, "pid 1 does not keep up");
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "talk to pid 1");
	}
	return 0;
}

static int
claim(struct sbx_session *session, struct running *running, struct sbx_err *err)
{
	if (!session->has_groups)
		return 0;
	if (sbx_cgroup_claim(&session->groups, session->owner, &running->group, err) != 0)
		return -1;
	running->has_group = 1;
	running->oom_fd = sbx_cgroup_oom_watch(&session->groups, &running->group, err);
	if (running->oom_fd < 0)
		return -1;
	return watch(session, running->oom_fd, EPOLLIN | EPOLLPRI, err);
}

int
sbx_native_start(struct sbx_session *session, const struct sbx_mech_command *command, uint32_t *id,
	struct sbx_err *err)
{
	SBX_AUTO_BUF payload = SBX_BUF_INIT(SBX_INIT_PAYLOAD_MAX);
	struct sbx_init_request head = { .magic = SBX_INIT_MAGIC, .version = SBX_INIT_VERSION,
		.op = SBX_INIT_EXEC };
	int fds[6] = { command->stdin_fd, command->stdout_fd, command->stderr_fd };
	size_t fd_count = 3;
	struct running *running;

	if (pack(command, &head, &payload, err) != 0)
		return -1;
	running = sbx_take_ptr(session->spare);
	if (running == NULL) {
		running = sbx_mem_alloc(1, sizeof(*running));
		running->oom_fd = -1;
		if (claim(session, running, err) != 0) {
			forget(running);
			return -1;
		}
	}
	running->id = head.id = ++session->last_id;
	if (running->has_group) {
		head.flags |= SBX_INIT_HAS_GROUP;
		fds[fd_count++] = running->group.dir_fd;
		fds[fd_count++] = running->group.kill_fd;
	}
	if (send_exec(session, &head, &payload, fds, fd_count, err) != 0) {
		forget(running);
		return -1;
	}
	running->next = session->running;
	session->running = running;
	*id = running->id;
	return 0;
}

/* An answer about a command of ours as an event; 0 for one that tells the caller nothing. */
static int
translate(struct running *running, const struct sbx_init_reply *reply,
	struct sbx_mech_event *event)
{
	static const char *const stages[SBX_STAGE_COUNT] = { "request", "clone", "setsid", "stdio",
		"signals", "chdir", "landlock", "seccomp", "execve" };

	if (running == NULL)
		return 0;
	*event = (struct sbx_mech_event){ .id = reply->id, .status = reply->status };
	switch ((enum sbx_init_answer)reply->answer) {
	case SBX_INIT_STARTED:
		event->kind = SBX_EVENT_STARTED;
		break;
	case SBX_INIT_FAILED:
		event->kind = SBX_EVENT_START_FAILED;
		event->error = reply->error;
		snprintf(event->stage, sizeof(event->stage), "%s",
			reply->stage < SBX_STAGE_COUNT ? stages[reply->stage] : "?");
		break;
	case SBX_INIT_EXITED:
		event->kind = SBX_EVENT_EXITED;
		running->waited_cpu_us = reply->cpu_us;
		break;
	case SBX_INIT_ENDED:
		event->kind = SBX_EVENT_RESTARTED;
		break;
	case SBX_INIT_KILLED:
	case SBX_INIT_PONG:
		return 0;
	}
	return event->kind != 0;
}

/* The memory limit struck: told once for each command; the caller kills the rest. */
static int
next_oom(struct sbx_session *session, struct sbx_mech_event *event)
{
	struct running *running;
	struct epoll_event ready[8];
	int n = epoll_wait(session->epoll_fd, ready, 8, 0);

	for (int i = 0; i < n; i++) {
		if (session->monitor != NULL &&
			ready[i].data.fd == sbx_native_monitor_fd(session->monitor)) {
			if (sbx_native_monitor_check(session->monitor) && session->running != NULL &&
				!session->running->oom_told) {
				session->running->oom_told = 1;
				*event = (struct sbx_mech_event){ .kind = SBX_EVENT_OOM,
					.id = session->running->id };
				return 1;
			}
			continue;
		}
		/* Late word of a command that ended: its group is not for another one. */
		if (session->spare != NULL && session->spare->oom_fd == ready[i].data.fd)
			forget(sbx_take_ptr(session->spare));
		for (running = session->running; running != NULL; running = running->next) {
			if (running->oom_fd != ready[i].data.fd || running->oom_told)
				continue;
			running->oom_told = 1;
			epoll_ctl(session->epoll_fd, EPOLL_CTL_DEL, running->oom_fd, NULL);
			*event = (struct sbx_mech_event){ .kind = SBX_EVENT_OOM, .id = running->id };
			return 1;
		}
	}
	return 0;
}

int
sbx_native_next(struct sbx_session *session, struct sbx_mech_event *event)
{
	struct sbx_init_reply reply;

	while (!session->lost) {
		ssize_t n = recv(session->sock, &reply, sizeof(reply), MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return next_oom(session, event);
		if (n != (ssize_t)sizeof(reply) || reply.magic != SBX_INIT_MAGIC ||
			reply.version != SBX_INIT_VERSION)
			break;
		if (translate(find(session, reply.id), &reply, event))
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
sbx_native_kill(struct sbx_session *session, uint32_t id, int *restarted, struct sbx_err *err)
{
	struct running *running = find(session, id);

	if (running == NULL)
		return sbx_fail(err, SBX_E_NOT_FOUND, "no command %u", id);
	if (running->has_group) {
		running->pids_full = sbx_cgroup_pids_full(&session->groups, 0);
		if (sbx_cgroup_kill(&running->group) != 0)
			return sbx_fail_sys(err, SBX_E_INTERNAL, "kill the command's group");
		return 0;
	}
	*restarted = 1;
	if (tell(session, SBX_INIT_KILL, 0) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "talk to pid 1");
	return 0;
}

static int
finish_group(struct sbx_session *session, struct running *running, struct sbx_mech_usage *usage,
	struct sbx_err *err)
{
	struct sbx_cgroup_usage figures = { 0 };
	int full = running->pids_full;

	if (sbx_cgroup_populated(&running->group) == 1) {
		usage->left_over = 1;
		full |= sbx_cgroup_pids_full(&session->groups, 0);
		if (sbx_cgroup_kill(&running->group) != 0)
			return sbx_fail_sys(err, SBX_E_INTERNAL, "kill the command's group");
		if (sbx_cgroup_wait_empty(&running->group,
			    sbx_clock_mono_us() + EMPTY_WAIT_US) != 1)
			return sbx_fail(err, SBX_E_BUSY, "processes of the command do not die");
	}
	if (sbx_cgroup_usage(&session->groups, &running->group, &figures, err) != 0)
		return -1;
	usage->cpu_us = figures.cpu_us;
	usage->peak_memory_bytes = figures.peak_memory_bytes;
	usage->oom_kills = figures.oom_kills;
	usage->pids_hits = figures.pids_hits + (figures.pids_hits == 0 && full);
	usage->exact = figures.exact;
	usage->has_memory = 1;
	return 0;
}

/* The next command of this session may have the group, as long as nothing was killed in it. */
static void
keep_or_forget(struct sbx_session *session, struct running *running, int rc)
{
	if (rc == 0 && session->spare == NULL && running->has_group && !running->oom_told &&
		sbx_cgroup_rearm(&session->groups, &running->group)) {
		running->next = NULL;
		session->spare = running;
		return;
	}
	forget(running);
}

int
sbx_native_finish(struct sbx_session *session, uint32_t id, struct sbx_mech_usage *usage,
	struct sbx_err *err)
{
	struct running **at = &session->running;
	struct running *running;
	int rc = 0;

	*usage = (struct sbx_mech_usage){ 0 };
	while (*at != NULL && (*at)->id != id)
		at = &(*at)->next;
	running = *at;
	if (running == NULL)
		return sbx_fail(err, SBX_E_NOT_FOUND, "no command %u", id);
	*at = running->next;
	if (running->has_group) {
		rc = finish_group(session, running, usage, err);
	} else {
		usage->cpu_us = running->waited_cpu_us;
		usage->peak_memory_bytes = sbx_native_monitor_peak(session->monitor);
		usage->has_memory = usage->peak_memory_bytes != 0;
	}
	/* A pid 1 that is gone needs no word. */
	(void)tell(session, SBX_INIT_DONE, id);
	keep_or_forget(session, running, rc);
	return rc;
}
