/*
 * Frames between the host and `sbx-init attach`: split and checked on their way in, queued on their
 * way out. Knows what a frame of each type looks like and nothing of what it means.
 */
#include "mech/docker/frames.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define HEAD sizeof(struct sbx_chan_head)

/* What may come from inside. */
struct shape {
	enum sbx_chan_type type;
	uint32_t least, most; /* bytes of payload */
	int of_command; /* has an id; else the id is 0 */
	uint16_t stream_first, stream_last;
};
static const struct shape shapes[] = {
	{ SBX_CHAN_DATA, 1, SBX_CHAN_DATA_MAX, 1, 1, 2 },
	{ SBX_CHAN_END_OF, 0, 0, 1, 1, 2 },
	{ SBX_CHAN_CREDIT, sizeof(uint32_t), sizeof(uint32_t), 1, 0, 0 },
	{ SBX_CHAN_HELLO, sizeof(struct sbx_chan_hello), sizeof(struct sbx_chan_hello), 0, 0, 0 },
	{ SBX_CHAN_STARTED, sizeof(struct sbx_chan_end), sizeof(struct sbx_chan_end), 1, 0, 0 },
	{ SBX_CHAN_FAILED, sizeof(struct sbx_chan_end), sizeof(struct sbx_chan_end), 1, 0, 0 },
	{ SBX_CHAN_EXITED, sizeof(struct sbx_chan_end), sizeof(struct sbx_chan_end), 1, 0, 0 },
	{ SBX_CHAN_ENDED, sizeof(struct sbx_chan_end), sizeof(struct sbx_chan_end), 1, 0, 0 },
	{ SBX_CHAN_OOM, 0, 0, 0, 0, 0 },
	{ SBX_CHAN_FINISHED, sizeof(struct sbx_chan_usage), sizeof(struct sbx_chan_usage), 1, 0,
		0 },
	{ SBX_CHAN_KILLED, 0, 0, 0, 0, 0 },
	{ SBX_CHAN_PONG, 0, 0, 0, 0, 0 },
	{ SBX_CHAN_BACKGROUND_IS, sizeof(struct sbx_chan_background),
		sizeof(struct sbx_chan_background), 0, 0, 0 },
};

_Static_assert(SBX_FRAMES_IN_BYTES >= 2 * (HEAD + SBX_CHAN_DATA_MAX), "a whole frame always fits");
_Static_assert(sizeof(struct sbx_chan_hello) <= SBX_CHAN_DATA_MAX,
	"DATA is the largest that comes");

void
sbx_frames_init(struct sbx_frames *frames, int in_fd, int out_fd)
{
	*frames = (struct sbx_frames){ .in_fd = in_fd, .out_fd = out_fd };
	frames->in = sbx_mem_grow(NULL, 1, SBX_FRAMES_IN_BYTES);
	sbx_buf_init(&frames->out, SBX_FRAMES_OUT_MAX);
}

void
sbx_frames_done(struct sbx_frames *frames)
{
	free(frames->in);
	sbx_buf_done(&frames->out);
	*frames = (struct sbx_frames){ .in_fd = -1, .out_fd = -1 };
}

int
sbx_frames_read(struct sbx_frames *frames)
{
	size_t kept = frames->in_end - frames->in_at;
	ssize_t n;

	/* What is kept is less than one frame if next() was asked to its end: cheap to move. */
	if (frames->in_at > 0)
		memmove(frames->in, frames->in + frames->in_at, kept);
	frames->in_at = 0;
	frames->in_end = kept;
	if (kept == SBX_FRAMES_IN_BYTES)
		return 1;
	do
		n = read(frames->in_fd, frames->in + kept, SBX_FRAMES_IN_BYTES - kept);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -1;
	frames->in_end += (size_t)n;
	return n == 0 ? -1 : 1;
}

static int
is_right(const struct sbx_chan_head *head)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (head->type == shapes[i].type)
			return head->length >= shapes[i].least && head->length <= shapes[i].most &&
				(head->id != 0) == shapes[i].of_command &&
				head->stream >= shapes[i].stream_first &&
				head->stream <= shapes[i].stream_last;
	return 0;
}

int
sbx_frames_next(struct sbx_frames *frames, struct sbx_frame *frame)
{
	size_t kept = frames->in_end - frames->in_at;
	const char *at = frames->in + frames->in_at;

	if (kept < HEAD)
		return 0;
	memcpy(&frame->head, at, HEAD);
	if (!is_right(&frame->head))
		return -1;
	if (kept - HEAD < frame->head.length)
		return 0;
	frame->payload = at + HEAD;
	frames->in_at += HEAD + frame->head.length;
	return 1;
}

int
sbx_frames_add(struct sbx_frames *frames, enum sbx_chan_type type, unsigned stream, uint32_t id,
	const void *payload, size_t length)
{
	struct sbx_chan_head head = { (uint32_t)length, (uint16_t)type, (uint16_t)stream, id };
	char *place;

	if (length > SBX_CHAN_PAYLOAD_MAX ||
		sbx_frames_queued(frames) + HEAD + length > SBX_FRAMES_OUT_MAX)
		return -1;
	if (frames->out_at > 0 && frames->out.length + HEAD + length > frames->out.room) {
		sbx_buf_consume(&frames->out, frames->out_at);
		frames->out_at = 0;
	}
	place = sbx_buf_reserve(&frames->out, HEAD + length);
	if (place == NULL)
		return -1;
	memcpy(place, &head, HEAD);
	if (length > 0)
		memcpy(place + HEAD, payload, length);
	sbx_buf_commit(&frames->out, HEAD + length);
	return 0;
}

int
sbx_frames_write(struct sbx_frames *frames)
{
	while (sbx_frames_queued(frames) > 0) {
		ssize_t n = write(frames->out_fd, frames->out.data + frames->out_at,
			sbx_frames_queued(frames));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		frames->out_at += (size_t)n;
	}
	sbx_buf_clear(&frames->out);
	frames->out_at = 0;
	return 1;
}

size_t
sbx_frames_queued(const struct sbx_frames *frames)
{
	return frames->out.length - frames->out_at;
}
