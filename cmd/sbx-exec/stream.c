/*
 * One output of the command. Kept: its head and tail go to an excerpt and the rest is counted, so
 * that memory is flat and the program is never held up. Passed on: one piece is read when the last
 * one is written, so that a slow reader of ours slows the command and nothing else; when our reader
 * has gone, the pipe is closed and the command learns it as in any pipeline, by SIGPIPE.
 */
#include "exec.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "bytes.h"

#define CHUNK 65536

static void on_readable(void *arg, uint32_t events);
static void on_writable(void *arg, uint32_t events);

int
exec_stream_open(struct exec_stream *stream, int pass_to, size_t bound_bytes, struct sbx_err *err)
{
	stream->pass_on = pass_to >= 0;
	if (stream->pass_on)
		return exec_outer_open(pass_to, O_WRONLY, &stream->outer, err);
	sbx_excerpt_init(&stream->excerpt, bound_bytes);
	return 0;
}

int
exec_stream_start(struct exec_stream *stream, struct sbx_loop *loop, int fd,
	void (*moved)(void *arg), void *arg, struct sbx_err *err)
{
	stream->loop = loop;
	stream->moved = moved;
	stream->arg = arg;
	stream->fd = fd;
	stream->chunk = sbx_mem_grow(NULL, 1, CHUNK); /* not zeroed: pages are touched by need */
	stream->reading = sbx_loop_add(loop, fd, EPOLLIN, on_readable, stream, err);
	return stream->reading == NULL ? -1 : 0;
}

static void
mute(struct exec_stream *stream)
{
	sbx_loop_del(stream->loop, stream->reading);
	stream->reading = NULL;
}

static void
end_pipe(struct exec_stream *stream)
{
	mute(stream);
	if (stream->fd >= 0)
		close(stream->fd);
	stream->fd = -1;
}

/* Our side takes no more: what is held is lost, and the command may as well know. */
static void
give_up(struct exec_stream *stream, int sys)
{
	if (sys != EPIPE) {
		errno = sys;
		sbx_fail_sys(&stream->failure, SBX_E_IO, "the command's output");
		stream->failure.executed = SBX_EXECUTED_YES;
	}
	stream->gone = sys == EPIPE;
	stream->chunk_at = stream->chunk_end = 0;
	end_pipe(stream);
}

/* Write out what is held: 1 when all of it went, 0 when the loop has to wait for our side. */
static int
give(struct exec_stream *stream)
{
	ssize_t n;

	while (stream->chunk_at < stream->chunk_end) {
		n = exec_outer_write(&stream->outer, stream->chunk + stream->chunk_at,
			stream->chunk_end - stream->chunk_at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			give_up(stream, errno);
		else
			stream->chunk_at += (size_t)n;
	}
	return 1;
}

static void
await_outer(struct exec_stream *stream)
{
	struct sbx_err err = { 0 };

	mute(stream);
	if (stream->writing == NULL)
		stream->writing = sbx_loop_add(stream->loop, stream->outer.fd, EPOLLOUT,
			on_writable, stream, &err);
	if (stream->writing == NULL)
		give_up(stream, err.sys);
}

/* Read once and deal with it: 1 if there may be more to take at once. */
static int
take(struct exec_stream *stream)
{
	size_t most = stream->draining && stream->left < CHUNK ? stream->left : CHUNK;
	ssize_t n = most == 0 ? 0 : read(stream->fd, stream->chunk, most);

	if (n < 0 && errno == EINTR)
		return 1;
	if (n < 0 && errno == EAGAIN && !stream->draining)
		return 0;
	if (n <= 0) {
		end_pipe(stream);
		return 0;
	}
	if (stream->draining)
		stream->left -= (size_t)n;
	if (!stream->pass_on) {
		exec_spill_add(&stream->spill, &stream->excerpt, stream->chunk, (size_t)n);
		sbx_excerpt_add(&stream->excerpt, stream->chunk, (size_t)n);
		if (stream->tap != NULL)
			stream->tap(stream->tap_arg, stream->chunk, (size_t)n);
		return 1;
	}
	stream->chunk_at = 0;
	stream->chunk_end = (size_t)n;
	if (give(stream))
		return stream->fd >= 0;
	await_outer(stream);
	return 0;
}

static void
on_readable(void *arg, uint32_t events)
{
	struct exec_stream *stream = arg;

	(void)events;
	take(stream);
	stream->moved(stream->arg);
}

static void
on_writable(void *arg, uint32_t events)
{
	struct exec_stream *stream = arg;
	struct sbx_err err = { 0 };

	(void)events;
	if (!give(stream))
		return;
	sbx_loop_del(stream->loop, stream->writing);
	stream->writing = NULL;
	if (stream->draining) {
		while (stream->fd >= 0 && take(stream))
			continue;
	} else if (stream->fd >= 0) {
		stream->reading = sbx_loop_add(stream->loop, stream->fd, EPOLLIN, on_readable,
			stream, &err);
		if (stream->reading == NULL)
			give_up(stream, err.sys);
	}
	stream->moved(stream->arg);
}

void
exec_stream_abandon(struct exec_stream *stream)
{
	stream->chunk_at = stream->chunk_end = 0;
	if (stream->loop != NULL)
		end_pipe(stream);
}

/* One that is watched no more for another reason stays so. */
void
exec_stream_pause(struct exec_stream *stream, int paused)
{
	struct sbx_err err = { 0 };

	if (stream->paused == paused)
		return;
	stream->paused = paused;
	if (stream->loop == NULL || stream->fd < 0 || stream->draining)
		return;
	if (paused) {
		mute(stream);
		return;
	}
	stream->reading = sbx_loop_add(stream->loop, stream->fd, EPOLLIN, on_readable, stream,
		&err);
	if (stream->reading == NULL)
		give_up(stream, err.sys);
}

void
exec_stream_drain(struct exec_stream *stream)
{
	int there = 0;

	mute(stream);
	stream->draining = 1;
	/* Counted once: somebody who was given a copy of the pipe could go on writing for ever. */
	if (stream->fd >= 0 && ioctl(stream->fd, FIONREAD, &there) == 0 && there > 0)
		stream->left = (size_t)there;
	if (stream->writing != NULL)
		return; /* on_writable() goes on */
	while (stream->fd >= 0 && take(stream))
		continue;
}

int
exec_stream_is_over(const struct exec_stream *stream)
{
	return stream->fd < 0 && stream->chunk_at == stream->chunk_end;
}

void
exec_stream_stop(struct exec_stream *stream)
{
	if (stream->loop == NULL)
		return;
	end_pipe(stream);
	sbx_loop_del(stream->loop, stream->writing);
	stream->writing = NULL;
	stream->loop = NULL;
}

void
exec_stream_close(struct exec_stream *stream)
{
	exec_stream_stop(stream);
	exec_outer_close(&stream->outer);
	exec_spill_close(&stream->spill);
	sbx_excerpt_done(&stream->excerpt);
	free(stream->chunk);
	stream->chunk = NULL;
}
