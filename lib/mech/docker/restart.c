/*
 * The container stopped and started again: the kill that can be proved.
 *
 * One at a time, under a lock on the file `restart` in the environment's directory; the engine's
 * command inherits the lock, so that it holds as long as the call is in flight though its caller
 * died. The file's text counts the restarts and is written after one is done. A session reads it
 * after its channel said hello: if the count is larger when the session wants to kill, what it
 * started is dead already, and the commands that others started since then live. A caller that died
 * between restart and count costs one restart too many, never one too few.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/scoped.h"
#include "mech/docker/session.h"
#include "state/lock.h"

#define FILE_NAME "restart"
/* The engine learns of a container's end a little later than we learn of our channel's. */
#define SETTLE_TRIES 10
#define SETTLE_NS (100 * 1000 * 1000)

static int
open_file(const struct sbx_restart *restart)
{
	return openat(restart->dir_fd, FILE_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static uint64_t
read_count(int fd)
{
	char text[24] = "";
	uint64_t count;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0 || sbx_num_u64(text, 0, SBX_RESTARTS_UNKNOWN - 1, FILE_NAME, &count, NULL) < 0)
		return 0;
	return count;
}

/* Fails silently: whoever reads the old count restarts once more. */
static void
write_count(int fd, uint64_t count)
{
	char text[24];
	int length = snprintf(text, sizeof(text), "%llu", (unsigned long long)count);

	if (pwrite(fd, text, (size_t)length, 0) != length)
		return;
}

uint64_t
sbx_restarts(const struct sbx_restart *restart)
{
	SBX_AUTO_FD fd = open_file(restart);

	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0)
		return SBX_RESTARTS_UNKNOWN;
	return read_count(fd);
}

/* The lock, held by the answered descriptor. */
static int
lock(const struct sbx_restart *restart, struct sbx_err *err)
{
	SBX_AUTO_FD fd = open_file(restart);

	if (fd < 0)
		return sbx_fail_sys(err, SBX_E_IO, "open the environment's file %s", FILE_NAME);
	if (sbx_lock_wait(fd, sbx_clock_mono_ms() + restart->docker->timeout_ms) < 0)
		return sbx_fail(err, SBX_E_BUSY, "the container is being restarted by another");
	return sbx_take_fd(&fd);
}

static int
happened(int fd, uint64_t seen)
{
	return seen != SBX_RESTARTS_UNKNOWN && read_count(fd) > seen;
}

typedef void spell_fn(const struct sbx_docker *docker, const char *container,
	struct sbx_docker_args *args);

static int
call(const struct sbx_restart *restart, int lock_fd, spell_fn *spell, struct sbx_buf *out,
	struct sbx_err *err)
{
	SBX_AUTO_DOCKER_ARGS args = { .count = 0 };
	struct sbx_docker docker = *restart->docker;

	docker.lock_fd = lock_fd;
	docker.stop = NULL; /* a kill under way is not cancelled half-way */
	spell(&docker, restart->container, &args);
	return sbx_docker_call(&docker, &args, NULL, 0, out, err);
}

int
sbx_restart_since(const struct sbx_restart *restart, uint64_t seen, int *did, struct sbx_err *err)
{
	SBX_AUTO_FD fd = lock(restart, err);
	struct sbx_docker docker = *restart->docker;

	docker.lock_fd = fd;
	docker.stop = NULL;
	*did = 0;
	if (fd < 0)
		return -1;
	if (happened(fd, seen))
		return 0;
	if (call(restart, fd,
		    sbx_docker_strike(&docker, restart->container) ? sbx_docker_args_start :
								     sbx_docker_args_restart,
		    NULL, err) < 0)
		return sbx_fail_wrap(err, "restart the container");
	write_count(fd, read_count(fd) + 1);
	*did = 1;
	return 0;
}

static int
look(const struct sbx_restart *restart, int fd, enum sbx_restart_found *found, struct sbx_err *err)
{
	SBX_AUTO_BUF state = SBX_BUF_INIT(256);

	if (call(restart, fd, sbx_docker_args_state, &state, err) < 0)
		return -1;
	if (strncmp(sbx_buf_str(&state), "true ", 5) == 0)
		*found = SBX_RESTART_RUNS;
	else if (strncmp(sbx_buf_str(&state), "false true ", 11) == 0)
		*found = SBX_RESTART_OUT_OF_MEMORY;
	else
		*found = SBX_RESTART_STOPPED;
	return 0;
}

static int
start(const struct sbx_restart *restart, int fd, struct sbx_err *err)
{
	if (call(restart, fd, sbx_docker_args_start, NULL, err) < 0)
		return sbx_fail_wrap(err, "start the container again");
	write_count(fd, read_count(fd) + 1);
	return 0;
}

int
sbx_restart_revive(const struct sbx_restart *restart, struct sbx_err *err)
{
	SBX_AUTO_FD fd = lock(restart, err);
	enum sbx_restart_found found;

	if (fd < 0 || look(restart, fd, &found, err) < 0)
		return -1;
	return found == SBX_RESTART_RUNS ? 0 : start(restart, fd, err);
}

/* Until it does not run, or long enough to say that it does. */
static int
look_long(const struct sbx_restart *restart, int fd, enum sbx_restart_found *found,
	struct sbx_err *err)
{
	const struct timespec pause = { .tv_nsec = SETTLE_NS };

	if (look(restart, fd, found, err) < 0)
		return -1;
	for (int i = 1; i < SETTLE_TRIES && *found == SBX_RESTART_RUNS; i++) {
		nanosleep(&pause, NULL);
		if (look(restart, fd, found, err) < 0)
			return -1;
	}
	return 0;
}

int
sbx_restart_has_stopped(const struct sbx_restart *restart, int patient)
{
	enum sbx_restart_found found;
	struct sbx_err err;
	int rc = patient ? look_long(restart, -1, &found, &err) : look(restart, -1, &found, &err);

	return rc == 0 && found != SBX_RESTART_RUNS;
}

int
sbx_restart_judge(const struct sbx_restart *restart, uint64_t seen, enum sbx_restart_found *found,
	struct sbx_err *err)
{
	SBX_AUTO_FD fd = lock(restart, err);

	if (fd < 0)
		return -1;
	if (happened(fd, seen)) {
		*found = SBX_RESTART_HAPPENED;
		return 0;
	}
	if (look_long(restart, fd, found, err) < 0)
		return -1;
	return *found == SBX_RESTART_OUT_OF_MEMORY ? start(restart, fd, err) : 0;
}
