/* Programs of the host that we start and talk to: status, input, both outputs, deadline, inheritance. */
#include "base/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/scoped.h"
#include "tap.h"

static struct sbx_buf out = SBX_BUF_INIT(1024 * 1024), said = SBX_BUF_INIT(16);
static struct sbx_err err;
static struct sbx_child_talk want = {
	.out = &out, .said = &said, .timeout_ms = 5000, .keep_fd = -1
};

/* Its exit status, 1000 for a signal's, -1 where talk() failed. */
static int
shell(const char *script)
{
	char name[] = "sh", option[] = "-c";
	char *text = strdup(script);
	char *argv[] = { name, option, text, NULL };
	int status = -1, rc;

	err = (struct sbx_err){ 0 };
	sbx_buf_clear(&out);
	sbx_buf_clear(&said);
	rc = sbx_child_talk(argv, &want, &status, &err);
	free(text);
	if (rc != 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int
always(void)
{
	return 1;
}

static void
talks(void)
{
	SBX_AUTO_BUF big = SBX_BUF_INIT(1024 * 1024);

	is_int(shell("echo out; echo err >&2; exit 3"), 3, "its status");
	is_str(sbx_buf_str(&out), "out\n", "its stdout");
	is_str(sbx_buf_str(&said), "err\n", "its stderr");
	is_int(shell("kill -9 $$"), 1009, "a signal");
	is_int(shell("read line && exit 9; exit 0"), 0, "without input stdin is empty");
	is_int(shell("printf %0100d 0 >&2; head -c 300000 /dev/zero >&2"), 0, "a long complaint");
	is_str(sbx_buf_str(&said), "0000000000000000", "is cut silently");

	while (big.length < 700000)
		sbx_buf_add_str(&big, "0123456789");
	want.input = sbx_buf_str(&big);
	want.input_bytes = big.length;
	is_int(shell("cat"), 0, "more than a pipe holds, both ways at once");
	ok(out.length == big.length && memcmp(out.data, big.data, big.length) == 0, "the same");
	is_int(shell("exit 4"), 4, "input that nobody reads");
	want.input = "";
	want.input_bytes = 0;
	is_int(shell("read line && exit 9; exit 0"), 0, "empty input");
	want.input = NULL;

	is_int(shell("head -c 1048577 /dev/zero; sleep 30"), -1, "more than the cap");
	is_int(err.code, SBX_E_TOO_LARGE, "code");
	is_str(err.msg, "sh says more than 1048576 bytes", "message");
	want.out = want.said = NULL;
	is_int(shell("echo out; echo err >&2"), 0, "dropped output");
	want.out = &out;
	want.said = &said;
}

static void
fails(void)
{
	char missing[] = "/nowhere/program", directory[] = "/etc";
	char *argv[] = { missing, NULL };
	int status;

	is_int(sbx_child_talk(argv, &want, &status, &err), -1, "no such program");
	is_int(err.code, SBX_E_NOT_FOUND, "code");
	is_str(err.msg, "execute /nowhere/program: No such file or directory", "message");
	argv[0] = directory;
	is_int(sbx_child_talk(argv, &want, &status, &err), -1, "no program");
	is_int(err.code, SBX_E_DENIED, "code");
	is_int(waitpid(-1, &status, WNOHANG), -1, "none of them is left");
	is_int(errno, ECHILD, "errno");
}

/* A zombie, which nobody may wait for here, has no command line. */
static int
runs(pid_t pid)
{
	char path[32], byte;
	SBX_AUTO_FD fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, &byte, 1) == 1;
}

static void
ends(void)
{
	int64_t began = sbx_clock_mono_ms();
	pid_t sleeper;

	is_int(shell("sleep 8 & echo first; exit 0"), 0, "a grandchild keeps the pipes");
	is_str(sbx_buf_str(&out), "first\n", "what was said is there");
	ok(sbx_clock_mono_ms() - began < 4000, "and it keeps nobody");

	want.timeout_ms = 300;
	began = sbx_clock_mono_ms();
	is_int(shell("sleep 30 & echo $!; wait"), -1, "one that does not end");
	is_int(err.code, SBX_E_TIMEOUT, "code");
	is_str(err.msg, "sh did not end within 300 ms", "message");
	ok(sbx_clock_mono_ms() - began < 4000, "at its deadline");
	sleeper = (pid_t)strtol(sbx_buf_str(&out), NULL, 10);
	ok(sleeper > 0, "its child");
	for (int i = 0; i < 100 && runs(sleeper); i++)
		usleep(10000);
	ok(!runs(sleeper), "its children end with it");
	want.timeout_ms = 5000;

	want.stop = always;
	began = sbx_clock_mono_ms();
	is_int(shell("sleep 30"), -1, "stopped");
	is_int(err.code, SBX_E_CANCELLED, "code");
	ok(sbx_clock_mono_ms() - began < 2000, "at once");
	want.stop = NULL;
}

static void
inherits(void)
{
	SBX_AUTO_FD kept = fcntl(2, F_DUPFD, 50);
	SBX_AUTO_FD other = fcntl(2, F_DUPFD, 60);
	sigset_t set, old;

	want.keep_fd = kept;
	is_int(shell("ls /proc/$$/fd; :"), 0, "descriptors");
	is_str(sbx_buf_str(&out), "0\n1\n2\n50\n", "its own three and the kept one");
	want.keep_fd = -1;
	ok(fcntl(other, F_GETFD) == 0, "ours stay as they were");

	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, &old);
	is_int(shell("grep -E '^Sig(Blk|Ign)' /proc/$$/status | cut -f2 | tr '\\n' ' '"), 0,
		"signals");
	sigprocmask(SIG_SETMASK, &old, NULL);
	is_str(sbx_buf_str(&out), "0000000000000000 0000000000000000 ", "none blocked or ignored");
	is_int(shell("set -- $(cat /proc/$$/stat); test $6 = $$"), 0, "a session of its own");
}

/* A maker that starts a sleeper and ends; the sleeper's pipe tells whether it lives on. */
static int
outlives(int dies_with_us)
{
	char name[] = "sleep", time[] = "2";
	char *argv[] = { name, time, NULL };
	struct sbx_child_plan plan = {
		.argv = argv, .stdio = { -1, -1, -1 }, .keep_fd = -1, .dies_with_us = dies_with_us
	};
	int ends[2];
	int64_t began = sbx_clock_mono_ms();
	char byte;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		plan.stdio[1] = ends[1];
		_exit(sbx_child_start(&plan, &pid, NULL) == 0 ? 0 : 1);
	}
	close(ends[1]);
	waitpid(pid, NULL, 0);
	while (read(ends[0], &byte, 1) > 0)
		;
	close(ends[0]);
	return sbx_clock_mono_ms() - began > 1000;
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	talks();
	fails();
	ends();
	inherits();
	is_int(outlives(1), 0, "one that dies with us");
	is_int(outlives(0), 1, "one that does not");
	sbx_buf_done(&out);
	sbx_buf_done(&said);
	return done();
}
