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

/* Without groups nobody can tell whose a left-over is: all go once no command runs. */
static int
busy(const struct init *init)
{
	for (int i = 0; i < init->commands_end; i++) {
		if (init->commands[i].id != 0 && init->commands[i].pid > 0)
			return 1;
	}
	return 0;
}

static void
report(struct init *init, struct init_command *command, int status, const struct rusage *usage)
{
	struct sbx_init_reply reply = {
		.answer = command->swept ? SBX_INIT_ENDED : SBX_INIT_EXITED,
		.id = command->id,
		.pid = command->pid,
		.status = status,
		.cpu_us = microseconds(&usage->ru_utime) + microseconds(&usage->ru_stime),
	};

	command->pid = 0;
	if (command->kill_fd < 0)
		command->id = 0;
	if (!command->grouped && !busy(init))
		init_sweep(init, command->caller);
	init_answer(init, command->caller, &reply);
}

void
init_reap(struct init *init)
{
	struct rusage usage;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0) {
		struct init_command *command = find(init, pid);

		if (command != NULL)
			report(init, command, status, &usage);
	}
}
