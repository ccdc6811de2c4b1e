/*
 * Start, listen, wait, with a deadline over all three. The complaint is read from a pipe until its
 * end, which also tells that the program is gone, unless it left a child that keeps the pipe: the
 * deadline ends that too. Never goes through a shell.
 */
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/scoped.h"

static int
start(char *const *argv, int said_fd, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int rc = posix_spawn_file_actions_init(&actions);

	if (rc != 0)
		return rc;
	rc = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
	if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO);
	if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(&actions, said_fd, STDERR_FILENO);
	if (rc == 0)
		rc = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

/* To the end of the pipe: 0, or -1 at the deadline. */
static int
listen_to(int fd, int64_t deadline_ms, char *said, size_t size)
{
	char rest[256] = { 0 };
	size_t length = 0;

	for (;;) {
		struct pollfd wait = { .fd = fd, .events = POLLIN };
		int64_t left_ms = deadline_ms - sbx_clock_mono_ms();
		int full = length + 1 >= size;
		ssize_t n;

		if (left_ms <= 0)
			return -1;
		if (poll(&wait, 1, (int)left_ms) <= 0)
			continue;
		n = read(fd, full ? rest : said + length, full ? sizeof(rest) : size - 1 - length);
		if (n == 0)
			return 0;
		if (n > 0 && !full)
			length += (size_t)n;
		said[length] = '\0';
	}
}

int
sbx_spawn_wait(char *const *argv, int timeout_ms, char *said, size_t size)
{
	int64_t deadline_ms = sbx_clock_mono_ms() + timeout_ms;
	SBX_AUTO_FD in = -1;
	SBX_AUTO_FD out = -1;
	int ends[2], status, rc, late;
	pid_t pid;

	said[0] = '\0';
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	in = ends[0];
	out = ends[1];
	rc = start(argv, out, &pid);
	if (rc != 0) {
		errno = rc;
		return -1;
	}
	sbx_scoped_close(&out);
	out = -1;
	late = listen_to(in, deadline_ms, said, size) != 0;
	if (late)
		kill(pid, SIGKILL);
	said[strcspn(said, "\n")] = '\0';
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	if (!late)
		return status;
	errno = ETIMEDOUT;
	return -1;
}
