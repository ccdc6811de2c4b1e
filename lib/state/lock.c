/*
 * Waiting for a lock. flock(2) has no timeout, and a signal to interrupt it would need a handler: so
 * the wait is a slow poll. Holders are quick, and who waits was late anyway.
 */
#include "state/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"

#define POLL_NS (10 * 1000 * 1000)

int
sbx_lock_wait(int fd, int64_t deadline_mono_ms)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -1;
		if (sbx_clock_mono_ms() >= deadline_mono_ms) {
			errno = EWOULDBLOCK;
			return -1;
		}
		nanosleep(&pause, NULL);
	}
	return 0;
}

int
sbx_lock_is_current(int fd, int dir_fd, const char *name)
{
	struct stat ours, named;

	return fstat(fd, &ours) == 0 && fstatat(dir_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}
