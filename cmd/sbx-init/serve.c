/* What callers ask for: EXEC, SIGNAL, KILL, DONE, PING; and what happens to their commands when they go away. */
#include "init.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIGRTMIN_KERNEL 32u /* signal(7): libc takes the first of them for itself */

void
init_hang_up(const struct init *init, int caller)
{
	shutdown(init->callers[caller], SHUT_RDWR);
}

void
init_answer(struct init *init, int caller, const struct sbx_init_reply *reply)
{
	struct sbx_init_reply out = *reply;

	out.magic = SBX_INIT_MAGIC;
	out.version = SBX_INIT_VERSION;
	/* A caller that lets hundreds of answers lie is lost; its end of file follows from this. */
	if (send(init->callers[caller], &out, sizeof(out), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		init_hang_up(init, caller);
}

static void
forget(struct init_command *command)
{
	if (command->kill_fd >= 0)
		close(command->kill_fd);
	*command = (struct init_command){ .kill_fd = -1 };
}

/* The group has a new owner: an older command of it may be a zombie still, but kills it no more. */
static void
hand_group_over(struct init_command *command)
{
	close(command->kill_fd);
	command->kill_fd = -1;
	if (command->pid == 0)
		forget(command);
}

/*
 * An entry for a new command. Whoever sends a group has claimed it and found it empty, so an older
 * entry with the same group is over, whoever its caller was.
 */
static struct init_command *
enter(struct init *init, int caller, struct init_message *message)
{
	struct init_command *spare = NULL;
	struct stat st = { 0 };
	int has_group = message->job.kill_fd >= 0;

	if (has_group && fstat(message->job.kill_fd, &st) != 0)
		return NULL;
	for (int i = 0; i < init->commands_end; i++) {
		struct init_command *command = &init->commands[i];

		if (has_group && command->kill_fd >= 0 && command->group == st.st_ino)
			hand_group_over(command);
		if (command->id == 0 && spare == NULL)
			spare = command;
	}
	if (spare == NULL && init->commands_end < INIT_COMMANDS_MAX)
		spare = &init->commands[init->commands_end++];
	if (spare == NULL)
		return NULL;
	*spare = (struct init_command){ .id = message->head.id, .caller = caller, .kill_fd = -1 };
	if (has_group) {
		spare->grouped = 1;
		spare->kill_fd = message->job.kill_fd;
		spare->group = st.st_ino;
		message->fds[4] = -1;
	}
	return spare;
}

static void
execute(struct init *init, int caller, struct init_message *message)
{
	struct sbx_init_reply reply = { .answer = SBX_INIT_STARTED, .id = message->head.id };
	struct init_command *command = enter(init, caller, message);

	if (command == NULL) {
		reply.answer = SBX_INIT_FAILED;
		reply.stage = SBX_STAGE_REQUEST;
		reply.error = EAGAIN;
		init_answer(init, caller, &reply);
		return;
	}
	command->stays = message->job.stays && !command->grouped;
	command->pid = init_spawn(init, &message->job);
	if (command->pid < 0) {
		reply.answer = SBX_INIT_FAILED;
		reply.stage = init->failure->stage;
		reply.error = init->failure->error;
		forget(command);
	}
	reply.pid = command->pid;
	init_answer(init, caller, &reply);
}

static void
kill_one(const struct init_command *command)
{
	ssize_t n = 0;

	if (command->kill_fd >= 0)
		n = write(command->kill_fd, "1", 1);
	if (command->pid > 0 && (command->kill_fd < 0 || n != 1))
		kill(command->pid, SIGKILL);
}

static void
kill_for(struct init *init, int caller, uint32_t id)
{
	struct sbx_init_reply reply = { .answer = SBX_INIT_KILLED, .id = id };

	if (id == 0)
		init_sweep(init, caller);
	for (int i = 0; id != 0 && i < init->commands_end; i++) {
		if (init->commands[i].id == id && init->commands[i].caller == caller)
			kill_one(&init->commands[i]);
	}
	init_answer(init, caller, &reply);
}

/* Its session is its own, so its group is nobody else's. */
static void
signal_for(const struct init *init, int caller, uint32_t id, uint32_t signo)
{
	for (int i = 0; i < init->commands_end; i++) {
		const struct init_command *command = &init->commands[i];

		if (command->id == id && command->caller == caller && command->pid > 0)
			kill(-command->pid, (int)signo);
	}
}

static void
done_with(struct init *init, int caller, uint32_t id)
{
	for (int i = 0; i < init->commands_end; i++) {
		struct init_command *command = &init->commands[i];

		if (command->id == id && command->caller == caller && command->pid == 0)
			forget(command);
	}
}

int
init_serve(struct init *init, int caller)
{
	struct init_message message;
	int rc = init_receive(init->callers[caller], &message);
	struct sbx_init_reply pong = { .answer = SBX_INIT_PONG, .id = message.head.id };

	if (rc > 0 && message.head.magic == SBX_INIT_MAGIC) {
		if (message.head.op == SBX_INIT_EXEC)
			execute(init, caller, &message);
		else if (message.head.op == SBX_INIT_KILL)
			kill_for(init, caller, message.head.id);
		else if (message.head.op == SBX_INIT_DONE && message.head.id != 0)
			done_with(init, caller, message.head.id);
		else if (message.head.op == SBX_INIT_SIGNAL && message.head.id != 0 &&
			message.head.flags > 0 && message.head.flags < SIGRTMIN_KERNEL)
			signal_for(init, caller, message.head.id, message.head.flags);
		else if (message.head.op == SBX_INIT_BACKGROUND && init->contained)
			init_background(init, caller, message.head.id, message.head.flags != 0);
		else if (message.head.op == SBX_INIT_PTY)
			init_pty_answer(init, caller, message.head.id, message.head.flags);
		else if (message.head.op == SBX_INIT_PING)
			init_answer(init, caller, &pong);
		else
			rc = -1;
	}
	init_release(&message);
	return rc > 0 ? 0 : -1;
}

void
init_drop_caller(struct init *init, int caller)
{
	int ungrouped = 0;

	for (int i = 0; i < init->commands_end; i++) {
		struct init_command *command = &init->commands[i];

		if (command->id == 0 || command->caller != caller)
			continue;
		if (!command->grouped && command->pid > 0)
			ungrouped = 1;
		kill_one(command);
		forget(command);
	}
	if (ungrouped)
		init_sweep(init, caller);
	close(init->callers[caller]);
	init->callers[caller] = -1;
}
