/*
 * A plain user outside of a delegated control group: run ourselves once more in a scope of its own,
 * which systemd delegates. Whether that works is tried first with a program that does nothing, so
 * that a host without it is refused by name, by the mechanism, instead of by systemd-run's own
 * words. Comes before stdin is read. Never weakens: the second run either finds its group or fails.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scoped.h"
#include "kernel/cgroup.h"
#include "mech/provision.h"

#define GUARD "SBX_DELEGATED" /* set: this is the second run */
#define TRIAL_MS 10000

static const char *const scope[] = { "systemd-run", "--user", "--scope", "--quiet", "-p",
	"Delegate=yes", "--" };
#define SCOPE_COUNT (sizeof(scope) / sizeof(scope[0]))

static int
wanted(const struct sbx_tool *tool, const char *mechanism)
{
	struct sbx_cgroup_host host;

	if (geteuid() == 0 || tool->config.cgroup != SBX_REQUIRED ||
		strcmp(mechanism != NULL ? mechanism : tool->config.mechanism, "native") != 0 ||
		getenv(GUARD) != NULL)
		return 0;
	if (sbx_cgroup_host_open(NULL, &host, NULL) != 0)
		return 1;
	sbx_cgroup_host_close(&host);
	return 0;
}

/* scope, then the program and its arguments, as execvp(3) takes it; one block, for free(3). */
static char **
scoped_argv(char *program, char **rest)
{
	size_t count = 0;
	char **argv;

	while (rest[count] != NULL)
		count++;
	argv = sbx_mem_alloc(SCOPE_COUNT + count + 2, sizeof(*argv));
	memcpy(argv, scope, sizeof(scope));
	argv[SCOPE_COUNT] = program;
	memcpy(argv + SCOPE_COUNT + 1, rest, count * sizeof(*argv));
	return argv;
}

static int
has_scopes(void)
{
	char name[] = "true";
	char *nothing[] = { NULL };
	SBX_AUTO_FREE char **argv = scoped_argv(name, nothing);
	SBX_AUTO_BUF said = SBX_BUF_INIT(160);
	struct sbx_child_talk talk = { .said = &said, .timeout_ms = TRIAL_MS, .keep_fd = -1 };
	struct sbx_err why = { 0 };
	int status;

	if (sbx_child_talk(argv, &talk, &status, &why) == 0) {
		if (status == 0)
			return 1;
		sbx_fail(&why, SBX_E_UNAVAILABLE, "%s", sbx_buf_str(&said));
	}
	sbx_log(SBX_LOG_DEBUG, "systemd-run --user --scope does not work here: %s", why.msg);
	return 0;
}

int
sbx_delegate(const struct sbx_tool *tool, const char *mechanism, char **argv, struct sbx_err *err)
{
	char self[PATH_MAX];
	SBX_AUTO_FREE char **again = NULL;
	ssize_t length;

	if (!wanted(tool, mechanism) || !has_scopes())
		return 0;
	length = readlink("/proc/self/exe", self, sizeof(self));
	if (length < 0 || (size_t)length == sizeof(self))
		return sbx_fail_sys(err, SBX_E_INTERNAL, "find our own program");
	self[length] = '\0';
	if (setenv(GUARD, "1", 1) != 0)
		return sbx_fail_sys(err, SBX_E_INTERNAL, "set " GUARD);
	again = scoped_argv(self, argv + 1);
	execvp(again[0], again);
	return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "execute %s", again[0]);
}
