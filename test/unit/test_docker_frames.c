/* Frames from inside a container: split anywhere, checked by their heads, bounded both ways. */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "mech/docker/frames.h"
#include "tap.h"

static struct sbx_frames frames;
static int inside_out, inside_in; /* the other ends */

static void
make(void)
{
	int a[2], b[2];

	if (pipe2(a, O_CLOEXEC | O_NONBLOCK) < 0 || pipe2(b, O_CLOEXEC | O_NONBLOCK) < 0)
		exit(1);
	sbx_frames_init(&frames, a[0], b[1]);
	inside_out = a[1];
	inside_in = b[0];
}

static void
unmake(void)
{
	close(frames.in_fd);
	close(frames.out_fd);
	if (inside_out >= 0)
		close(inside_out);
	close(inside_in);
	sbx_frames_done(&frames);
}

static void
put(uint32_t length, unsigned type, unsigned stream, uint32_t id, const void *payload, size_t bytes)
{
	struct sbx_chan_head head = { length, (uint16_t)type, (uint16_t)stream, id };

	if (write(inside_out, &head, sizeof(head)) != (ssize_t)sizeof(head) ||
		(bytes > 0 && write(inside_out, payload, bytes) != (ssize_t)bytes))
		exit(1);
}

static void
test_split(void)
{
	struct sbx_chan_head head = { 5, SBX_CHAN_DATA, 2, 7 };
	char bytes[sizeof(head) + 5];
	struct sbx_frame frame;
	int early = 0;

	make();
	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), "hello", 5);
	is_int(sbx_frames_read(&frames), 0, "an empty pipe has nothing now");
	for (size_t i = 0; i < sizeof(bytes); i++) {
		early |= sbx_frames_next(&frames, &frame) != 0;
		if (write(inside_out, bytes + i, 1) != 1 || sbx_frames_read(&frames) != 1)
			exit(1);
	}
	ok(!early, "a frame that comes byte by byte is none before its last");
	is_int(sbx_frames_next(&frames, &frame), 1, "and one then");
	ok(frame.head.id == 7 && frame.head.stream == 2 && frame.head.length == 5 &&
			memcmp(frame.payload, "hello", 5) == 0,
		"with its head and payload");
	is_int(sbx_frames_next(&frames, &frame), 0, "and no more");
	close(inside_out);
	inside_out = -1;
	is_int(sbx_frames_read(&frames), -1, "the end is told");
	unmake();
}

static int
verdict(uint32_t length, unsigned type, unsigned stream, uint32_t id)
{
	static const char payload[4096];
	struct sbx_frame frame;
	int got;

	make();
	put(length, type, stream, id, payload, length <= sizeof(payload) ? length : 0);
	got = sbx_frames_read(&frames) == 1 ? sbx_frames_next(&frames, &frame) : -2;
	unmake();
	return got;
}

static void
test_heads(void)
{
	is_int(verdict(1, SBX_CHAN_DATA, 1, 1), 1, "DATA of one byte");
	is_int(verdict(0, SBX_CHAN_DATA, 1, 1), -1, "not of none");
	is_int(verdict(SBX_CHAN_DATA_MAX, SBX_CHAN_DATA, 1, 1), 0, "the longest is waited for");
	is_int(verdict(SBX_CHAN_DATA_MAX + 1, SBX_CHAN_DATA, 1, 1), -1, "a longer is not");
	is_int(verdict(UINT32_MAX, SBX_CHAN_DATA, 1, 1), -1, "nor one of 4 GiB");
	is_int(verdict(1, SBX_CHAN_DATA, 0, 1), -1, "no stdin from inside");
	is_int(verdict(1, SBX_CHAN_DATA, 3, 1), -1, "no third output");
	is_int(verdict(1, SBX_CHAN_DATA, 1, 0), -1, "no DATA of nobody");
	is_int(verdict(4, SBX_CHAN_CREDIT, 0, 1), 1, "CREDIT of stdin");
	is_int(verdict(4, SBX_CHAN_CREDIT, 1, 1), -1, "not of an output");
	is_int(verdict(8, SBX_CHAN_CREDIT, 0, 1), -1, "not of eight bytes");
	is_int(verdict(sizeof(struct sbx_chan_end), SBX_CHAN_EXITED, 0, 1), 1, "EXITED");
	is_int(verdict(sizeof(struct sbx_chan_end) - 1, SBX_CHAN_EXITED, 0, 1), -1, "not shorter");
	is_int(verdict(sizeof(struct sbx_chan_end), SBX_CHAN_EXITED, 1, 1), -1, "not of a stream");
	is_int(verdict(sizeof(struct sbx_chan_usage), SBX_CHAN_FINISHED, 0, 9), 1, "FINISHED");
	is_int(verdict(0, SBX_CHAN_OOM, 0, 0), 1, "OOM of the container");
	is_int(verdict(0, SBX_CHAN_OOM, 0, 1), -1, "not of a command");
	is_int(verdict(20, SBX_CHAN_EXEC, 0, 1), -1, "what only goes in does not come out");
	is_int(verdict(0, 0, 0, 0), -1, "no type 0");
	is_int(verdict(0, 0xffff, 0, 0), -1, "no type 65535");
}

static void
test_queue(void)
{
	static char payload[SBX_CHAN_PAYLOAD_MAX];
	struct sbx_chan_head head;
	char echo[3];
	int added = 0;

	make();
	is_int(sbx_frames_add(&frames, SBX_CHAN_DATA, 0, 3, "abc", 3), 0, "one is queued");
	is_int(sbx_frames_write(&frames), 1, "and written");
	ok(read(inside_in, &head, sizeof(head)) == (ssize_t)sizeof(head) && head.id == 3 &&
			head.type == SBX_CHAN_DATA && head.length == 3 &&
			read(inside_in, echo, 3) == 3 && memcmp(echo, "abc", 3) == 0,
		"as it was");
	is_int(sbx_frames_add(&frames, SBX_CHAN_EXEC, 0, 3, payload, sizeof(payload) + 1), -1,
		"one that is too long is refused");
	while (added < 10 &&
		sbx_frames_add(&frames, SBX_CHAN_EXEC, 0, 3, payload, sizeof(payload)) == 0)
		added++;
	is_int(added, 3, "the queue has an end");
	is_int(sbx_frames_write(&frames), 0, "a pipe that is full is waited for");
	ok(sbx_frames_queued(&frames) > SBX_CHAN_PAYLOAD_MAX, "the rest stays");
	close(inside_in);
	inside_in = dup(0);
	is_int(sbx_frames_write(&frames), -1, "a pipe without a reader is broken");
	unmake();
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_split();
	test_heads();
	test_queue();
	return done();
}
