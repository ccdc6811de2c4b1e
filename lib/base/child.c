/*
 * The start of a program of the host: what the child does up to its execve, and how we hear whether
 * that worked. Never goes through a shell; hands on no descriptor that was not asked for.
 */
#include "base/child.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scoped.h"

/* First all out of the way of 0, 1 and 2: what is given may be one of them. */
static int
take_stdio(const int stdio[3])
{
	int high[3];

	for (int i = 0; i < 3; i++) {
		int fd = stdio[i] >= 0 ? stdio[i] : open("/dev/null", O_RDWR | O_CLOEXEC);

		high[i] = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (high[i] < 0)
			return -1;
	}
	for (int i = 0; i < 3; i++)
		if (dup2(high[i], i) < 0)
			return -1;
	return 0;
}

static int
take_signals(void)
{
	static const unsigned char standard[64]; /* a kernel sigaction of zeros: SIG_DFL */
	sigset_t none;

	/* By the system call: libc keeps two realtime signals for itself, which callers may ignore. */
	for (int number = 1; number < NSIG; number++)
		(void)syscall(SYS_rt_sigaction, number, standard, NULL, (size_t)8);
	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL);
}

static int
die_with(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		return -1;
	if (getppid() != parent)
		_exit(127);
	return 0;
}

static void be_child(const struct sbx_child_plan *plan, pid_t parent, int word_fd)
	__attribute__((noreturn));

static void
be_child(const struct sbx_child_plan *plan, pid_t parent, int word_fd)
{
	int error;

	setsid();
	if ((!plan->dies_with_us || die_with(parent) == 0) && take_signals() == 0 &&
		take_stdio(plan->stdio) == 0 &&
		syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) == 0 &&
		(plan->keep_fd < 0 || sbx_fd_cloexec(plan->keep_fd, 0) == 0))
		execvp(plan->argv[0], plan->argv);
	error = errno;
	if (write(word_fd, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

/* The errno of a child that could not execute; 0 when the pipe closed because it could. */
static int
hear_word(int fd)
{
	int error = 0;
	ssize_t n;

	do
		n = read(fd, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(error) ? error : 0;
}

static enum sbx_code
exec_code(int error)
{
	if (error == ENOENT || error == ENOTDIR)
		return SBX_E_NOT_FOUND;
	return error == EACCES || error == EPERM ? SBX_E_DENIED : SBX_E_INTERNAL;
}

int
sbx_child_start(const struct sbx_child_plan *plan, pid_t *pid, struct sbx_err *err)
{
	SBX_AUTO_FD in = -1;
	SBX_AUTO_FD out = -1;
	pid_t parent = getpid();
	int ends[2], error;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return sbx_fail_sys(err, SBX_E_INTERNAL, "make a pipe");
	in = ends[0];
	out = ends[1];
	*pid = fork();
	if (*pid == 0)
		be_child(plan, parent, out);
	if (*pid < 0)
		return sbx_fail_sys(err, SBX_E_INTERNAL, "start %s", plan->argv[0]);
	sbx_scoped_close(&out);
	out = -1;
	error = hear_word(in);
	if (error == 0)
		return 0;
	while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
		;
	*pid = -1;
	errno = error;
	return sbx_fail_sys(err, exec_code(error), "execute %s", plan->argv[0]);
}
