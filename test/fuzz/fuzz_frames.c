/*
 * What a container says, cut into reads of its own choosing: every frame that is taken has a head
 * that its type allows and lies within what was read; nothing is taken after a refusal.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "mech/docker/frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned sum; /* so that each byte of a payload is looked at */

static int
take_all(struct sbx_frames *frames)
{
	struct sbx_frame frame;
	int got;

	while ((got = sbx_frames_next(frames, &frame)) > 0) {
		if (frame.head.length > SBX_CHAN_DATA_MAX || frame.head.stream > 2 ||
			frames->in_at > frames->in_end ||
			frame.payload + frame.head.length != frames->in + frames->in_at)
			abort();
		for (uint32_t i = 0; i < frame.head.length; i++)
			sum += (unsigned char)frame.payload[i];
	}
	return got;
}

/* The first byte is how much comes at once. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int ends[2];
	struct sbx_frames frames;
	size_t step, at = 1;

	if (size < 2)
		return 0;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		abort();
	step = (size_t)data[0] * 16 + 1;
	sbx_frames_init(&frames, ends[0], -1);
	for (int good = 1; good && at < size; at += step) {
		size_t piece = size - at < step ? size - at : step;

		if (write(ends[1], data + at, piece) != (ssize_t)piece ||
			sbx_frames_read(&frames) != 1)
			abort();
		good = take_all(&frames) == 0;
	}
	sbx_frames_done(&frames);
	close(ends[0]);
	close(ends[1]);
	return 0;
}
