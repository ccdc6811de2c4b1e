/*
 * ATTACKS 61: take more than is given of what the kernel keeps for descriptors: buffers of pipes
 * and sockets, small objects. As in bombs.c a guest is refused, killed (the record says memory),
 * or holds twice its limit (`ESCAPED`): then what it took was charged to nobody.
 */
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include "bomb.h"

/* Children hold too: each has descriptors of its own. `take` answers the bytes that it got. */
static void
in_children(const char *what, long (*take)(long))
{
	long share = limit_bytes() / 2, taken = 0, got;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0)
		_exit(1);
	for (int i = 0; i < 8 && taken < 2 * limit_bytes(); i++) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid == 0) {
			got = take(share);
			if (write(fds[1], &got, sizeof(got)) == sizeof(got))
				pause();
			_exit(0);
		}
		if (read(fds[0], &got, sizeof(got)) != sizeof(got))
			break;
		taken += got;
		if (got < share / 64)
			break;
	}
	judge(what, taken);
}

static long
take_pipes(long most)
{
	static char bytes[65536];
	long taken = 0;
	int fds[2];

	while (taken < most && pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0) {
		ssize_t n;

		(void)fcntl(fds[1], F_SETPIPE_SZ, (int)MIB);
		while ((n = write(fds[1], bytes, sizeof(bytes))) > 0)
			taken += n;
	}
	return taken;
}

static void
pipes(void)
{
	in_children("pipe buffers", take_pipes);
}

static long
take_pairs(long most)
{
	static char bytes[65536];
	long taken = 0;
	int fds[2];

	while (taken < most && socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0) {
		for (int i = 0; i < 2; i++) {
			ssize_t n;

			while ((n = write(fds[i], bytes, sizeof(bytes))) > 0)
				taken += n;
		}
	}
	return taken;
}

static void
unix_sockets(void)
{
	in_children("unix socket buffers", take_pairs);
}

static int
bound(int type, struct sockaddr_in *address)
{
	socklen_t length = sizeof(*address);
	int sock = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	*address = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	(void)setsockopt(sock, SOL_SOCKET, SO_RCVBUF, &(int){ (int)MIB }, sizeof(int));
	if (sock >= 0 &&
		(bind(sock, (struct sockaddr *)address, length) != 0 ||
			getsockname(sock, (struct sockaddr *)address, &length) != 0))
		return -1;
	return sock;
}

/* What a socket holds by its own account: a datagram that it had no room for is gone. */
static long
held(int sock)
{
	unsigned info[9] = { 0 };
	socklen_t length = sizeof(info);

	if (getsockopt(sock, SOL_SOCKET, 55 /* SO_MEMINFO */, info, &length) != 0)
		return 0;
	return (long)info[0] + (long)info[2]; /* SK_MEMINFO_RMEM_ALLOC, WMEM_ALLOC */
}

static long
take_datagrams(long most)
{
	static char bytes[32768];
	long taken = 0;
	struct sockaddr_in address;

	while (taken < most) {
		int to = bound(SOCK_DGRAM, &address);
		int from = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		if (to < 0 || from < 0)
			break;
		for (int i = 0; i < 64; i++)
			(void)!sendto(from, bytes, sizeof(bytes), 0, (struct sockaddr *)&address,
				sizeof(address));
		close(from);
		if (held(to) == 0)
			break;
		taken += held(to);
	}
	return taken;
}

static void
datagrams(void)
{
	in_children("udp buffers", take_datagrams);
}

static long
take_streams(long most)
{
	static char bytes[65536];
	long taken = 0;
	struct sockaddr_in address;
	int server = bound(SOCK_STREAM, &address);

	if (server < 0 || listen(server, 64) != 0)
		return 0;
	while (taken < most) {
		int one = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), other;

		if (one < 0 || connect(one, (struct sockaddr *)&address, sizeof(address)) != 0)
			break;
		other = accept4(server, NULL, NULL, SOCK_CLOEXEC);
		if (other < 0)
			break;
		for (int i = 0; i < 256; i++) {
			if (send(one, bytes, sizeof(bytes), MSG_DONTWAIT) < 0)
				break;
		}
		if (held(one) + held(other) == 0)
			break;
		taken += held(one) + held(other);
	}
	return taken;
}

static void
streams(void)
{
	in_children("tcp buffers", take_streams);
}

/* Kernel objects of a few hundred bytes each. */
static long
take_objects(long most)
{
	long taken = 0;
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	while (taken < most) {
		struct epoll_event event = { .events = EPOLLIN };
		int fd = eventfd(0, EFD_CLOEXEC);

		if (fd < 0 || timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) < 0)
			break;
		(void)inotify_init1(IN_CLOEXEC);
		epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
		taken += 1024;
	}
	return taken;
}

static void
objects(void)
{
	in_children("descriptors", take_objects);
}

int
main(int argc, char **argv)
{
	static const struct guest_act acts[] = { { "pipes", pipes }, { "unix", unix_sockets },
		{ "udp", datagrams }, { "tcp", streams }, { "objects", objects }, { NULL, NULL } };

	return guest_main(argc, argv, acts);
}
