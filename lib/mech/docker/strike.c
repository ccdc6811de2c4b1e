/*
 * A gVisor sandbox ended by its process and not by the engine's command line.
 *
 * While containerd's shim (seen in 1.6.20) lets runsc end a sandbox, it holds a lock that it needs
 * itself for each process that dies; with more than 32 of them the end of runsc waits behind them,
 * a second for each. gVisor's ptrace platform keeps a process for each that it ever had at once, so
 * that after a fork bomb the engine stands still for minutes. A sandbox that simply dies takes no
 * lock.
 *
 * The engine says which process it is, the process that it is this container's: another is not
 * touched (an engine that runs elsewhere, one that we may not signal), and the engine's own way
 * follows.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/num.h"
#include "base/scoped.h"
#include "mech/docker/docker.h"

#define ID_BYTES 64
#define CMDLINE_MAX 8192
#define DEAD_MS 5000
#define SETTLE_TRIES 100
#define SETTLE_NS (50 * 1000 * 1000)

void
sbx_docker_args_process(const struct sbx_docker *docker, const char *container,
	struct sbx_docker_args *args)
{
	const char *const words[] = { docker->engine, "inspect", "--type=container",
		"--format={{.State.Pid}} {{.ID}}", container };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		sbx_docker_args_add(args, "%s", words[i]);
}

/* "<pid> <id>" as the engine says it: the pid, 0 where nothing runs; -1 where it says nothing. */
static int64_t
ask(const struct sbx_docker *docker, const char *container, char id[ID_BYTES + 1])
{
	SBX_AUTO_DOCKER_ARGS args = { .count = 0 };
	SBX_AUTO_BUF said = SBX_BUF_INIT(256);
	struct sbx_docker quiet = *docker;
	struct sbx_err err = { 0 };
	const char *blank;
	char digits[16];
	uint64_t pid;

	quiet.quiet = 1;
	sbx_docker_args_process(docker, container, &args);
	if (sbx_docker_call(&quiet, &args, NULL, 0, &said, &err) < 0)
		return -1;
	blank = strchr(sbx_buf_str(&said), ' ');
	if (blank == NULL || strlen(blank + 1) != ID_BYTES ||
		blank - said.data >= (ptrdiff_t)sizeof(digits))
		return -1;
	snprintf(digits, sizeof(digits), "%.*s", (int)(blank - said.data), said.data);
	memcpy(id, blank + 1, ID_BYTES + 1);
	return sbx_num_u64(digits, 0, INT32_MAX, "pid", &pid, NULL) < 0 ? -1 : (int64_t)pid;
}

/* Whether the process is a sandbox of this container: runsc names both in its arguments. */
static int
is_sandbox(pid_t pid, const char *id)
{
	char path[32], line[CMDLINE_MAX];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	length = sbx_io_read_attr(AT_FDCWD, path, line, sizeof(line));
	if (length <= 0)
		return 0;
	for (ssize_t i = 0; i < length; i++)
		if (line[i] == '\0')
			line[i] = ' ';
	return strncmp(line, "runsc-sandbox ", 14) == 0 && strstr(line, id) != NULL;
}

static int
end_process(pid_t pid, const char *id)
{
	SBX_AUTO_FD pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd dead = { .fd = pidfd, .events = POLLIN };

	/* The descriptor first: what is looked at is then what is struck. */
	return pidfd >= 0 && is_sandbox(pid, id) &&
		syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) == 0 &&
		poll(&dead, 1, DEAD_MS) == 1;
}

int
sbx_docker_strike(const struct sbx_docker *docker, const char *container)
{
	const struct timespec pause = { .tv_nsec = SETTLE_NS };
	char id[ID_BYTES + 1];
	int64_t pid;

	if (docker->runtime == NULL)
		return 0;
	pid = ask(docker, container, id);
	if (pid <= 0 || !end_process((pid_t)pid, id))
		return 0;
	/* The engine hears of it in its own time, and has to have before it is asked for more. */
	for (int i = 0; i < SETTLE_TRIES && pid > 0; i++) {
		nanosleep(&pause, NULL);
		pid = ask(docker, container, id);
	}
	return pid == 0;
}
