/*
 * SIGINT, SIGTERM and SIGHUP: held from before the command starts until nothing of it is left, read
 * through the loop meanwhile; then we die of them as anybody would. One that we were started to
 * ignore (nohup, a shell's background) stays ignored.
 */
#include "exec.h"

#include <stdlib.h>

#include "run.h"

static const int ending[] = { SIGINT, SIGTERM, SIGHUP };

static void
set_disposition(int signo, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };

	sigaction(signo, &action, NULL);
}

void
exec_signals_hold(sigset_t *held, int terminal)
{
	struct sigaction now;

	sigemptyset(held);
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
		if (sigaction(ending[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(held, ending[i]);
	if (terminal) {
		sigaddset(held, SIGWINCH);
		sigaddset(held, SIGCONT);
	}
	/* In the background a terminal must not stop us: the time limit would stop with us. */
	set_disposition(SIGTTIN, SIG_IGN);
	set_disposition(SIGTTOU, SIG_IGN);
	sigprocmask(SIG_BLOCK, held, NULL);
}

void
exec_signals_release(const sigset_t *held)
{
	sigprocmask(SIG_UNBLOCK, held, NULL);
}

void
exec_signals_die(int signo)
{
	sigset_t one;

	set_disposition(signo, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, signo);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	raise(signo);
	abort(); /* it did not end us: it was none of `ending` */
}
