/* base/fd: standard descriptors, passing, sealing. Counts descriptors: none may leak. */
#include "base/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scoped.h"
#include "tap.h"

static int
count_open(void)
{
	DIR *list = opendir("/proc/self/fd");
	int count = -3; /* "." and ".." and the list's own */

	while (list != NULL && readdir(list) != NULL)
		count++;
	closedir(list);
	return count;
}

/* In a child: close some standard descriptors, sanitize, look. */
static int
sanitized(int closed_from, int closed_to)
{
	int status = -1, fd;
	pid_t pid = fork();

	if (pid == 0) {
		for (fd = closed_from; fd <= closed_to; fd++)
			close(fd);
		if (sbx_fd_sanitize(NULL) < 0)
			_exit(1);
		for (fd = 0; fd <= 2; fd++) {
			if (fcntl(fd, F_GETFD) != 0)
				_exit(2);
		}
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		_exit(fd > 2 ? 0 : 3);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void
test_flags(void)
{
	SBX_AUTO_FD fd = open("/dev/null", O_RDONLY);

	is_int(sanitized(0, 2), 0, "all three are made");
	is_int(sanitized(1, 1), 0, "one in the middle");
	is_int(sanitized(1, 0), 0, "none is missing");
	is_int(sbx_fd_cloexec(fd, 1), 0, "cloexec on");
	is_int(fcntl(fd, F_GETFD), FD_CLOEXEC, "is on");
	is_int(sbx_fd_cloexec(fd, 0), 0, "cloexec off");
	is_int(fcntl(fd, F_GETFD), 0, "is off");
	is_int(sbx_fd_nonblock(fd, 1), 0, "nonblock on");
	ok((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0, "is on");
	is_int(sbx_fd_nonblock(fd, 0), 0, "nonblock off");
	ok((fcntl(fd, F_GETFL) & O_NONBLOCK) == 0, "is off");
	is_int(sbx_fd_nonblock(-1, 1), -1, "no descriptor");
	is_int(errno, EBADF, "errno tells");
}

static void
test_pass(int a, int b)
{
	int fds[SBX_FD_PASS_MAX], got[SBX_FD_PASS_MAX], before = count_open();
	char bytes[16];
	size_t i, count = SBX_FD_PASS_MAX;

	for (i = 0; i < SBX_FD_PASS_MAX; i++)
		fds[i] = a;
	is_int(sbx_fd_send(a, "hello", 5, fds, SBX_FD_PASS_MAX), 5, "send with sixteen");
	is_int(sbx_fd_recv(b, bytes, sizeof(bytes), got, &count), 5, "receive");
	ok(memcmp(bytes, "hello", 5) == 0, "the bytes");
	is_int(count, SBX_FD_PASS_MAX, "all descriptors");
	ok(fcntl(got[0], F_GETFD) == FD_CLOEXEC && fcntl(got[15], F_GETFD) == FD_CLOEXEC,
		"close-on-exec from birth");
	for (i = 0; i < count; i++)
		close(got[i]);
	is_int(count_open(), before, "none else");

	is_int(sbx_fd_send(a, "x", 1, fds, 17), -1, "seventeen");
	is_int(errno, EINVAL, "are too many");
	is_int(sbx_fd_send(a, "plain", 5, NULL, 0), 5, "send without");
	count = 0;
	is_int(sbx_fd_recv(b, bytes, sizeof(bytes), NULL, &count), 5, "receive without");

	is_int(sbx_fd_send(a, "x", 1, fds, 3), 1, "three");
	count = 2;
	is_int(sbx_fd_recv(b, bytes, sizeof(bytes), got, &count), -1, "where two are taken");
	is_int(errno, EMSGSIZE, "is refused");
	is_int(count, 0, "with none answered");
	is_int(count_open(), before, "and none left open");

	is_int(sbx_fd_send(a, "0123456789abcdefX", 17, fds, 1), 17, "a long message");
	count = 2;
	is_int(sbx_fd_recv(b, bytes, sizeof(bytes), got, &count), -1, "that is cut");
	is_int(errno, EMSGSIZE, "is refused");
	is_int(count_open(), before, "its descriptors closed");

	is_int(sbx_fd_send(a, "", 0, fds, 2), 0, "an empty message with descriptors");
	count = 2;
	is_int(sbx_fd_recv(b, bytes, sizeof(bytes), got, &count), 0, "is like the end");
	is_int(count, 0, "and brings none");
	is_int(count_open(), before, "nor leaks them");
}

/* More than we ever ask for: the sender is not our sbx_fd_send. */
static void
test_flood(int a, int b)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * 100)];
	} control = { 0 };
	struct iovec iov = { .iov_base = control.bytes, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes };
	struct cmsghdr *cmsg = &control.align;
	int fds[100], got[SBX_FD_PASS_MAX], before = count_open(), sent;
	static const int counts[] = { 17, 20, 24, 25, 100 };
	size_t i, count;
	char byte;

	for (i = 0; i < 100; i++)
		fds[i] = a;
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		sent = counts[i];
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)sent);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)sent);
		memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * (size_t)sent);
		is_int(sendmsg(a, &msg, 0), 1, "%d descriptors", sent);
		count = SBX_FD_PASS_MAX;
		is_int(sbx_fd_recv(b, &byte, 1, got, &count), -1, "are refused");
		is_int(errno, EMSGSIZE, "as too many");
		is_int(count_open(), before, "and closed");
	}
}

static void
test_sealed(void)
{
	SBX_AUTO_FD fd = sbx_fd_sealed("test", "content", 7);
	char bytes[16];

	ok(fd >= 0, "a sealed file");
	is_int(read(fd, bytes, sizeof(bytes)), 7, "is read from its beginning");
	ok(memcmp(bytes, "content", 7) == 0, "with its content");
	is_int(write(fd, "x", 1), -1, "not written");
	is_int(errno, EPERM, "by its seal");
	is_int(ftruncate(fd, 0), -1, "not shrunk");
	is_int(ftruncate(fd, 100), -1, "not grown");
	is_int(fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL), -1, "not sealed again");
	is_int(fcntl(fd, F_GETFD), FD_CLOEXEC, "close-on-exec");
}

int
main(void)
{
	int pair[2], on = 1;
	char byte;
	size_t count = 0;

	test_flags();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return 1;
	test_pass(pair[0], pair[1]);
	test_flood(pair[0], pair[1]);
	setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	test_pass(pair[0], pair[1]); /* with credentials beside the descriptors */
	close(pair[0]);
	is_int(sbx_fd_recv(pair[1], &byte, 1, NULL, &count), 0, "end of file");
	is_int(sbx_fd_send(pair[1], "x", 1, NULL, 0), -1, "no peer");
	is_int(errno, EPIPE, "is an error, not a signal");
	close(pair[1]);
	test_sealed();
	return done();
}
