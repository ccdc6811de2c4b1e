/*
 * SIGINT, SIGTERM and SIGHUP: held from before the command starts until nothing of it is left, read
 * through the loop meanwhile; then we die of them as anybody would. One that we were started to
 * ignore (nohup, a shell's background) stays ignored.
 */
#include "exec.h"

#include <stdlib.h>

#include "run.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
/* Nobody means us by these, but a terminal in raw mode must not be left behind by any. Faults, which
 * cannot be held, are tty.c's. */
static const int stray[] = { SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR,
	SIGSTKFLT, SIGXCPU, SIGXFSZ };

static void
set_disposition(int signo, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };

	sigaction(signo, &action, NULL);
}

static void
add(sigset_t *held, const int *signals, size_t count)
{
	struct sigaction now;

	for (size_t i = 0; i < count; i++)
		if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(held, signals[i]);
}

void
exec_signals_hold(sigset_t *held, int terminal)
{
	static const int stop[] = { SIGTSTP };

	sigemptyset(held);
	add(held, ending, COUNT(ending));
	if (terminal) {
		add(held, stray, COUNT(stray));
		add(held, stop, COUNT(stop));
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
	abort(); /* it did not end us: it was none of the above */
}
