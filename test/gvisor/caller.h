/* How driver.c speaks to sbx-init: requests out, answers in, over the control socket. */
#ifndef SBX_TEST_GVISOR_CALLER_H
#define SBX_TEST_GVISOR_CALLER_H

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "mech/init_proto.h"

#define SOCKET "/tmp/init.sock"
#define WAIT_MS 5000

static int
call(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = SOCKET };
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (connect(sock, (struct sockaddr *)&address, sizeof(address)) != 0)
		printf("# connect: %s\n", strerror(errno));
	return sock;
}

static int
send_short(int sock, enum sbx_init_op op, uint32_t id)
{
	struct sbx_init_request head = {
		.magic = SBX_INIT_MAGIC, .version = SBX_INIT_VERSION, .op = (uint16_t)op, .id = id
	};

	return send(sock, &head, sizeof(head), MSG_NOSIGNAL) == (ssize_t)sizeof(head) ? 0 : -1;
}

/* cwd, argv, environment, each with its NUL: at most two arguments after the program. */
static int
send_exec(int sock, uint32_t id, const char *program, const char *what, int out_fd)
{
	struct sbx_init_request head = { .magic = SBX_INIT_MAGIC,
		.version = SBX_INIT_VERSION,
		.op = SBX_INIT_EXEC,
		.id = id,
		.argc = 2,
		.envc = 1 };
	const char *strings[] = { "", program, what, "GUEST=yes" };
	char text[512];
	size_t length = 0;
	int fds[3] = { out_fd, out_fd, out_fd };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(fds))];
	} control = { 0 };
	struct iovec parts[2] = { { &head, sizeof(head) }, { text, 0 } };
	struct msghdr message = { .msg_iov = parts,
		.msg_iovlen = 2,
		.msg_control = &control,
		.msg_controllen = sizeof(control) };
	struct cmsghdr *first = CMSG_FIRSTHDR(&message);

	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
		size_t n = strlen(strings[i]) + 1;

		memcpy(text + length, strings[i], n);
		length += n;
	}
	head.payload_bytes = (uint32_t)length;
	parts[1].iov_len = length;
	first->cmsg_level = SOL_SOCKET;
	first->cmsg_type = SCM_RIGHTS;
	first->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(first), fds, sizeof(fds));
	return sendmsg(sock, &message, MSG_NOSIGNAL) > 0 ? 0 : -1;
}

/* The next answer; all zero if none comes. */
static struct sbx_init_reply
next(int sock)
{
	struct sbx_init_reply reply = { 0 };
	struct pollfd wait = { .fd = sock, .events = POLLIN };

	if (poll(&wait, 1, WAIT_MS) != 1 ||
		recv(sock, &reply, sizeof(reply), 0) != (ssize_t)sizeof(reply) ||
		reply.magic != SBX_INIT_MAGIC || reply.version != SBX_INIT_VERSION) {
		printf("# no answer: %s\n", strerror(errno));
		reply = (struct sbx_init_reply){ 0 };
	}
	return reply;
}

#endif
