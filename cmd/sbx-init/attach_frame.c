/*
 * Frames: taken apart and checked against their own lengths as they come, and queued as they go.
 * Knows nothing of what a command is but its id.
 */
#include "attach.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "init.h"

#define KEPT_ROOM ((size_t)256 * 1024)

int
attach_say(struct attach *attach, enum sbx_chan_type type, uint32_t stream, uint32_t id,
	const void *payload, size_t length)
{
	struct sbx_chan_head head = { .length = (uint32_t)length,
		.type = (uint16_t)type,
		.stream = (uint16_t)stream,
		.id = id };

	if (sbx_buf_add(&attach->out, &head, sizeof(head)) != 0)
		return -1;
	return sbx_buf_add(&attach->out, payload, length);
}

char *
attach_data_place(struct attach *attach)
{
	char *place = sbx_buf_reserve(&attach->out,
		sizeof(struct sbx_chan_head) + SBX_CHAN_DATA_MAX);

	return place == NULL ? NULL : place + sizeof(struct sbx_chan_head);
}

void
attach_data_done(struct attach *attach, uint32_t stream, uint32_t id, size_t length)
{
	struct sbx_chan_head head = { .length = (uint32_t)length,
		.type = SBX_CHAN_DATA,
		.stream = (uint16_t)stream,
		.id = id };

	if (length == 0)
		return;
	memcpy(attach->out.data + attach->out.length, &head, sizeof(head));
	sbx_buf_commit(&attach->out, sizeof(head) + length);
}

size_t
attach_queued(const struct attach *attach)
{
	return attach->out.length - attach->out_at;
}

int
attach_flush(struct attach *attach)
{
	while (attach_queued(attach) > 0) {
		ssize_t n = write(STDOUT_FILENO, attach->out.data + attach->out_at,
			attach_queued(attach));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0)
			return -1;
		attach->out_at += (size_t)n;
	}
	/* What is written makes room when it is the larger part, so that bytes move at most once. */
	if (attach->out_at >= attach->out.length - attach->out_at) {
		sbx_buf_consume(&attach->out, attach->out_at);
		attach->out_at = 0;
	}
	return 0;
}

static int
send_signal(struct attach *attach, const struct attach_command *command,
	const struct sbx_chan_head *head, const char *payload)
{
	uint32_t signo;

	if (head->length != sizeof(signo))
		return -1;
	memcpy(&signo, payload, sizeof(signo));
	if (command->phase != ATTACH_RUNS || command->files_pid != 0)
		return 0; /* its end is on its way */
	return attach_tell(attach, SBX_INIT_SIGNAL, head->id, signo);
}

static int
resize(const struct attach_command *command, const struct sbx_chan_head *head, const char *payload)
{
	uint32_t size;

	if (head->length != sizeof(size))
		return -1;
	memcpy(&size, payload, sizeof(size));
	/* One that is no terminal, or is closed, has no size. */
	if (command->out[0].fd >= 0)
		(void)init_pty_size(command->out[0].fd, size);
	return 0;
}

static int
take_for_command(struct attach *attach, const struct sbx_chan_head *head, const char *payload)
{
	struct attach_command *command = attach_find(attach, head->id);
	uint32_t credit;

	if (head->type == SBX_CHAN_FINISH)
		return command == NULL || head->length != 0 ? -1 : attach_finish(attach, command);
	if (command == NULL)
		return 0; /* it was on its way when FINISHED was said */
	if (head->type == SBX_CHAN_DATA) {
		if (head->stream != 0 || head->length > command->in_window || command->in_over)
			return -1;
		return attach_feed(attach, command, payload, head->length);
	}
	if (head->type == SBX_CHAN_END_OF) {
		if (head->stream > 2 || head->length != 0)
			return -1;
		if (head->stream > 0)
			return attach_end_of(attach, command, head->stream - 1);
		command->in_over = 1;
		return attach_pour(attach, command);
	}
	if (head->type == SBX_CHAN_RESIZE)
		return resize(command, head, payload);
	if (head->type == SBX_CHAN_SIGNAL)
		return send_signal(attach, command, head, payload);
	if (head->length != sizeof(credit) || head->stream < 1 || head->stream > 2)
		return -1;
	memcpy(&credit, payload, sizeof(credit));
	if (__builtin_add_overflow(command->out[head->stream - 1].credit, credit,
		    &command->out[head->stream - 1].credit))
		return -1;
	return 0;
}

static int
ask_background(struct attach *attach, const struct sbx_chan_head *head, const char *payload)
{
	uint32_t end;

	if (head->length != sizeof(end))
		return -1;
	memcpy(&end, payload, sizeof(end));
	return attach_tell(attach, SBX_INIT_BACKGROUND, 0, end != 0);
}

static int
take_frame(struct attach *attach, const struct sbx_chan_head *head, const char *payload)
{
	switch (head->type) {
	case SBX_CHAN_EXEC:
		return attach_exec(attach, head->id, payload, head->length);
	case SBX_CHAN_FILES:
		return attach_files(attach, head->id, payload, head->length);
	case SBX_CHAN_KILL_ALL:
		return head->length != 0 ? -1 : attach_tell(attach, SBX_INIT_KILL, 0, 0);
	case SBX_CHAN_BACKGROUND:
		return ask_background(attach, head, payload);
	case SBX_CHAN_PING:
		return head->length != 0 ? -1 : attach_say(attach, SBX_CHAN_PONG, 0, 0, NULL, 0);
	case SBX_CHAN_FINISH:
	case SBX_CHAN_DATA:
	case SBX_CHAN_END_OF:
	case SBX_CHAN_CREDIT:
	case SBX_CHAN_SIGNAL:
	case SBX_CHAN_RESIZE:
		return take_for_command(attach, head, payload);
	default: /* a number, and not our own */
		return -1;
	}
}

static uint32_t
longest(uint16_t type)
{
	return type == SBX_CHAN_EXEC || type == SBX_CHAN_FILES ? SBX_CHAN_PAYLOAD_MAX :
								 SBX_CHAN_DATA_MAX;
}

int
attach_take(struct attach *attach, const char *bytes, size_t length)
{
	struct sbx_chan_head head;
	size_t at = 0;

	if (sbx_buf_add(&attach->in, bytes, length) != 0)
		return -1;
	while (attach->in.length - at >= sizeof(head)) {
		memcpy(&head, attach->in.data + at, sizeof(head));
		if (head.length > longest(head.type))
			return -1;
		if (attach->in.length - at - sizeof(head) < head.length)
			break;
		if (take_frame(attach, &head, attach->in.data + at + sizeof(head)) != 0)
			return -1;
		at += sizeof(head) + head.length;
	}
	sbx_buf_consume(&attach->in, at);
	if (attach->in.length == 0 && attach->in.room > KEPT_ROOM)
		sbx_buf_done(&attach->in);
	return 0;
}
