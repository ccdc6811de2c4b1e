/*
 * Descriptors: standard ones, flags, passing them over unix sockets, sealed memory. All that are
 * made here are close-on-exec, but for 0, 1 and 2. A peer's message is never trusted to be short.
 */
#include "base/fd.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/io.h"
#include "base/scoped.h"

/*
 * Room for what we take, and for the credentials that the kernel adds on a socket with SO_PASSCRED.
 * Where these are absent their room holds more descriptors than we take: they are closed.
 */
#define CONTROL_ROOM (CMSG_SPACE(sizeof(int) * SBX_FD_PASS_MAX) + CMSG_SPACE(sizeof(struct ucred)))
#define FDS_ROOM (CONTROL_ROOM / sizeof(int))

union control {
	struct cmsghdr align;
	char bytes[CONTROL_ROOM];
};

int
sbx_fd_sanitize(struct sbx_err *err)
{
	int fd, opened;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
			continue;
		opened = open("/dev/null", O_RDWR); /* the lowest that is free: this one */
		if (opened < 0)
			return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "open /dev/null");
		if (opened != fd) {
			close(opened);
			return sbx_fail(err, SBX_E_INTERNAL, "descriptor %d came for %d", opened,
				fd);
		}
	}
	return 0;
}

/* Set or clear one flag by a pair of fcntl commands. */
static int
set_flag(int fd, int get, int set, int flag, int on)
{
	int flags = fcntl(fd, get);

	if (flags < 0)
		return -1;
	return fcntl(fd, set, on ? flags | flag : flags & ~flag) < 0 ? -1 : 0;
}

int
sbx_fd_nonblock(int fd, int on)
{
	return set_flag(fd, F_GETFL, F_SETFL, O_NONBLOCK, on);
}

int
sbx_fd_cloexec(int fd, int on)
{
	return set_flag(fd, F_GETFD, F_SETFD, FD_CLOEXEC, on);
}

ssize_t
sbx_fd_send(int sock, const void *bytes, size_t length, const int *fds, size_t fd_count)
{
	struct iovec iov = { .iov_len = length };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	union control control = { 0 };
	struct cmsghdr *cmsg = &control.align;
	ssize_t n;

	if (fd_count > SBX_FD_PASS_MAX) {
		errno = EINVAL;
		return -1;
	}
	memcpy(&iov.iov_base, &bytes,
		sizeof(bytes)); /* sendmsg only reads, but its type cannot say */
	if (fd_count > 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = (socklen_t)CMSG_SPACE(sizeof(int) * fd_count);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = (socklen_t)CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * fd_count);
	}
	do
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n;
}

/*
 * Collect the descriptors of all control messages. By hand, not by CMSG_NXTHDR, whose musl version
 * compares signed with unsigned. Answers how many.
 */
static size_t
collect(const struct msghdr *msg, int fds[FDS_ROOM])
{
	const char *control = msg->msg_control;
	size_t left = msg->msg_controllen, at = 0, count = 0, n, step;
	struct cmsghdr head;

	while (left - at >= sizeof(head)) {
		memcpy(&head, control + at, sizeof(head));
		if (head.cmsg_len < CMSG_LEN(0) || head.cmsg_len > left - at)
			break;
		if (head.cmsg_level == SOL_SOCKET && head.cmsg_type == SCM_RIGHTS) {
			n = (head.cmsg_len - CMSG_LEN(0)) / sizeof(int);
			memcpy(fds + count, control + at + CMSG_LEN(0), n * sizeof(int));
			count += n;
		}
		step = CMSG_SPACE(head.cmsg_len - CMSG_LEN(0));
		at = step < left - at ? at + step : left;
	}
	return count;
}

static void
close_each(const int *fds, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		close(fds[i]);
}

ssize_t
sbx_fd_recv(int sock, void *bytes, size_t length, int *fds, size_t *fd_count)
{
	struct iovec iov = { .iov_base = bytes, .iov_len = length };
	union control control = { 0 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes };
	size_t room = *fd_count, count;
	int came[FDS_ROOM];
	ssize_t n;

	*fd_count = 0;
	do {
		msg.msg_controllen = (socklen_t)sizeof(control.bytes);
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -1;
	count = collect(&msg, came);
	if (count > room || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
		close_each(came, count);
		errno = EMSGSIZE;
		return -1;
	}
	if (n == 0) { /* an empty message with descriptors looks like the end: they would leak */
		close_each(came, count);
		return 0;
	}
	if (count > 0)
		memcpy(fds, came, count * sizeof(int));
	*fd_count = count;
	return n;
}

int
sbx_fd_sealed(const char *name, const void *bytes, size_t length)
{
	SBX_AUTO_FD fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	if (sbx_io_write_all(fd, bytes, length) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -1;
	return sbx_take_fd(&fd);
}
