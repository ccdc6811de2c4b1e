/* Short programs of the host: their status, their complaint, their deadline. */
#include "base/spawn.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "tap.h"

static int
shell(const char *script, int timeout_ms, char *said, size_t size)
{
	char name[] = "sh", option[] = "-c";
	char *text = strdup(script);
	char *argv[] = { name, option, text, NULL };
	int status = sbx_spawn_wait(argv, timeout_ms, said, size), kept = errno;

	free(text);
	errno = kept;
	return status;
}

int
main(void)
{
	char said[16], missing[] = "/nowhere/program";
	char *argv[] = { missing, NULL };
	int64_t began;
	int status;

	is_int(shell("exit 0", 5000, said, sizeof(said)), 0, "success");
	is_str(said, "", "which says nothing");
	status = shell("echo lost; echo first >&2; echo second >&2; exit 3", 5000, said,
		sizeof(said));
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 3, "its status");
	is_str(said, "first", "the first line of its stderr");
	is_int(shell("printf %0100d 0 >&2", 5000, said, sizeof(said)), 0, "a long line");
	is_str(said, "000000000000000", "is cut");
	is_int(shell("head -c 300000 /dev/zero >&2", 5000, said, sizeof(said)), 0,
		"more than a pipe holds is no deadlock");
	is_int(shell("read line && exit 9; exit 0", 5000, said, sizeof(said)), 0, "stdin is empty");
	status = shell("kill -9 $$", 5000, said, sizeof(said));
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "a signal");

	is_int(sbx_spawn_wait(argv, 5000, said, sizeof(said)), -1, "no such program");
	is_int(errno, ENOENT, "errno");
	began = sbx_clock_mono_ms();
	is_int(shell("exec sleep 30", 200, said, sizeof(said)), -1, "one that does not end");
	is_int(errno, ETIMEDOUT, "errno");
	ok(sbx_clock_mono_ms() - began < 5000, "at its deadline");
	began = sbx_clock_mono_ms();
	is_int(shell("sleep 8 & exit 0", 200, said, sizeof(said)), -1, "a child keeps its stderr");
	ok(sbx_clock_mono_ms() - began < 5000, "which the deadline ends too");
	return done();
}
