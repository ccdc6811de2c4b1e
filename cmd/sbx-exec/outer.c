/*
 * Our own stdin, stdout and stderr, which a shell, a terminal or a stranger shares with us: used
 * without ever waiting for them, so that no slow reader holds up a timer, and without setting
 * O_NONBLOCK on what others use too. A pipe or terminal is opened anew for that; a socket is told
 * with each call; a file never blocks. None of them is ever handed to a command.
 */
#include "exec.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bytes.h"

#define LOWEST_FD 3

/* access is O_RDONLY or O_WRONLY. */
int
exec_outer_open(int fd, int access, struct exec_outer *outer, struct sbx_err *err)
{
	struct stat st;
	char path[32];
	int shared;

	outer->fd = -1;
	if (fstat(fd, &st) < 0)
		return sbx_fail_sys(err, SBX_E_IO, "descriptor %d", fd);
	outer->is_socket = S_ISSOCK(st.st_mode);
	shared = S_ISFIFO(st.st_mode) || isatty(fd);
	if (shared) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		outer->fd = open(path, access | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	}
	/* Another user's pipe or terminal may be ours to use and not ours to open. */
	outer->may_block = shared && outer->fd < 0;
	if (outer->fd < 0)
		outer->fd = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_FD);
	if (outer->fd < 0)
		return sbx_fail_sys(err, SBX_E_IO, "descriptor %d", fd);
	return 0;
}

void
exec_outer_close(struct exec_outer *outer)
{
	if (outer->fd >= 0)
		close(outer->fd);
	outer->fd = -1;
}

static int
is_ready(const struct exec_outer *outer, short events)
{
	struct pollfd ready = { .fd = outer->fd, .events = events };

	if (!outer->may_block || poll(&ready, 1, 0) != 0)
		return 1;
	errno = EAGAIN;
	return 0;
}

ssize_t
exec_outer_read(const struct exec_outer *outer, void *bytes, size_t length)
{
	if (outer->is_socket)
		return recv(outer->fd, bytes, length, MSG_DONTWAIT);
	if (!is_ready(outer, POLLIN))
		return -1;
	return read(outer->fd, bytes, length);
}

ssize_t
exec_outer_write(const struct exec_outer *outer, const void *bytes, size_t length)
{
	if (outer->is_socket)
		return send(outer->fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (!is_ready(outer, POLLOUT))
		return -1;
	/* A pipe that polls as writable has room for that much (pipe(7)). */
	if (outer->may_block && length > PIPE_BUF)
		length = PIPE_BUF;
	return write(outer->fd, bytes, length);
}
