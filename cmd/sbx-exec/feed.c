/*
 * The command's stdin: bytes of ours, of a file or of an option, through a pipe of its own, as fast
 * as it takes them. Driven by the pipe: while it has room we read, so that no more than one piece is
 * ever held. A command that does not read holds up nothing.
 */
#include "exec.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"

#define CHUNK 65536

static void on_source(void *arg, uint32_t events);

static int
open_file(const char *path, struct exec_outer *source, struct sbx_err *err)
{
	struct stat st;

	source->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (source->fd < 0)
		return sbx_fail_sys(err, errno == ENOENT ? SBX_E_NOT_FOUND : SBX_E_IO,
			"--stdin: open %s", path);
	if (fstat(source->fd, &st) < 0 || sbx_fd_nonblock(source->fd, 1) < 0)
		return sbx_fail_sys(err, SBX_E_IO, "--stdin: %s", path);
	if (S_ISDIR(st.st_mode))
		return sbx_fail(err, SBX_E_BAD_REQUEST, "--stdin: %s is a directory", path);
	return 0;
}

int
exec_feed_open(const struct exec_options *options, int stdin_is_taken, struct exec_feed *feed,
	struct sbx_err *err)
{
	const char *from = options->stdin_from;

	if (from == NULL && options->raw && !stdin_is_taken)
		from = "-";
	if (from == NULL)
		return 0;
	feed->wanted = 1;
	if (from[0] == '@') {
		feed->next = from + 1;
		feed->length = strlen(from + 1);
		return 0;
	}
	if (strcmp(from, "-") != 0)
		return open_file(from, &feed->source, err);
	if (stdin_is_taken)
		return sbx_fail(err, SBX_E_USAGE,
			"--stdin -: standard input holds the env record already");
	return exec_outer_open(STDIN_FILENO, O_RDONLY, &feed->source, err);
}

void
exec_feed_open_bytes(const void *bytes, size_t length, struct exec_feed *feed)
{
	feed->wanted = 1;
	feed->next = bytes;
	feed->length = length;
}

/* Wait until the source has something; the pipe is watched for its end alone meanwhile. */
static void
await_source(struct exec_feed *feed)
{
	struct sbx_err err;

	sbx_loop_mod(feed->loop, feed->writing, 0);
	if (feed->reading == NULL)
		feed->reading = sbx_loop_add(feed->loop, feed->source.fd, EPOLLIN, on_source, feed,
			&err);
	if (feed->reading == NULL)
		exec_feed_stop(feed);
}

/* Something to put in: 1. Nothing now, or nothing ever again: 0. */
static int
refill(struct exec_feed *feed)
{
	ssize_t n = 0;

	if (feed->length > 0)
		return 1;
	if (feed->source.fd >= 0) {
		if (feed->chunk == NULL)
			feed->chunk = sbx_mem_grow(NULL, 1, CHUNK);
		n = exec_outer_read(&feed->source, feed->chunk, CHUNK);
	}
	if (n > 0) {
		feed->next = feed->chunk;
		feed->length = (size_t)n;
		return 1;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		await_source(feed);
		return 0;
	}
	if (n < 0)
		sbx_log(SBX_LOG_WARN, "the command's stdin ends early: %s", strerror(errno));
	exec_feed_stop(feed);
	return 0;
}

static void
on_pipe(void *arg, uint32_t events)
{
	struct exec_feed *feed = arg;
	ssize_t n;

	if (events & EPOLLERR) { /* nobody reads it any more */
		exec_feed_stop(feed);
		return;
	}
	if (!refill(feed))
		return;
	n = write(feed->fd, feed->next, feed->length);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		exec_feed_stop(feed);
		return;
	}
	feed->next += n;
	feed->length -= (size_t)n;
	if (feed->length == 0 && feed->source.fd < 0)
		exec_feed_stop(feed);
}

static void
on_source(void *arg, uint32_t events)
{
	struct exec_feed *feed = arg;

	(void)events;
	/* Removed, not only muted: a source at its end reports that for ever. */
	sbx_loop_del(feed->loop, feed->reading);
	feed->reading = NULL;
	sbx_loop_mod(feed->loop, feed->writing, EPOLLOUT);
}

int
exec_feed_start(struct exec_feed *feed, struct sbx_loop *loop, int fd, struct sbx_err *err)
{
	feed->loop = loop;
	feed->fd = fd;
	feed->writing = sbx_loop_add(loop, fd, EPOLLOUT, on_pipe, feed, err);
	return feed->writing == NULL ? -1 : 0;
}

void
exec_feed_stop(struct exec_feed *feed)
{
	if (feed->loop != NULL) {
		sbx_loop_del(feed->loop, feed->reading);
		sbx_loop_del(feed->loop, feed->writing);
	}
	feed->reading = feed->writing = NULL;
	if (feed->fd >= 0)
		close(feed->fd);
	feed->fd = -1;
}

void
exec_feed_close(struct exec_feed *feed)
{
	exec_feed_stop(feed);
	exec_outer_close(&feed->source);
	free(feed->chunk);
	feed->chunk = NULL;
}
