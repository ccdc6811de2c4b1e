/*
 * A request of a caller: received with its descriptors, checked against its own lengths, unpacked
 * into argv and envp. Malformed input costs the caller its connection and nothing else.
 */
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static char inline_room[sizeof(struct sbx_init_request) + SBX_INIT_INLINE_MAX];

/* The payload of a memfd that nobody can change any more. */
static char *
map_payload(int fd, size_t length)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);
	void *text;

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) != 0 ||
		st.st_size != (off_t)length)
		return NULL;
	text = mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, 0);
	return text == MAP_FAILED ? NULL : text;
}

/* cwd, argv, env: each string ends inside the payload, and they fill it exactly. */
static int
unpack(struct init_message *message)
{
	const struct sbx_init_request *head = &message->head;
	char *at = message->text, *end = at + head->payload_bytes;
	size_t count = (size_t)head->argc + head->envc, slot = 0;

	if (head->argc == 0 || count > SBX_INIT_STRINGS_MAX || at == end || end[-1] != '\0')
		return -1;
	message->strings = calloc(count + 2, sizeof(char *));
	if (message->strings == NULL)
		return -1;
	message->job.cwd = at;
	at += strlen(at) + 1;
	for (size_t i = 0; i < count; i++) {
		if (at >= end)
			return -1;
		if (i == head->argc)
			slot++;
		message->strings[slot++] = at;
		at += strlen(at) + 1;
	}
	message->job.argv = message->strings;
	message->job.envp = message->strings + head->argc + 1;
	return at == end ? 0 : -1;
}

static int
place(struct init_message *message, size_t received)
{
	const struct sbx_init_request *head = &message->head;
	size_t want = 3 + (head->flags & SBX_INIT_HAS_GROUP ? 2u : 0u) +
		(head->flags & SBX_INIT_IN_MEMFD ? 1u : 0u);

	if (received != want || head->id == 0)
		return -1;
	for (int i = 0; i < 3; i++)
		message->job.stdio[i] = message->fds[i];
	message->job.group_fd = head->flags & SBX_INIT_HAS_GROUP ? message->fds[3] : -1;
	message->job.kill_fd = head->flags & SBX_INIT_HAS_GROUP ? message->fds[4] : -1;
	message->job.stays = (head->flags & SBX_INIT_STAYS) != 0;
	message->job.tty = (head->flags & SBX_INIT_TTY) != 0;
	if (head->flags & SBX_INIT_IN_MEMFD) {
		if (head->payload_bytes > SBX_INIT_PAYLOAD_MAX)
			return -1;
		message->text = map_payload(message->fds[want - 1], head->payload_bytes);
		message->mapped = 1;
	}
	return message->text == NULL ? -1 : unpack(message);
}

int
init_receive(int sock, struct init_message *message)
{
	size_t fd_count = sizeof(message->fds) / sizeof(message->fds[0]);
	ssize_t n;

	*message = (struct init_message){ .fds = { -1, -1, -1, -1, -1, -1 } };
	n = sbx_fd_recv(sock, inline_room, sizeof(inline_room), message->fds, &fd_count);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 1 : -1;
	if (n == 0)
		return 0;
	if ((size_t)n < sizeof(message->head))
		return -1;
	memcpy(&message->head, inline_room, sizeof(message->head));
	if (message->head.magic != SBX_INIT_MAGIC || message->head.version != SBX_INIT_VERSION)
		return -1;
	if (message->head.op != SBX_INIT_EXEC)
		return fd_count == 0 && message->head.payload_bytes == 0 ? 1 : -1;
	if (!(message->head.flags & SBX_INIT_IN_MEMFD)) {
		if ((size_t)n != sizeof(message->head) + message->head.payload_bytes)
			return -1;
		message->text = inline_room + sizeof(message->head);
	}
	return place(message, fd_count) == 0 ? 1 : -1;
}

void
init_release(struct init_message *message)
{
	for (size_t i = 0; i < sizeof(message->fds) / sizeof(message->fds[0]); i++) {
		if (message->fds[i] >= 0)
			close(message->fds[i]);
	}
	if (message->mapped && message->text != NULL)
		munmap(message->text, message->head.payload_bytes);
	free(message->strings);
}
