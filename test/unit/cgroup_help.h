/*
 * What the tests of control groups share: bases of their own, children that are born in a group,
 * and waits that end. Every child kills itself by SIGALRM if it is forgotten.
 */
#ifndef SBX_TEST_CGROUP_HELP_H
#define SBX_TEST_CGROUP_HELP_H

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/cgroup.h"
#include "tap.h"

#define CHILD_SECONDS 20
#define TEST_UID 400000

typedef void child_fn(void);

/* Fork, or with group_fd >= 0 clone into that group; the child joins `tasks` and ends with fn. */
__attribute__((unused)) static pid_t
spawn(int group_fd, const int *tasks, int task_count, child_fn *fn)
{
	struct clone_args args = { .exit_signal = SIGCHLD,
		.flags = group_fd >= 0 ? CLONE_INTO_CGROUP : 0,
		.cgroup = group_fd >= 0 ? (unsigned)group_fd : 0 };
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (pid != 0)
		return pid;
	alarm(CHILD_SECONDS);
	if (sbx_cgroup_join(tasks, task_count) != 0)
		_exit(99);
	/* As exec would: a copy of a claimed directory must not keep its lock. */
	(void)close_range(3, ~0u, 0);
	fn();
	_exit(0);
}

/* The wait status, or -1 after `ms` (then the child is killed and reaped). */
__attribute__((unused)) static int
reap(pid_t pid, int ms)
{
	int pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };
	int status = -1, late;

	if (pidfd < 0)
		return -1;
	late = poll(&ended, 1, ms) != 1;
	if (late)
		kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	close(pidfd);
	return late ? -1 : status;
}

__attribute__((unused)) static int
killed(int status)
{
	return status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

__attribute__((unused)) static int
exited(int status, int code)
{
	return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == code;
}

__attribute__((unused)) static void
child_sleep(void)
{
	for (;;)
		pause();
}

__attribute__((unused)) static void
child_exit_7(void)
{
	_exit(7);
}

/* An attribute's text without its last newline; "" if it cannot be read. */
__attribute__((unused)) static const char *
attr(int dir_fd, const char *name)
{
	static char text[4096];
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (length > 0 && text[length - 1] == '\n')
		length--;
	text[length > 0 ? length : 0] = '\0';
	return text;
}

/* Remove the bases of a host by their last name: 0 if all are gone. The host stays open. */
__attribute__((unused)) static int
remove_bases(const struct sbx_cgroup_host *h, const char *name)
{
	const int bases[4] = { h->unified_fd, h->memory_fd, h->pids_fd, h->cpu_fd };
	int left = 0;

	for (int i = 0; i < 4; i++) {
		int up = bases[i] < 0 ? -1 :
					openat(bases[i], "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (up < 0)
			continue;
		if (unlinkat(up, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
			left++;
		close(up);
	}
	return left;
}

__attribute__((unused)) static int
drop_bases(struct sbx_cgroup_host *h, const char *name)
{
	int left = remove_bases(h, name);

	sbx_cgroup_host_close(h);
	return left;
}

#endif
