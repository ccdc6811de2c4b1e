/*
 * The caller's terminal while a command has one inside: raw, so that every key goes in and the inside's
 * own line discipline makes signals of it; as it was again on every way out but SIGKILL. What comes
 * out goes to the terminal as it is: nothing is read into it or answered by us.
 */
#include "exec.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "run.h"

#define TERM_MAX 64

int
exec_tty_check(struct sbx_err *err)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return sbx_fail(err, SBX_E_USAGE,
			"--tty: standard input and output have to be a terminal");
	if (tcgetpgrp(STDIN_FILENO) != getpgrp())
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
			length)
		return 0;
	snprintf(variable, size, "TERM=%s", term);
	return 1;
}

static void
make_raw(struct exec_tty *tty)
{
	struct termios raw = tty->was;

	cfmakeraw(&raw);
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

int
exec_tty_enter(struct exec_tty *tty, struct sbx_err *err)
{
	if (tcgetattr(STDIN_FILENO, &tty->was) != 0)
		return sbx_fail_sys(err, SBX_E_IO, "--tty");
	tty->raw = 1;
	make_raw(tty);
	return 0;
}

/* A window of another size; and after a stop the shell has had the terminal as it likes it. */
void
exec_tty_changed(struct exec_tty *tty, struct exec_run *run)
{
	struct sbx_mech_tty size;
	struct sbx_err err = { 0 };

	if (!tty->raw)
		return;
	make_raw(tty);
	exec_tty_size(&size);
	exec_run_resize(run, &size, &err);
}

void
exec_tty_leave(struct exec_tty *tty)
{
	if (tty->raw)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &tty->was);
	tty->raw = 0;
}
