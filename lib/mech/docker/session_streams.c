/*
 * The bytes of a session's commands. An output: what comes over the channel goes into the pipe that
 * the caller reads, and what does not fit waits here, at most as much as was granted; room that
 * became free is granted again in large steps. A stdin: read while the inside has room for it.
 *
 * Nobody but us holds an output's end, so it is at its end for the caller when we close it. When
 * the caller closes his end the inside is told, and the command learns it as in any pipeline, by
 * SIGPIPE.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/scoped.h"
#include "mech/docker/session.h"

#define HELD_MAX ((size_t)SBX_CHAN_WINDOW + SBX_CHAN_REST_MAX)
#define GRANT_STEP (SBX_CHAN_WINDOW / 4)
/* Of stdin, not more than this waits for the channel. */
#define FEED_QUEUE_MAX ((size_t)512 * 1024)

static int
is_null(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

/* Our own from now on; the flag is of the open file, of which the caller closes his copy. */
static int
copy(int fd)
{
	SBX_AUTO_FD ours = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	return ours < 0 || sbx_fd_nonblock(ours, 1) < 0 ? -1 : sbx_take_fd(&ours);
}

int
sbx_streams_open(struct sbx_session *session, struct sbx_docker_running *running,
	const struct sbx_mech_command *command, struct sbx_err *err)
{
	const int fds[2] = { command->stdout_fd, command->stderr_fd };

	for (unsigned i = 0; i < 2; i++) {
		struct sbx_docker_stream *output = &running->outputs[i];

		output->window = SBX_CHAN_WINDOW;
		sbx_buf_init(&output->held, HELD_MAX);
		output->fd = copy(fds[i]);
		/* Watched for nothing: a reader that goes away is told in any case. */
		if (output->fd < 0 ||
			(sbx_session_watch(session, output->fd, 0, running->id, i + 1) < 0 &&
				errno != EPERM))
			return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "take an output");
	}
	if (is_null(command->stdin_fd))
		return 0;
	running->credit = SBX_CHAN_WINDOW;
	running->feed_fd = copy(command->stdin_fd);
	return running->feed_fd < 0 ? sbx_fail_sys(err, SBX_E_UNAVAILABLE, "take stdin") : 0;
}

static size_t
held(const struct sbx_docker_stream *output)
{
	return output->held.length - output->held_at;
}

static void
drop_held(struct sbx_docker_stream *output)
{
	sbx_buf_done(&output->held);
	output->held_at = 0;
}

static void
close_output(struct sbx_session *session, struct sbx_docker_stream *output)
{
	if (output->fd < 0)
		return;
	sbx_session_unwatch(session, output->fd);
	close(output->fd);
	output->fd = -1;
	drop_held(output);
}

/* Nobody reads it any more. */
static void
abandon(struct sbx_session *session, struct sbx_docker_running *running, unsigned stream)
{
	struct sbx_docker_stream *output = &running->outputs[stream - 1];

	close_output(session, output);
	if (output->ended || running->detached || running->step >= SBX_STEP_FINISHING)
		return;
	/* A queue that is full is one that nobody inside reads: the channel will be lost by it. */
	(void)!sbx_frames_add(&session->link.frames, SBX_CHAN_END_OF, stream, running->id, NULL, 0);
}

/* Bytes have left us: the inside may send as many again. */
static void
grant(struct sbx_session *session, struct sbx_docker_running *running, unsigned stream,
	size_t length)
{
	struct sbx_docker_stream *output = &running->outputs[stream - 1];

	output->owed += (uint32_t)length;
	if (output->owed < GRANT_STEP || output->ended || running->detached ||
		running->step >= SBX_STEP_FINISHING)
		return;
	/* A queue that is full is one that nobody inside reads: the channel will be lost by it. */
	if (sbx_frames_add(&session->link.frames, SBX_CHAN_CREDIT, stream, running->id,
		    &output->owed, sizeof(output->owed)) < 0)
		return;
	output->window += output->owed;
	output->owed = 0;
}

/* Write as much as goes: its count; with a pipe that nobody reads any more, all of it. */
static size_t
put(struct sbx_session *session, struct sbx_docker_running *running, unsigned stream,
	const char *bytes, size_t length)
{
	struct sbx_docker_stream *output = &running->outputs[stream - 1];
	size_t done = 0;

	while (output->fd >= 0 && done < length) {
		ssize_t n = write(output->fd, bytes + done, length - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return done;
		if (n < 0)
			abandon(session, running, stream);
		else
			done += (size_t)n;
	}
	return length;
}

static void
await_room(struct sbx_session *session, struct sbx_docker_running *running, unsigned stream, int on)
{
	struct sbx_docker_stream *output = &running->outputs[stream - 1];
	struct epoll_event event = { .events = on ? EPOLLOUT : 0,
		.data.u64 = (uint64_t)running->id << 8 | stream };

	if (output->fd < 0 || output->waiting == on)
		return;
	output->waiting = on;
	epoll_ctl(session->epoll_fd, EPOLL_CTL_MOD, output->fd, &event);
}

int
sbx_output_take(struct sbx_session *session, struct sbx_docker_running *running, unsigned stream,
	const char *bytes, size_t length)
{
	struct sbx_docker_stream *output = &running->outputs[stream - 1];
	size_t gone = 0;

	if (output->ended || length > output->window)
		return -1;
	output->window -= length;
	if (held(output) == 0)
		gone = put(session, running, stream, bytes, length);
	if (gone < length) {
		if (output->held_at > 0 && output->held.length + length > output->held.room) {
			sbx_buf_consume(&output->held, output->held_at);
			output->held_at = 0;
		}
		if (sbx_buf_add(&output->held, bytes + gone, length - gone) < 0)
			return -1;
		await_room(session, running, stream, 1);
	}
	grant(session, running, stream, gone);
	return 0;
}

void
sbx_output_end(struct sbx_session *session, struct sbx_docker_running *running, unsigned stream)
{
	struct sbx_docker_stream *output = &running->outputs[stream - 1];

	output->ended = 1;
	if (held(output) == 0)
		close_output(session, output);
}

void
sbx_output_ready(struct sbx_session *session, struct sbx_docker_running *running, unsigned stream,
	uint32_t events)
{
	struct sbx_docker_stream *output = &running->outputs[stream - 1];
	size_t was = held(output), gone;

	if ((events & EPOLLERR) != 0) {
		abandon(session, running, stream);
		return;
	}
	if (was == 0)
		return;
	gone = put(session, running, stream, output->held.data + output->held_at, was);
	if (output->fd < 0 || gone == was) {
		drop_held(output);
		await_room(session, running, stream, 0);
		if (output->ended)
			close_output(session, output);
	} else {
		output->held_at += gone;
	}
	grant(session, running, stream, gone);
}

int
sbx_outputs_are_over(const struct sbx_docker_running *running)
{
	return running->outputs[0].fd < 0 && running->outputs[1].fd < 0;
}

static void
await_feed(struct sbx_session *session, struct sbx_docker_running *running, int on)
{
	if (running->feed_waiting == on)
		return;
	/* Out, and not only watched for nothing: the other end's close would be told again and
	 * again. A file cannot be watched, and needs not: it is read until there is no credit. */
	if (on)
		on = sbx_session_watch(session, running->feed_fd, EPOLLIN, running->id, 0) == 0;
	else
		sbx_session_unwatch(session, running->feed_fd);
	running->feed_waiting = on;
}

void
sbx_feed_end(struct sbx_session *session, struct sbx_docker_running *running)
{
	if (running->feed_fd < 0)
		return;
	await_feed(session, running, 0);
	close(running->feed_fd);
	running->feed_fd = -1;
}

void
sbx_feed(struct sbx_session *session, struct sbx_docker_running *running)
{
	struct sbx_frames *frames = &session->link.frames;
	char piece[SBX_CHAN_DATA_MAX];

	while (running->feed_fd >= 0 && running->credit > 0 && running->step == SBX_STEP_RUNNING &&
		sbx_frames_queued(frames) < FEED_QUEUE_MAX) {
		size_t most = running->credit < sizeof(piece) ? running->credit : sizeof(piece);
		ssize_t n = read(running->feed_fd, piece, most);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			await_feed(session, running, 1);
			return;
		}
		if (n > 0) {
			running->credit -= (uint64_t)n;
			(void)!sbx_frames_add(frames, SBX_CHAN_DATA, 0, running->id, piece,
				(size_t)n); /* there is room: see above */
			continue;
		}
		(void)!sbx_frames_add(frames, SBX_CHAN_END_OF, 0, running->id, NULL, 0);
		sbx_feed_end(session, running);
	}
	if (running->feed_fd >= 0)
		await_feed(session, running, 0);
}

void
sbx_running_free(struct sbx_session *session, struct sbx_docker_running *running)
{
	sbx_feed_end(session, running);
	for (int i = 0; i < 2; i++) {
		close_output(session, &running->outputs[i]);
		sbx_buf_done(&running->outputs[i].held);
	}
	free(running);
}
