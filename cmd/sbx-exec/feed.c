/*
 * What goes into a command: bytes of ours, of a file, of an option or of requests, through a pipe of
 * its own, as fast as it takes them. Driven by the pipe: while it has room we read, so that no more
 * than one piece of a source is ever held. A command that does not read holds up nothing.
 */
#include "exec.h"

#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "bytes.h"

#define CHUNK 65536
#define QUEUE_MAX ((size_t)4 * 1024 * 1024)

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

void
exec_feed_open_queue(struct exec_feed *feed, int framed)
{
	feed->wanted = 1;
	feed->framed = framed;
	sbx_buf_init(&feed->queue, QUEUE_MAX + CHUNK + sizeof(uint32_t));
}

int
exec_feed_open_stdin(struct exec_feed *feed, int framed, struct sbx_err *err)
{
	exec_feed_open_queue(feed, framed);
	return exec_outer_open(STDIN_FILENO, O_RDONLY, &feed->source, err);
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
	if (strcmp(from, "-") == 0 && stdin_is_taken)
		return sbx_fail(err, SBX_E_USAGE,
			"--stdin -: standard input holds the env record already");
	if (strcmp(from, "-") == 0)
		return exec_feed_open_stdin(feed, 0, err);
	exec_feed_open_queue(feed, 0);
	if (from[0] != '@')
		return open_file(from, &feed->source, err);
	if (exec_feed_give(feed, from + 1, strlen(from + 1), err) < 0)
		return -1;
	exec_feed_end(feed);
	return 0;
}

/* Wait until the source has something, or somebody gives more; the pipe is watched for its end alone
 * meanwhile. */
static void
await_more(struct exec_feed *feed)
{
	struct sbx_err err;

	sbx_loop_mod(feed->loop, feed->writing, 0);
	if (feed->source.fd < 0)
		return;
	if (feed->reading == NULL)
		feed->reading = sbx_loop_add(feed->loop, feed->source.fd, EPOLLIN, on_source, feed,
			&err);
	if (feed->reading == NULL)
		exec_feed_stop(feed);
}

/* A chunk's head and its bytes, for which there is room. */
static void
add(struct exec_feed *feed, const void *bytes, size_t length)
{
	uint32_t head = (uint32_t)length;

	if (feed->framed)
		(void)!sbx_buf_add(&feed->queue, &head, sizeof(head));
	(void)!sbx_buf_add(&feed->queue, bytes, length);
	feed->given += length + (feed->framed ? sizeof(head) : 0);
}

/* A piece of the source: as read(2) answers. */
static ssize_t
take_source(struct exec_feed *feed)
{
	char bytes[CHUNK];
	ssize_t n = exec_outer_read(&feed->source, bytes, sizeof(bytes));

	if (n > 0)
		add(feed, bytes, (size_t)n);
	return n;
}

/* Something to put in: 1. Nothing now, or nothing ever again: 0. */
static int
refill(struct exec_feed *feed)
{
	ssize_t n = 0;

	if (feed->queue.length > feed->queue_at)
		return 1;
	sbx_buf_clear(&feed->queue);
	feed->queue_at = 0;
	if (feed->source.fd >= 0 && !feed->ended) {
		n = take_source(feed);
		if (n > 0)
			return 1;
		if (n == 0)
			feed->ended = 1;
	}
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		sbx_log(SBX_LOG_WARN, "the command's stdin ends early: %s", strerror(errno));
		exec_feed_stop(feed);
	} else if (!feed->ended) {
		await_more(feed);
	} else if (feed->framed && !feed->end_framed) {
		add(feed, NULL, 0);
		feed->end_framed = 1;
		return 1;
	} else {
		exec_feed_stop(feed);
	}
	return 0;
}

static void
tell(struct exec_feed *feed)
{
	if (feed->moved != NULL)
		feed->moved(feed->arg);
}

static void
on_pipe(void *arg, uint32_t events)
{
	struct exec_feed *feed = arg;
	ssize_t n;

	/* Nobody reads it any more; of a terminal, nobody has it open. */
	if (events & (EPOLLERR | EPOLLHUP)) {
		exec_feed_stop(feed);
		tell(feed);
		return;
	}
	if (!refill(feed))
		return;
	n = write(feed->fd, feed->queue.data + feed->queue_at, feed->queue.length - feed->queue_at);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		exec_feed_stop(feed);
	} else {
		feed->queue_at += (size_t)n;
		feed->taken += (uint64_t)n;
		if (feed->ended && feed->queue_at == feed->queue.length)
			refill(feed); /* its end, now and not at the pipe's next room */
	}
	tell(feed);
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
exec_feed_give(struct exec_feed *feed, const void *bytes, size_t length, struct sbx_err *err)
{
	if (feed->ended || (feed->loop != NULL && feed->fd < 0))
		return sbx_fail(err, SBX_E_NOT_FOUND, "nobody reads that any more");
	if (feed->queue.length - feed->queue_at + length > QUEUE_MAX)
		return sbx_fail(err, SBX_E_BUSY, "%zu bytes wait to be read already",
			feed->queue.length - feed->queue_at);
	if (feed->queue_at > 0) {
		sbx_buf_consume(&feed->queue, feed->queue_at);
		feed->queue_at = 0;
	}
	if (length == 0)
		return 0;
	add(feed, bytes, length);
	if (feed->writing != NULL)
		sbx_loop_mod(feed->loop, feed->writing, EPOLLOUT);
	return 0;
}

void
exec_feed_end(struct exec_feed *feed)
{
	feed->ended = 1;
	if (feed->writing != NULL)
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
	sbx_buf_done(&feed->queue);
}
