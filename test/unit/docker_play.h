/*
 * An engine and an inside for tests of sessions: `exec`, `inspect`, `start` and `restart` as $SBX_PLAY
 * says; each call is noted in the file `calls` of the working directory. Header only.
 */
#ifndef SBX_TEST_DOCKER_PLAY_H
#define SBX_TEST_DOCKER_PLAY_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "mech/channel.h"

#define REST 100000

static void
say(unsigned type, unsigned stream, uint32_t id, const void *payload, size_t length)
{
	struct sbx_chan_head head = { (uint32_t)length, (uint16_t)type, (uint16_t)stream, id };

	if (sbx_io_write_all(1, &head, sizeof(head)) < 0 ||
		sbx_io_write_all(1, payload, length) < 0)
		_exit(1);
}

static void
say_end(unsigned type, uint32_t id, int status)
{
	struct sbx_chan_end end = { .status = status, .cpu_us = 1234 };

	say(type, 0, id, &end, sizeof(end));
}

static void
say_finished(uint32_t id)
{
	struct sbx_chan_usage usage = { .peak_memory_bytes = 4096, .left_over = 1, .pids_full = 1 };

	say(SBX_CHAN_END_OF, 1, id, NULL, 0);
	say(SBX_CHAN_END_OF, 2, id, NULL, 0);
	say(SBX_CHAN_FINISHED, 0, id, &usage, sizeof(usage));
}

static void
say_zeros(unsigned stream, uint32_t id, size_t length)
{
	static const char zeros[SBX_CHAN_DATA_MAX];

	for (size_t piece; length > 0; length -= piece) {
		piece = length < sizeof(zeros) ? length : sizeof(zeros);
		say(SBX_CHAN_DATA, stream, id, zeros, piece);
	}
}

static void
take(void *place, size_t length)
{
	char *at = place;

	while (length > 0) {
		ssize_t n = read(0, at, length);

		if (n <= 0)
			_exit(0);
		at += n;
		length -= (size_t)n;
	}
}

static void
play_exec(const char *play, uint32_t id)
{
	if (strcmp(play, "order") == 0)
		say_end(SBX_CHAN_EXITED, id, 0);
	say_end(SBX_CHAN_STARTED, id, 0);
	if (strcmp(play, "garbage") == 0)
		say(99, 0, id, "?", 1);
	if (strcmp(play, "status") == 0)
		say_end(SBX_CHAN_EXITED, id, 0x7f); /* stopped is no end */
	if (strcmp(play, "overrun") == 0)
		say_zeros(1, id, 2 * SBX_CHAN_WINDOW); /* a pipe of 64 KiB took some */
	if (strcmp(play, "dies") == 0 || strcmp(play, "oom") == 0)
		_exit(0);
	if (strcmp(play, "flood") == 0) {
		say_zeros(1, id, SBX_CHAN_WINDOW);
		say(SBX_CHAN_DATA, 2, id, "err", 3);
		say(SBX_CHAN_END_OF, 2, id, NULL, 0);
		say_end(SBX_CHAN_EXITED, id, 0);
	}
}

static void
play_frames(const char *play)
{
	static char payload[SBX_CHAN_PAYLOAD_MAX];
	struct sbx_chan_head head;
	uint32_t last = 0;

	for (;;) {
		take(&head, sizeof(head));
		take(payload, head.length);
		if (head.type == SBX_CHAN_EXEC) {
			last = head.id;
			play_exec(play, head.id);
		} else if (head.type == SBX_CHAN_DATA) {
			say(SBX_CHAN_DATA, 1, head.id, payload, head.length);
			say(SBX_CHAN_CREDIT, 0, head.id, &head.length, sizeof(head.length));
		} else if (head.type == SBX_CHAN_END_OF && head.stream == 0) {
			say(SBX_CHAN_END_OF, 1, head.id, NULL, 0);
			say_end(SBX_CHAN_EXITED, head.id, W_EXITCODE(7, 0));
		} else if (head.type == SBX_CHAN_FINISH) {
			if (strcmp(play, "flood") == 0)
				say_zeros(1, head.id, REST);
			if (strcmp(play, "kill") != 0)
				say(SBX_CHAN_END_OF, 2, head.id, NULL, 0);
			say_finished(head.id);
		} else if (head.type == SBX_CHAN_KILL_ALL) {
			say(SBX_CHAN_DATA, 1, last, "last", 4);
			for (uint32_t id = 1; id <= last; id++)
				say_end(SBX_CHAN_EXITED, id, SIGKILL);
			say(SBX_CHAN_KILLED, 0, 0, NULL, 0);
		}
	}
}

/* Whether the engine was called so before. */
static int
was_called(const char *verb)
{
	char text[4096] = "";
	int fd = open("calls", O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	if (fd >= 0)
		close(fd);
	return strstr(text, verb) != NULL;
}

static int
engine(const char *verb)
{
	const char *play = getenv("SBX_PLAY");
	struct sbx_chan_hello hello = {
		.magic = SBX_CHAN_MAGIC, .version = SBX_CHAN_VERSION, .kernel = "Linux"
	};
	int revived = was_called("start"), fd;

	fd = open("calls", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (dprintf(fd, "%s\n", verb) < 0)
		return 1;
	if (strcmp(verb, "inspect") == 0)
		puts(strcmp(play, "oom") == 0 ? "false true 1" : "false false 1");
	if (strcmp(verb, "exec") != 0)
		return 0;
	if ((strcmp(play, "stopped") == 0 && !revived) || strcmp(play, "gone") == 0) {
		dprintf(2, "Error response from daemon: %s\n",
			play[0] == 's' ? "Container c is not running" : "No such container: c");
		return 1;
	}
	if (strcmp(play, "full") == 0) {
		dprintf(2, "OCI runtime exec failed: fork: resource temporarily unavailable\n");
		return 126;
	}
	if (strcmp(play, "proved") == 0)
		snprintf(hello.what, sizeof(hello.what), "write to /etc");
	say(SBX_CHAN_HELLO, 0, 0, &hello, sizeof(hello));
	play_frames(play);
	return 0;
}

#endif
