/*
 * The children of the mechanism fake. Each is a real process that writes what its line says, sleeps
 * and ends as told, so that time limits, kills and full pipes behave as they do elsewhere. Never
 * starts a program.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "mech/fake/fake.h"

/* A process like one that a mechanism makes: its maker's death ends it, a terminal's signals are
 * not for it, and dispositions and mask are the default ones. */
static int
become_command(pid_t maker)
{
	const struct rlimit no_core = { 0, 0 };
	sigset_t none;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != maker)
		return -1;
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL) < 0 || setsid() < 0)
		return -1;
	return setrlimit(RLIMIT_CORE, &no_core);
}

/* Only 0, 1 and 2 stay. First out of the way of these, which fds may be themselves, in any order. */
static int
take_fds(const int fds[3])
{
	int moved[3];

	for (int i = 0; i < 3; i++)
		if ((moved[i] = fcntl(fds[i], F_DUPFD, 3)) < 0)
			return -1;
	for (int i = 0; i < 3; i++)
		if (dup2(moved[i], i) < 0)
			return -1;
	return close_range(3, ~0U, 0);
}

static _Noreturn void
play(const struct sbx_fake_line *line, const int fds[3], pid_t maker)
{
	struct timespec left = { .tv_sec = (time_t)(line->delay_ms / 1000),
		.tv_nsec = (long)(line->delay_ms % 1000) * 1000000 };

	if (become_command(maker) < 0 || take_fds(fds) < 0)
		_exit(127);
	/* A full disk behind a descriptor is the command's own trouble, as with a real one. */
	if (sbx_io_write_all(STDOUT_FILENO, sbx_buf_str(&line->out), line->out.length) < 0 ||
		sbx_io_write_all(STDERR_FILENO, sbx_buf_str(&line->err), line->err.length) < 0)
		_exit(1);
	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		continue;
	if (line->oom)
		raise(SIGKILL);
	if (line->signal != 0)
		raise(line->signal);
	_exit(line->exit_code);
}

pid_t
sbx_fake_play(const struct sbx_fake_line *line, const int fds[3])
{
	pid_t maker = getpid(), pid = fork();

	if (pid == 0)
		play(line, fds, maker);
	return pid;
}
