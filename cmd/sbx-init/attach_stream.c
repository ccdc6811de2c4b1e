/*
 * Bytes between frames and pipes, within what each side has room for: an output is read only while
 * the host granted credit for it, and a stdin takes what its window allowed and gives credit back as
 * its pipe takes bytes. One that is slow holds up itself and nothing else.
 */
#include "attach.h"

#include <errno.h>
#include <unistd.h>

#include "base/scoped.h"

static uint32_t
allowed(const struct attach_command *command, const struct attach_stream *stream)
{
	uint32_t most = command->phase == ATTACH_FINISHES ? stream->rest : stream->credit;

	return most < SBX_CHAN_DATA_MAX ? most : SBX_CHAN_DATA_MAX;
}

void
attach_wants(const struct attach *attach, struct attach_command *command, struct pollfd *fds)
{
	int full = attach_queued(attach) >= ATTACH_QUEUE_LONG;

	fds[0] = (struct pollfd){ .fd = -1, .events = POLLOUT };
	for (int i = 0; i < 2; i++)
		fds[1 + i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	if (command->id == 0)
		return;
	if (command->in.length > 0)
		fds[0].fd = command->in_fd;
	for (int i = 0; i < 2; i++) {
		if (!full && allowed(command, &command->out[i]) > 0)
			fds[1 + i].fd = command->out[i].fd;
	}
}

int
attach_end_of(struct attach *attach, struct attach_command *command, int index)
{
	struct attach_stream *stream = &command->out[index];

	sbx_scoped_close(&stream->fd);
	stream->fd = -1;
	if (stream->over)
		return 0;
	stream->over = 1;
	if (attach_say(attach, SBX_CHAN_END_OF, (uint32_t)index + 1, command->id, NULL, 0) != 0)
		return -1;
	if (command->files_pid > 0 && command->phase == ATTACH_RUNS && command->out[0].over &&
		command->out[1].over)
		return attach_files_ended(attach, command);
	return 0;
}

/* One read: a stream that never ends takes its turn like the others. */
static int
take_output(struct attach *attach, struct attach_command *command, int index)
{
	struct attach_stream *stream = &command->out[index];
	int finishes = command->phase == ATTACH_FINISHES;
	uint32_t most = allowed(command, stream);
	char *place;
	ssize_t n;

	if (most == 0 || attach_queued(attach) >= ATTACH_QUEUE_LONG)
		return 0;
	place = attach_data_place(attach);
	if (place == NULL)
		return -1;
	n = read(stream->fd, place, most);
	if (n > 0) {
		attach_data_done(attach, (uint32_t)index + 1, command->id, (size_t)n);
		if (finishes)
			stream->rest -= (uint32_t)n;
		else
			stream->credit -= (uint32_t)n;
		if (!finishes || stream->rest > 0)
			return 0;
	} else if (n < 0 && (errno == EINTR || (errno == EAGAIN && !finishes))) {
		return 0;
	}
	return attach_end_of(attach, command, index);
}

static int
grant(struct attach *attach, struct attach_command *command, size_t bytes)
{
	uint32_t credit = (uint32_t)bytes;

	if (bytes == 0)
		return 0;
	command->in_window += credit;
	return attach_say(attach, SBX_CHAN_CREDIT, 0, command->id, &credit, sizeof(credit));
}

/* What nobody reads any more is dropped as it comes, and the host may send on until it notices. */
int
attach_pour(struct attach *attach, struct attach_command *command)
{
	size_t gone = 0;

	while (gone < command->in.length) {
		ssize_t n = command->in_fd < 0 ?
			0 :
			write(command->in_fd, command->in.data + gone, command->in.length - gone);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0) {
			sbx_scoped_close(&command->in_fd);
			command->in_fd = -1;
			gone = command->in.length;
			break;
		}
		gone += (size_t)n;
	}
	sbx_buf_consume(&command->in, gone);
	if (command->in_over && command->in.length == 0) {
		sbx_scoped_close(&command->in_fd);
		command->in_fd = -1;
	}
	return command->in_over ? 0 : grant(attach, command, gone);
}

int
attach_feed(struct attach *attach, struct attach_command *command, const char *bytes, size_t length)
{
	if (sbx_buf_add(&command->in, bytes, length) != 0)
		return -1;
	command->in_window -= (uint32_t)length;
	return attach_pour(attach, command);
}

int
attach_move(struct attach *attach, struct attach_command *command, const struct pollfd *fds)
{
	if (command->id == 0)
		return 0;
	if (fds[0].fd >= 0 && fds[0].revents != 0 && attach_pour(attach, command) != 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		if (fds[1 + i].fd >= 0 && fds[1 + i].revents != 0 &&
			take_output(attach, command, i) != 0)
			return -1;
	}
	return attach_finished(attach, command);
}
