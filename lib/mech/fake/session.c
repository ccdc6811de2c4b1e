/*
 * Sessions of the mechanism fake: which command plays which line, and what is told of it when. The
 * children themselves are in play.c.
 *
 * One epoll descriptor stands for the session: it holds the pidfd of each child and an eventfd that
 * is raised while an event waits that no child announces (STARTED, START_FAILED, the EXITED behind
 * an OOM).
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/scoped.h"
#include "mech/fake/fake.h"

#define COMMANDS_MAX 64

enum step {
	FREE = 0,
	TELL_FAILED, /* START_FAILED waits to be told */
	TELL_STARTED,
	RUNNING,
	TELL_EXITED,
	ENDED, /* waits for finish() */
};

struct command {
	enum step step;
	uint32_t id;
	pid_t pid;
	int pidfd; /* -1: none */
	int oom, error, status;
	uint64_t cpu_us;
};

struct sbx_session {
	int epoll_fd, wake_fd;
	uint32_t last_id;
	struct sbx_fake_script script;
	struct command commands[COMMANDS_MAX];
};

static struct command *
find(struct sbx_session *session, uint32_t id)
{
	for (size_t i = 0; i < COMMANDS_MAX; i++)
		if (session->commands[i].step != FREE && session->commands[i].id == id)
			return &session->commands[i];
	return NULL;
}

static void
tell(struct sbx_session *session, struct command *command, enum step step)
{
	const uint64_t one = 1;

	command->step = step;
	/* Cannot fail: the counter of an eventfd holds more than there are commands. */
	if (write(session->wake_fd, &one, sizeof(one)) < 0)
		return;
}

/* Taken out by hand: a child that was just forked may hold a copy for a moment, and then closing
 * would not end the watch. */
static void
unwatch(struct sbx_session *session, struct command *command)
{
	epoll_ctl(session->epoll_fd, EPOLL_CTL_DEL, command->pidfd, NULL);
	close(command->pidfd);
	command->pidfd = -1;
}

/* Kill and wait are certain: it is our child, and SIGKILL is not refused. */
static void
end(struct sbx_session *session, struct command *command)
{
	if (command->pidfd >= 0) {
		pidfd_send_signal(command->pidfd, SIGKILL, NULL, 0);
		while (waitpid(command->pid, NULL, 0) < 0 && errno == EINTR)
			continue;
		unwatch(session, command);
	}
	command->step = FREE;
}

int
sbx_fake_open(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record, struct sbx_session **out, struct sbx_err *err)
{
	SBX_AUTO_BUF text = SBX_BUF_INIT(SBX_FAKE_SCRIPT_MAX);
	struct epoll_event wake = { .events = EPOLLIN, .data.u32 = COMMANDS_MAX };
	struct sbx_session *session;

	(void)host;
	(void)record;
	if (sbx_io_read_file(env->dir_fd, SBX_FAKE_SCRIPT_FILE, &text, err) < 0)
		return -1;
	session = sbx_mem_alloc(1, sizeof(*session));
	session->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	session->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	for (size_t i = 0; i < COMMANDS_MAX; i++)
		session->commands[i].pidfd = -1;
	if (session->epoll_fd < 0 || session->wake_fd < 0 ||
		epoll_ctl(session->epoll_fd, EPOLL_CTL_ADD, session->wake_fd, &wake) < 0) {
		sbx_fail_sys(err, SBX_E_UNAVAILABLE, "event descriptors");
		sbx_fake_close(session);
		return -1;
	}
	if (sbx_fake_script_read(sbx_buf_str(&text), text.length, &session->script, err) < 0) {
		sbx_fake_close(session);
		return -1;
	}
	*out = session;
	return 0;
}

void
sbx_fake_close(struct sbx_session *session)
{
	if (session == NULL)
		return;
	for (size_t i = 0; i < COMMANDS_MAX; i++)
		end(session, &session->commands[i]);
	sbx_scoped_close(&session->epoll_fd);
	sbx_scoped_close(&session->wake_fd);
	sbx_fake_script_done(&session->script);
	free(session);
}

int
sbx_fake_fd(const struct sbx_session *session)
{
	return session->epoll_fd;
}

/* Fork the child and watch it: 0, or an errno and nothing left. */
static int
launch(struct sbx_session *session, struct command *command, const struct sbx_fake_line *line,
	const int fds[3])
{
	struct epoll_event watch = { .events = EPOLLIN,
		.data.u32 = (uint32_t)(command - session->commands) };
	int error;

	command->pid = sbx_fake_play(line, fds);
	if (command->pid < 0)
		return errno;
	command->pidfd = pidfd_open(command->pid, 0);
	if (command->pidfd >= 0 &&
		epoll_ctl(session->epoll_fd, EPOLL_CTL_ADD, command->pidfd, &watch) == 0)
		return 0;
	error = errno;
	kill(command->pid, SIGKILL);
	while (waitpid(command->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	sbx_scoped_close(&command->pidfd);
	command->pidfd = -1;
	return error;
}

int
sbx_fake_start(struct sbx_session *session, const struct sbx_mech_command *asked, uint32_t *id,
	struct sbx_err *err)
{
	const struct sbx_fake_line *line = sbx_fake_script_find(&session->script, asked->argv);
	const int fds[3] = { asked->stdin_fd, asked->stdout_fd, asked->stderr_fd };
	struct command *command = NULL;

	for (size_t i = 0; i < COMMANDS_MAX && command == NULL; i++)
		if (session->commands[i].step == FREE)
			command = &session->commands[i];
	if (command == NULL)
		return sbx_fail(err, SBX_E_BUSY, "%d commands are running already", COMMANDS_MAX);
	*command = (struct command){ .id = ++session->last_id, .pidfd = -1 };
	*id = command->id;
	/* A program that the script does not know is one that is missing. */
	command->error = line != NULL ? launch(session, command, line, fds) : ENOENT;
	command->oom = line != NULL && line->oom;
	tell(session, command, command->error != 0 ? TELL_FAILED : TELL_STARTED);
	return 0;
}

/* What waits to be told of one command, as an event; 0 if nothing does. */
static int
told(struct command *command, struct sbx_mech_event *event)
{
	event->id = command->id;
	switch (command->step) {
	case TELL_FAILED:
		event->kind = SBX_EVENT_START_FAILED;
		event->error = command->error;
		snprintf(event->stage, sizeof(event->stage), "%s",
			command->error == ENOENT ? "execve" : "fork");
		command->step = ENDED;
		return 1;
	case TELL_STARTED:
		event->kind = SBX_EVENT_STARTED;
		command->step = RUNNING;
		return 1;
	case TELL_EXITED:
		event->kind = SBX_EVENT_EXITED;
		event->status = command->status;
		command->step = ENDED;
		return 1;
	case FREE:
	case RUNNING:
	case ENDED:
		return 0;
	}
	return 0;
}

static uint64_t
microseconds(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000 + (uint64_t)time->tv_usec;
}

/* A child ended: take its status and its processor time. */
static void
reap(struct sbx_session *session, struct command *command, struct sbx_mech_event *event)
{
	struct rusage usage;

	event->id = command->id;
	if (wait4(command->pid, &command->status, 0, &usage) < 0) {
		/* Somebody else took the status: it is lost, and never a success. */
		event->kind = SBX_EVENT_LOST;
		event->id = 0;
		command->step = ENDED;
	} else {
		command->cpu_us = microseconds(&usage.ru_utime) + microseconds(&usage.ru_stime);
		event->kind = SBX_EVENT_EXITED;
		event->status = command->status;
		command->step = ENDED;
		if (command->oom) {
			event->kind = SBX_EVENT_OOM;
			tell(session, command, TELL_EXITED);
		}
	}
	unwatch(session, command);
}

int
sbx_fake_next(struct sbx_session *session, struct sbx_mech_event *event)
{
	struct epoll_event ready;
	uint64_t count;

	memset(event, 0, sizeof(*event));
	for (size_t i = 0; i < COMMANDS_MAX; i++)
		if (told(&session->commands[i], event))
			return 1;
	if (read(session->wake_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return 0;
	if (epoll_wait(session->epoll_fd, &ready, 1, 0) < 1 || ready.data.u32 >= COMMANDS_MAX)
		return 0; /* nothing, or raised again meanwhile: then it is readable, too */
	reap(session, &session->commands[ready.data.u32], event);
	return 1;
}

/* Its play is one process. */
int
sbx_fake_signal(struct sbx_session *session, uint32_t id, int signo, struct sbx_err *err)
{
	const struct command *command = find(session, id);

	if (command == NULL)
		return sbx_fail(err, SBX_E_NOT_FOUND, "no command %u", id);
	if (command->pidfd < 0)
		return 0; /* ended already */
	if (pidfd_send_signal(command->pidfd, signo, NULL, 0) < 0 && errno != ESRCH)
		return sbx_fail_sys(err, SBX_E_INTERNAL, "signal command %u", id);
	return 0;
}

int
sbx_fake_kill(struct sbx_session *session, uint32_t id, int *restarted, struct sbx_err *err)
{
	struct command *command = find(session, id);

	*restarted = 0;
	if (command == NULL)
		return sbx_fail(err, SBX_E_NOT_FOUND, "no command %u", id);
	if (command->pidfd < 0)
		return 0; /* ended already */
	command->oom = 0; /* killed before its memory could run out */
	if (pidfd_send_signal(command->pidfd, SIGKILL, NULL, 0) < 0 && errno != ESRCH)
		return sbx_fail_sys(err, SBX_E_INTERNAL, "kill command %u", id);
	return 0;
}

int
sbx_fake_finish(struct sbx_session *session, uint32_t id, struct sbx_mech_usage *usage,
	struct sbx_err *err)
{
	struct command *command = find(session, id);

	if (command == NULL)
		return sbx_fail(err, SBX_E_NOT_FOUND, "no command %u", id);
	*usage = (struct sbx_mech_usage){
		.cpu_us = command->cpu_us, .exact = 1, .oom_kills = (uint64_t)command->oom
	};
	end(session, command);
	return 0;
}
