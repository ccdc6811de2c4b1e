/*
 * The end of everything but pid 1. In native that is kill(-1), which passes pid 1 over: it holds
 * the task list, and a fork in flight fails on its pending signal, so nothing escapes.
 *
 * In a container there are processes of uid 0 beside us, which must live. So the signal is sent with
 * the commands' uid as our effective one, a uid that nobody has as our real one, and no effective
 * capability: it reaches what is the commands' and nothing else. Our saved uid stays 0 meanwhile,
 * so that no command may signal or trace us, and nothing is forked, which at the pids limit would
 * fail. gVisor walks a list that may be old when it ends: there it is done again until nobody is
 * left.
 */
#include "init.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/caps.h"
#include "mech/channel.h"

#define ROUNDS 100
#define ROUND_MS 20
#define NOBODY 65533

static void
kill_commands(void)
{
	/* By the system call: libc would do it for all threads, of which there are none. */
	if (syscall(SYS_setresuid, NOBODY, SBX_CHAN_UID, 0) != 0 ||
		sbx_caps_set(INIT_CONTAIN_CAPS, 0) != 0)
		_exit(1);
	kill(-1, SIGKILL);
	if (syscall(SYS_setresuid, 0, 0, 0) != 0 ||
		sbx_caps_set(INIT_CONTAIN_CAPS, INIT_CONTAIN_CAPS) != 0)
		_exit(1); /* the container ends with us */
}

/* The bound is for a process that does not die: one in the middle of a write to a dead disk. */
static void
sweep_container(struct init *init)
{
	struct pollfd wait = { .fd = init->signal_fd, .events = POLLIN };
	struct signalfd_siginfo info;

	for (int round = 0; round < ROUNDS; round++) {
		kill_commands();
		if (!init_collect(init))
			return;
		poll(&wait, 1, ROUND_MS);
		while (read(init->signal_fd, &info, sizeof(info)) > 0)
			;
		if (!init_collect(init))
			return;
	}
}

void
init_sweep(struct init *init, int caller)
{
	for (int i = 0; i < init->commands_end; i++) {
		struct init_command *command = &init->commands[i];

		if (command->id != 0 && command->pid > 0 && !command->ended &&
			command->caller != caller)
			command->swept = 1;
	}
	if (init->contained)
		sweep_container(init);
	else
		kill(-1, SIGKILL);
}
