/*
 * Feed, listen, wait, with one deadline over all three. The child is watched by a pidfd and not by
 * its pipes, so that a grandchild that keeps them open keeps nobody; one that is killed goes with
 * all of its process group.
 */
#include "base/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scoped.h"

#define SLICE_MS 250 /* between two questions to stop() */
#define CHUNK 65536

/* Our ends of its pipes; -1 when closed or never wanted. */
struct talk {
	const struct sbx_child_talk *want;
	const char *name;
	pid_t pid;
	int pidfd, input, out, said;
	size_t fed;
	int64_t deadline_ms;
};

static void
shut(int *fd)
{
	sbx_scoped_close(fd);
	*fd = -1;
}

static void
feed(struct talk *talk)
{
	const struct sbx_child_talk *want = talk->want;
	ssize_t n = write(talk->input, want->input + talk->fed, want->input_bytes - talk->fed);

	if (n > 0)
		talk->fed += (size_t)n;
	/* One that reads no more than it wants is not wrong. */
	if ((n < 0 && errno != EAGAIN && errno != EINTR) || talk->fed == want->input_bytes)
		shut(&talk->input);
}

/* What is there now; the descriptor is closed at the end of file. -1: past the cap of `to`. */
static int
take(int *fd, struct sbx_buf *to, int cut)
{
	char chunk[CHUNK];
	ssize_t n;

	while (*fd >= 0) {
		size_t length;

		n = read(*fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0) {
			shut(fd);
			return 0;
		}
		length = (size_t)n;
		if (cut && length > to->cap - to->length)
			length = to->cap - to->length;
		if (sbx_buf_add(to, chunk, length) < 0)
			return -1;
	}
	return 0;
}

static int
take_all(struct talk *talk, struct sbx_err *err)
{
	(void)take(&talk->said, talk->want->said, 1);
	if (take(&talk->out, talk->want->out, 0) < 0)
		return sbx_fail(err, SBX_E_TOO_LARGE, "%s says more than %zu bytes", talk->name,
			talk->want->out->cap);
	return 0;
}

/* Until it is gone: 0, or -1 where it has to be killed. */
static int
attend(struct talk *talk, struct sbx_err *err)
{
	for (;;) {
		struct pollfd fds[4] = {
			{ .fd = talk->pidfd, .events = POLLIN },
			{ .fd = talk->input, .events = POLLOUT },
			{ .fd = talk->out, .events = POLLIN },
			{ .fd = talk->said, .events = POLLIN },
		};
		int64_t left_ms = talk->deadline_ms - sbx_clock_mono_ms();

		if (talk->want->stop != NULL && talk->want->stop())
			return sbx_fail(err, SBX_E_CANCELLED, "ended by a signal");
		if (left_ms <= 0)
			return sbx_fail(err, SBX_E_TIMEOUT, "%s did not end within %lld ms",
				talk->name, (long long)talk->want->timeout_ms);
		if (poll(fds, 4, left_ms < SLICE_MS ? (int)left_ms : SLICE_MS) < 0 &&
			errno != EINTR)
			return sbx_fail_sys(err, SBX_E_INTERNAL, "wait for %s", talk->name);
		if (fds[1].revents != 0)
			feed(talk);
		/* Looked at before what it said, so that nothing is said after the last look. */
		if (take_all(talk, err) < 0)
			return -1;
		if (fds[0].revents != 0)
			return 0;
	}
}

/* The child's end of the pipe in *theirs, ours without blocking in *ours; neither if not wanted. */
static int
make_pipe(int wanted, int child_reads, int *ours, int *theirs)
{
	int ends[2];

	if (!wanted)
		return 0;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	*theirs = ends[child_reads ? 0 : 1];
	*ours = ends[child_reads ? 1 : 0];
	return sbx_fd_nonblock(*ours, 1);
}

static int
start_talk(char *const *argv, struct talk *talk, struct sbx_err *err)
{
	const struct sbx_child_talk *want = talk->want;
	struct sbx_child_plan plan = {
		.argv = argv, .stdio = { -1, -1, -1 }, .keep_fd = want->keep_fd
	};
	int rc = 0;

	if (make_pipe(want->input != NULL, 1, &talk->input, &plan.stdio[0]) != 0 ||
		make_pipe(want->out != NULL, 0, &talk->out, &plan.stdio[1]) != 0 ||
		make_pipe(want->said != NULL, 0, &talk->said, &plan.stdio[2]) != 0)
		rc = sbx_fail_sys(err, SBX_E_INTERNAL, "make a pipe");
	if (rc == 0)
		rc = sbx_child_start(&plan, &talk->pid, err);
	for (int i = 0; i < 3; i++)
		sbx_scoped_close(&plan.stdio[i]);
	if (rc != 0)
		return -1;
	talk->pidfd = (int)syscall(SYS_pidfd_open, talk->pid, 0);
	if (talk->pidfd < 0)
		return sbx_fail_sys(err, SBX_E_INTERNAL, "watch %s", talk->name);
	return 0;
}

static int
wait_for(pid_t pid, int *status)
{
	while (waitpid(pid, status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return 0;
}

int
sbx_child_talk(char *const *argv, const struct sbx_child_talk *want, int *status,
	struct sbx_err *err)
{
	struct talk talk = { .want = want,
		.name = argv[0],
		.pid = -1,
		.pidfd = -1,
		.input = -1,
		.out = -1,
		.said = -1,
		.deadline_ms = sbx_clock_mono_ms() + want->timeout_ms };
	int rc = start_talk(argv, &talk, err);

	if (rc == 0)
		rc = attend(&talk, err);
	/* With its children: none of them may go on with what was given up. */
	if (rc != 0 && talk.pid > 0)
		kill(-talk.pid, SIGKILL);
	if (talk.pid > 0 && wait_for(talk.pid, status) != 0)
		rc = sbx_fail_sys(err, SBX_E_INTERNAL, "wait for %s", talk.name);
	sbx_scoped_close(&talk.input);
	sbx_scoped_close(&talk.out);
	sbx_scoped_close(&talk.said);
	sbx_scoped_close(&talk.pidfd);
	return rc;
}
