/*
 * The link into a container: the engine's `exec -i` of `sbx-init attach`, a child of ours with a
 * pipe for each of its three descriptors, up to the HELLO that comes first over it. Knows nothing
 * of commands.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/scoped.h"
#include "mech/docker/session.h"
#include "mech/tool.h"

#define SLICE_MS 250 /* how late a signal is seen */
#define LAST_WORDS_MS 1000 /* of a command line whose stdout has ended */

/* A pipe of which our end does not block. */
static int
make_pipe(int *ours, int *theirs, int ours_is_read, struct sbx_err *err)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "make a pipe");
	*ours = fds[ours_is_read ? 0 : 1];
	*theirs = fds[ours_is_read ? 1 : 0];
	if (sbx_fd_nonblock(*ours, 1) < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "make a pipe");
	return 0;
}

static int
start(struct sbx_link *link, const struct sbx_restart *restart, struct sbx_err *err)
{
	SBX_AUTO_DOCKER_ARGS args = { .count = 0 };
	SBX_AUTO_FD in = -1;
	SBX_AUTO_FD out = -1;
	SBX_AUTO_FD said = -1;
	struct sbx_child_plan plan = { .keep_fd = -1, .dies_with_us = 1 };

	if (make_pipe(&link->to_fd, &in, 0, err) < 0 ||
		make_pipe(&link->from_fd, &out, 1, err) < 0 ||
		make_pipe(&link->said_fd, &said, 1, err) < 0)
		return -1;
	sbx_docker_args_attach(restart->docker, restart->container, &args);
	plan.argv = args.args;
	plan.stdio[0] = in;
	plan.stdio[1] = out;
	plan.stdio[2] = said;
	if (sbx_child_start(&plan, &link->pid, err) < 0) {
		link->pid = 0;
		if (err->code == SBX_E_NOT_FOUND)
			err->code = SBX_E_UNAVAILABLE; /* it is the engine that is missing */
		return -1;
	}
	sbx_frames_init(&link->frames, link->from_fd, link->to_fd);
	return 0;
}

int
sbx_link_listen(struct sbx_link *link)
{
	char piece[1024];
	ssize_t n;

	do {
		n = read(link->said_fd, piece, sizeof(piece));
		/* Past its cap it is read and dropped. */
		if (n > 0 && link->said.length + (size_t)n <= link->said.cap)
			(void)sbx_buf_add(&link->said, piece, (size_t)n);
	} while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 && errno == EAGAIN ? 0 : -1;
}

void
sbx_link_close(struct sbx_link *link)
{
	int status;

	if (link->pid > 0) {
		(void)sbx_link_listen(link);
		kill(link->pid, SIGKILL);
		while (waitpid(link->pid, &status, 0) < 0 && errno == EINTR)
			continue;
	}
	link->pid = 0;
	if (link->said.length > 0)
		sbx_log(SBX_LOG_WARN, "engine: exec: %.*s", (int)strcspn(link->said.data, "\r\n"),
			link->said.data);
	sbx_buf_done(&link->said);
	sbx_frames_done(&link->frames);
	sbx_scoped_close(&link->to_fd);
	sbx_scoped_close(&link->from_fd);
	sbx_scoped_close(&link->said_fd);
	link->to_fd = link->from_fd = link->said_fd = -1;
	link->up = link->doubted = 0;
}

/* -1 for one of them: it has ended. */
static void
wait_readable(int from_fd, int said_fd)
{
	struct pollfd ready[2] = {
		{ .fd = from_fd, .events = POLLIN },
		{ .fd = said_fd, .events = POLLIN },
	};

	(void)poll(ready, 2, SLICE_MS);
}

/* Its stdout has ended before HELLO: it says why on stderr, and ends. */
static void
last_words(struct sbx_link *link)
{
	int64_t until = sbx_clock_mono_ms() + LAST_WORDS_MS;

	while (sbx_link_listen(link) == 0 && sbx_clock_mono_ms() < until)
		wait_readable(-1, link->said_fd);
}

static int
check_hello(struct sbx_link *link, const struct sbx_frame *frame, struct sbx_err *err)
{
	struct sbx_chan_hello *hello = &link->hello;

	if (frame->head.type != SBX_CHAN_HELLO)
		return sbx_fail(err, SBX_E_UNAVAILABLE,
			"what answers in the container is not sbx-init of this version");
	memcpy(hello, frame->payload, sizeof(*hello));
	hello->what[sizeof(hello->what) - 1] = hello->kernel[sizeof(hello->kernel) - 1] = '\0';
	if (hello->magic != SBX_CHAN_MAGIC || hello->version != SBX_CHAN_VERSION)
		return sbx_fail(err, SBX_E_UNAVAILABLE,
			"what answers in the container is not sbx-init of this version");
	if (hello->stage != 0 || hello->error != 0 || hello->what[0] != '\0') {
		errno = hello->error > 0 ? hello->error : EPERM;
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE,
			"the container's first process is not confined: stage %u, %s", hello->stage,
			hello->what[0] != '\0' ? hello->what : "it could not");
	}
	return 0;
}

/* 0, or -1 with *ended where the command line ended instead: why is in link->said. */
static int
await_hello(struct sbx_link *link, int64_t timeout_ms, int *ended, struct sbx_err *err)
{
	int64_t until = sbx_clock_mono_ms() + timeout_ms;
	int said_fd = link->said_fd;
	struct sbx_frame frame;
	int got;

	do {
		wait_readable(link->from_fd, said_fd);
		if (sbx_tool_deferred())
			return sbx_fail(err, SBX_E_CANCELLED,
				"told to end while the channel opened");
		if (sbx_link_listen(link) < 0)
			said_fd = -1;
		if (sbx_frames_read(&link->frames) < 0) {
			*ended = 1;
			last_words(link);
			return -1;
		}
		got = sbx_frames_next(&link->frames, &frame);
		if (got > 0)
			return check_hello(link, &frame, err);
		if (got < 0)
			return sbx_fail(err, SBX_E_UNAVAILABLE,
				"what answers in the container is not sbx-init of this version");
	} while (sbx_clock_mono_ms() < until);
	return sbx_fail(err, SBX_E_TIMEOUT, "the engine opened no channel in time");
}

/* What the engine complained of, as an error; the raw text is logged when the link is closed. */
static int
complain(const struct sbx_link *link, struct sbx_err *err)
{
	const char *said = sbx_buf_str(&link->said);

	if (strcasestr(said, "resource temporarily unavailable") != NULL ||
		strcasestr(said, "cannot allocate memory") != NULL)
		return sbx_fail(err, SBX_E_BUSY, "the container has no room for one more process");
	if (sbx_docker_code(said) == SBX_E_INTERNAL)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "the engine opened no channel");
	return sbx_fail(err, sbx_docker_code(said), "the engine opened no channel");
}

/* Stopped, or restarted under our feet, which the engine does not always have a word for. */
static int
may_have_stopped(const struct sbx_link *link)
{
	const char *said = sbx_buf_str(&link->said);

	return said[0] == '\0' || strcasestr(said, "not running") != NULL ||
		strcasestr(said, "is restarting") != NULL ||
		strcasestr(said, "container state improper") != NULL;
}

/* Once: 0, or -1 with nothing left, *stopped if starting the container may help. */
static int
try(struct sbx_link *link, const struct sbx_restart *restart, int *stopped, struct sbx_err *err)
{
	int ended = 0;

	sbx_buf_init(&link->said, SBX_LINK_SAID_MAX);
	if (start(link, restart, err) == 0 &&
		await_hello(link, restart->docker->timeout_ms, &ended, err) == 0) {
		link->up = 1;
		return 0;
	}
	*stopped = ended && may_have_stopped(link);
	if (ended)
		complain(link, err);
	sbx_link_close(link);
	return -1;
}

int
sbx_link_open(struct sbx_link *link, const struct sbx_restart *restart, struct sbx_err *err)
{
	struct sbx_err first = { 0 };
	int stopped = 0;

	if (try(link, restart, &stopped, &first) == 0)
		return 0;
	if (stopped)
		return sbx_restart_revive(restart, err) < 0 ? -1 :
							      try(link, restart, &stopped, err);
	if (err != NULL)
		*err = first;
	return -1;
}
