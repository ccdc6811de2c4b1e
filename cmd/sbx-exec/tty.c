/*
 * The caller's terminal while a command has one inside: raw, so that every key goes in and the
 * inside's own line discipline makes signals of it; as it was again on every way out but SIGKILL.
 * What comes out goes to the terminal as it is: nothing is read into it or answered by us.
 *
 * While we are stopped, or in the background after that, the terminal is a shell's: it is changed
 * only from the foreground.
 */
#include "exec.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "run.h"

#define TERM_MAX 64

static const int faults[] = { SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP };
static struct termios at_a_fault;

/* One that is not our controlling terminal has no background. */
static int
is_foreground(void)
{
	pid_t group = tcgetpgrp(STDIN_FILENO);

	return group < 0 || group == getpgrp();
}

int
exec_tty_check(struct sbx_err *err)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return sbx_fail(err, SBX_E_USAGE,
			"--tty: standard input and output have to be a terminal");
	if (!is_foreground())
		return sbx_fail(err, SBX_E_USAGE, "--tty: not in the background");
	return 0;
}

void
exec_tty_size(struct sbx_mech_tty *size)
{
	struct winsize window = { .ws_row = 24, .ws_col = 80 };

	(void)ioctl(STDIN_FILENO, TIOCGWINSZ, &window);
	*size = (struct sbx_mech_tty){ .rows = window.ws_row, .columns = window.ws_col };
}

/* A terminal's name and nothing else may go in. */
int
exec_tty_term(const char *term, char *variable, size_t size)
{
	size_t length = term == NULL ? 0 : strlen(term);

	if (length == 0 || length > TERM_MAX || length + sizeof("TERM=") > size ||
		strspn(term,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-") !=
			length) {
		unsetenv("TERM");
		return 0;
	}
	snprintf(variable, size, "TERM=%s", term);
	return 1;
}

static void
make_raw(const struct exec_tty *tty)
{
	struct termios raw = tty->was;

	cfmakeraw(&raw);
	if (is_foreground())
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

/* What was typed, or answered by the terminal to what came from inside, was not for who reads next. */
static void
restore(const struct exec_tty *tty)
{
	if (!is_foreground())
		return;
	tcflush(STDIN_FILENO, TCIFLUSH);
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &tty->was);
}

/* A handler, where all else is told by the loop: a fault waits for nothing. It ends us. */
static void
on_fault(int signo)
{
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &at_a_fault);
	raise(signo);
}

static void
set_faults(const struct sigaction *action)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigaction(faults[i], action, NULL);
}

int
exec_tty_enter(struct exec_tty *tty, struct sbx_err *err)
{
	const struct sigaction action = { .sa_handler = on_fault,
		.sa_flags = (int)SA_RESETHAND | SA_NODEFER };

	if (tcgetattr(STDIN_FILENO, &tty->was) != 0)
		return sbx_fail_sys(err, SBX_E_IO, "--tty");
	at_a_fault = tty->was;
	set_faults(&action);
	tty->entered = 1;
	make_raw(tty);
	return 0;
}

/* By the signal itself, which the kernel drops where nobody could continue us. */
static void
stop(const struct exec_tty *tty)
{
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, SIGTSTP);
	restore(tty);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	sigprocmask(SIG_BLOCK, &one, NULL);
	make_raw(tty);
}

void
exec_tty_changed(struct exec_tty *tty, struct exec_run *run, int signo)
{
	struct sbx_mech_tty size;
	struct sbx_err err = { 0 };

	if (!tty->entered)
		return;
	if (signo == SIGTSTP)
		stop(tty);
	else if (signo == SIGCONT)
		make_raw(tty);
	exec_tty_size(&size);
	exec_run_resize(run, &size, &err);
}

void
exec_tty_leave(struct exec_tty *tty)
{
	const struct sigaction standard = { .sa_handler = SIG_DFL };

	if (!tty->entered)
		return;
	restore(tty);
	set_faults(&standard);
	tty->entered = 0;
}
