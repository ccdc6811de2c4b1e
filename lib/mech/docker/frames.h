/*
 * Frames of mech/channel.h over two non-blocking pipes, from the host's side. What arrives is
 * hostile: nothing is answered whose head was not checked, and neither direction grows beyond its
 * cap.
 */
#ifndef SBX_MECH_DOCKER_FRAMES_H
#define SBX_MECH_DOCKER_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "mech/channel.h"

/* Holds a few of the largest frames that come; of those that go, four of the largest. */
#define SBX_FRAMES_IN_BYTES ((size_t)256 * 1024)
#define SBX_FRAMES_OUT_MAX ((size_t)4 * SBX_CHAN_PAYLOAD_MAX)

struct sbx_frames {
	int in_fd, out_fd; /* borrowed */
	char *in; /* owned, SBX_FRAMES_IN_BYTES */
	size_t in_at, in_end; /* what was read and not taken yet */
	struct sbx_buf out;
	size_t out_at; /* what of it went out already */
};

struct sbx_frame {
	struct sbx_chan_head head;
	const char *payload; /* borrowed until the next read(); not aligned */
};

void sbx_frames_init(struct sbx_frames *frames, int in_fd, int out_fd);
void sbx_frames_done(struct sbx_frames *frames); /* a zeroed one is fine */

/* Take what the pipe has, once: 1, 0 if there is nothing now, -1 at its end or when it is broken. */
int sbx_frames_read(struct sbx_frames *frames) __attribute__((warn_unused_result));

/*
 * The next whole frame: 1, 0 if more has to be read first, -1 for what is no frame from inside: an
 * unknown type, a length that its type does not have, an id or a stream where it has none, or none
 * where it has one. After -1 the channel is of no use.
 */
int sbx_frames_next(struct sbx_frames *frames, struct sbx_frame *frame)
	__attribute__((warn_unused_result));

/* Queue one: 0, or -1 when the queue is full. */
int sbx_frames_add(struct sbx_frames *frames, enum sbx_chan_type type, unsigned stream, uint32_t id,
	const void *payload, size_t length) __attribute__((warn_unused_result));

/* Write what is queued: 1 when nothing is left, 0 when the pipe is full, -1 when it is broken. */
int sbx_frames_write(struct sbx_frames *frames) __attribute__((warn_unused_result));
size_t sbx_frames_queued(const struct sbx_frames *frames); /* bytes that wait */

#endif
