/* The dead: every orphan of the environment becomes our child and is collected here. */
#include "init.h"

#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>

static struct init_command *
find(struct init *init, pid_t pid)
{
	for (int i = 0; i < init->commands_end; i++) {
		if (init->commands[i].id != 0 && init->commands[i].pid == pid)
			return &init->commands[i];
	}
	return NULL;
}

static uint64_t
microseconds(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000u + (uint64_t)t->tv_usec;
}

int
init_busy(const struct init *init)
{
	for (int i = 0; i < init->commands_end; i++) {
		if (init->commands[i].id != 0 && init->commands[i].pid > 0 &&
			!init->commands[i].ended)
			return 1;
	}
	return 0;
}

static void
end(struct init *init, struct init_command *command, int status, const struct rusage *usage)
{
	command->ended = 1;
	command->status = status;
	command->cpu_us = microseconds(&usage->ru_utime) + microseconds(&usage->ru_stime);
	init->unreported++;
}

static void
report(struct init *init, struct init_command *command, int left_over, int alive)
{
	struct sbx_init_reply reply = {
		.answer = command->swept ? SBX_INIT_ENDED : SBX_INIT_EXITED,
		.id = command->id,
		.pid = command->pid,
		.status = command->status,
		.left_over = left_over ? 1 : 0,
		.stays = command->stays && alive ? 1 : 0,
		.cpu_us = command->cpu_us,
	};

	command->pid = 0;
	command->ended = 0;
	init->unreported--;
	if (command->kill_fd < 0)
		command->id = 0;
	init_answer(init, command->caller, &reply);
}

/* Whatever a descendant did, its parent is one of ours at last: no child is nobody left. */
int
init_collect(struct init *init)
{
	struct rusage usage;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG | __WALL, &usage)) > 0) {
		struct init_command *command = find(init, pid);

		if (command != NULL && !command->ended)
			end(init, command, status, &usage);
	}
	return pid == 0;
}

/*
 * A command with a group is told of alone; the others when their left-overs are gone. Without groups
 * nobody can tell whose a left-over is: all go once no command runs, unless some were to stay.
 */
void
init_reap(struct init *init)
{
	int alive = init_collect(init), ungrouped = 0, left_over = 0;

	if (!alive)
		init->background = 0;
	for (int i = 0; i < init->commands_end; i++) {
		const struct init_command *command = &init->commands[i];

		ungrouped |= command->ended && !command->grouped;
		if (command->ended && command->stays && alive)
			init->background = 1;
	}
	if (ungrouped && alive && !init->background && !init_busy(init)) {
		left_over = 1;
		init_sweep(init, -1);
	}
	for (int i = 0; init->unreported > 0 && i < init->commands_end; i++) {
		if (init->commands[i].ended)
			report(init, &init->commands[i], left_over && !init->commands[i].grouped,
				alive);
	}
}
