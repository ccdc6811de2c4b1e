/*
 * A command's life as the host sees it: asked for, told of by pid 1 (or, for FILES, by its process's
 * end), finished when its streams have given what they held.
 */
#include "attach.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/scoped.h"

struct attach_command *
attach_find(struct attach *attach, uint32_t id)
{
	for (int i = 0; id != 0 && i < attach->commands_end; i++) {
		if (attach->commands[i].id == id)
			return &attach->commands[i];
	}
	return NULL;
}

int
attach_runs(const struct attach *attach)
{
	for (int i = 0; i < attach->commands_end; i++) {
		if (attach->commands[i].id != 0 && attach->commands[i].phase == ATTACH_RUNS)
			return 1;
	}
	return 0;
}

struct attach_command *
attach_enter(struct attach *attach, uint32_t id)
{
	struct attach_command *command = NULL;

	if (id == 0 || attach_find(attach, id) != NULL)
		return NULL;
	for (int i = 0; command == NULL && i < attach->commands_end; i++) {
		if (attach->commands[i].id == 0)
			command = &attach->commands[i];
	}
	if (command == NULL && attach->commands_end < SBX_CHAN_COMMANDS_MAX)
		command = &attach->commands[attach->commands_end++];
	if (command == NULL)
		return NULL;
	attach_count_start(attach, command);
	*command = (struct attach_command){ .id = id,
		.phase = ATTACH_RUNS,
		.in_fd = -1,
		.out = { { .fd = -1, .credit = SBX_CHAN_WINDOW },
			{ .fd = -1, .credit = SBX_CHAN_WINDOW } },
		.oom_before = command->oom_before,
		.pids_before = command->pids_before };
	sbx_buf_init(&command->in, SBX_CHAN_WINDOW);
	return command;
}

static void
leave(struct attach *attach, struct attach_command *command)
{
	sbx_scoped_close(&command->in_fd);
	sbx_buf_done(&command->in);
	*command = (struct attach_command){ .id = 0 };
	while (attach->commands_end > 0 && attach->commands[attach->commands_end - 1].id == 0)
		attach->commands_end--;
}

int
attach_failed(struct attach *attach, struct attach_command *command, enum sbx_init_stage stage,
	int error)
{
	struct sbx_chan_end end = { .stage = stage, .error = error };

	command->phase = ATTACH_OVER;
	return attach_say(attach, SBX_CHAN_FAILED, 0, command->id, &end, sizeof(end));
}

static int
ended(struct attach *attach, struct attach_command *command, enum sbx_chan_type type,
	const struct sbx_init_reply *reply)
{
	struct sbx_chan_end end = {
		.status = reply->status, .pid = reply->pid, .cpu_us = reply->cpu_us
	};

	/* The host is told why before it is told that. */
	if (command->files_pid == 0 && attach_count_look(attach) != 0)
		return -1;
	command->phase = ATTACH_OVER;
	command->left_over = reply->left_over;
	command->stays = reply->stays;
	return attach_say(attach, type, 0, command->id, &end, sizeof(end));
}

/* Both of its pipes are at an end, so it is ending: of one, the host may have let go before. */
int
attach_files_ended(struct attach *attach, struct attach_command *command)
{
	struct sbx_init_reply reply = { .pid = command->files_pid };

	while (waitpid(command->files_pid, &reply.status, 0) < 0 && errno == EINTR)
		;
	return ended(attach, command, SBX_CHAN_EXITED, &reply);
}

static int
tell_background(struct attach *attach, const struct sbx_init_reply *reply)
{
	const struct sbx_chan_background is = { .processes = (uint32_t)reply->status,
		.error = reply->error };

	return attach_say(attach, SBX_CHAN_BACKGROUND_IS, 0, 0, &is, sizeof(is));
}

int
attach_reply(struct attach *attach, const struct sbx_init_reply *reply)
{
	struct attach_command *command = attach_find(attach, reply->id);
	struct sbx_chan_end started = { .pid = reply->pid };

	if (reply->answer == SBX_INIT_KILLED && attach->counters.sweeps > 0) {
		attach->counters.sweeps--;
		return 0;
	}
	if (reply->answer == SBX_INIT_BACKGROUND_IS)
		return tell_background(attach, reply);
	if (reply->answer == SBX_INIT_KILLED)
		return attach_say(attach, SBX_CHAN_KILLED, 0, 0, NULL, 0);
	if (command == NULL || command->phase != ATTACH_RUNS || command->files_pid != 0)
		return -1;
	switch ((enum sbx_init_answer)reply->answer) {
	case SBX_INIT_STARTED:
		return attach_say(attach, SBX_CHAN_STARTED, 0, reply->id, &started,
			sizeof(started));
	case SBX_INIT_FAILED:
		return attach_failed(attach, command, (enum sbx_init_stage)reply->stage,
			reply->error);
	case SBX_INIT_EXITED:
		return ended(attach, command, SBX_CHAN_EXITED, reply);
	case SBX_INIT_ENDED:
		return ended(attach, command, SBX_CHAN_ENDED, reply);
	case SBX_INIT_KILLED:
	case SBX_INIT_PONG:
	case SBX_INIT_PTY_MADE:
	case SBX_INIT_BACKGROUND_IS:
		break;
	}
	return -1;
}

int
attach_tell(struct attach *attach, enum sbx_init_op op, uint32_t id, uint32_t flags)
{
	struct sbx_init_request request = { .magic = SBX_INIT_MAGIC,
		.version = SBX_INIT_VERSION,
		.op = (uint16_t)op,
		.id = id,
		.flags = flags };

	return sbx_fd_send(attach->sock, &request, sizeof(request), NULL, 0) < 0 ? -1 : 0;
}

/*
 * Left-overs were ended by pid 1 before it told of the last command's end; while others run they
 * stay until those end. What the pipes hold now is all that will be sent.
 */
int
attach_finish(struct attach *attach, struct attach_command *command)
{
	if (command->phase != ATTACH_OVER)
		return -1;
	command->phase = ATTACH_FINISHES;
	for (int i = 0; i < 2; i++) {
		struct attach_stream *stream = &command->out[i];
		struct pollfd look = { .fd = stream->fd, .events = POLLIN };
		int held = 0;

		/* A terminal counts what came through its line discipline, which a look makes it do. */
		(void)poll(&look, 1, 0);
		if (stream->fd >= 0 && ioctl(stream->fd, FIONREAD, &held) != 0)
			held = 0;
		stream->rest = (uint32_t)held < SBX_CHAN_REST_MAX ? (uint32_t)held :
								    SBX_CHAN_REST_MAX;
		if (stream->rest == 0 && attach_end_of(attach, command, i) != 0)
			return -1;
	}
	return attach_finished(attach, command);
}

int
attach_finished(struct attach *attach, struct attach_command *command)
{
	struct sbx_chan_usage usage;
	uint32_t id = command->id;

	if (command->phase != ATTACH_FINISHES || !command->out[0].over || !command->out[1].over)
		return 0;
	attach_count_usage(attach, command, &usage);
	leave(attach, command);
	return attach_say(attach, SBX_CHAN_FINISHED, 0, id, &usage, sizeof(usage));
}
