/*
 * Maps that a plain user may not write itself: ids of its range in subuid(5) and subgid(5), through
 * the set-uid helpers newuidmap(1) and newgidmap(1). They check the range; nothing here has a right
 * that the caller has not.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/io.h"
#include "base/scoped.h"
#include "kernel/ns.h"

#define LINES_MAX 2
#define HELPER_MS 10000

static int
run_helper(const char *name, pid_t pid, unsigned (*ids)[2], size_t count, struct sbx_err *err)
{
	char texts[2 + 3 * LINES_MAX][24];
	SBX_AUTO_BUF said = SBX_BUF_INIT(160);
	struct sbx_child_talk talk = { .said = &said, .timeout_ms = HELPER_MS, .keep_fd = -1 };
	char *argv[2 + 3 * LINES_MAX + 1] = { texts[0], texts[1] };
	const char *why;
	int status;

	snprintf(texts[0], sizeof(texts[0]), "%s", name);
	snprintf(texts[1], sizeof(texts[1]), "%d", (int)pid);
	for (size_t i = 0; i < count; i++) {
		size_t at = 2 + 3 * i;

		snprintf(texts[at], sizeof(texts[at]), "%u", ids[i][0]);
		snprintf(texts[at + 1], sizeof(texts[at + 1]), "%u", ids[i][1]);
		snprintf(texts[at + 2], sizeof(texts[at + 2]), "1");
		for (size_t j = at; j < at + 3; j++)
			argv[j] = texts[j];
	}
	if (sbx_child_talk(argv, &talk, &status, err) == 0) {
		if (status == 0)
			return 0;
		why = said.length > 0 ? sbx_buf_str(&said) : name;
		sbx_fail(err, SBX_E_UNAVAILABLE, "%.*s", (int)strcspn(why, "\n"), why);
	} else if (err != NULL) {
		err->code = SBX_E_UNAVAILABLE;
	}
	return sbx_fail_hint(err,
		"it takes the package uidmap, a range in /etc/subuid and /etc/subgid, "
		"and set-uid programs that work; or configure `user_ids: own`");
}

int
sbx_ns_map_by_helper(pid_t pid, const struct sbx_ns_map *lines, size_t count, struct sbx_err *err)
{
	unsigned uids[LINES_MAX][2], gids[LINES_MAX][2];

	if (count > LINES_MAX)
		return sbx_fail(err, SBX_E_INTERNAL, "a map of more than %d lines", LINES_MAX);
	for (size_t i = 0; i < count; i++) {
		uids[i][0] = lines[i].inside_uid;
		uids[i][1] = lines[i].outside_uid;
		gids[i][0] = lines[i].inside_gid;
		gids[i][1] = lines[i].outside_gid;
	}
	if (run_helper("newgidmap", pid, gids, count, err) != 0)
		return -1;
	return run_helper("newuidmap", pid, uids, count, err);
}

/* Begins when it is mapped, ends with its maker. */
static void be_owner(int (*work)(void *arg, struct sbx_err *err), void *arg, const int go[2],
	int out_fd) __attribute__((noreturn));

static void
be_owner(int (*work)(void *arg, struct sbx_err *err), void *arg, const int go[2], int out_fd)
{
	struct sbx_err err = { 0 };
	char byte;
	int rc;

	close(go[1]);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || read(go[0], &byte, 1) != 1)
		_exit(2);
	rc = work(arg, &err);
	if (rc != 0 && sbx_io_write_all(out_fd, &err, sizeof(err)) != 0)
		_exit(2);
	_exit(rc == 0 ? 0 : 1);
}

static int
map_and_wait(pid_t pid, const struct sbx_ns_map lines[LINES_MAX], int *go_fd, int out_fd,
	struct sbx_err *err)
{
	struct sbx_err told;
	int status, rc = sbx_ns_map_by_helper(pid, lines, LINES_MAX, err);

	if (rc == 0 && write(*go_fd, "m", 1) != 1)
		rc = sbx_fail_sys(err, SBX_E_INTERNAL, "talk to the child");
	/* One that hears nothing ends here. */
	sbx_scoped_close(go_fd);
	*go_fd = -1;
	if (read(out_fd, &told, sizeof(told)) == (ssize_t)sizeof(told) && rc == 0) {
		*err = told;
		rc = -1;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return sbx_fail_sys(err, SBX_E_INTERNAL, "wait for the child");
	if (rc == 0 && status != 0)
		rc = sbx_fail(err, SBX_E_INTERNAL, "the child that works for the owner died");
	return rc;
}

int
sbx_ns_as_owner(uid_t uid, gid_t gid, int (*work)(void *arg, struct sbx_err *err), void *arg,
	struct sbx_err *err)
{
	const struct sbx_ns_map lines[LINES_MAX] = { { 0, geteuid(), 0, getegid(), 1 },
		{ 1, uid, 1, gid, 1 } };
	int go[2], out[2], rc;
	SBX_AUTO_FD pidfd = -1;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) != 0)
		return sbx_fail_sys(err, SBX_E_INTERNAL, "make a pipe");
	if (pipe2(out, O_CLOEXEC) != 0) {
		sbx_scoped_close(&go[0]);
		sbx_scoped_close(&go[1]);
		return sbx_fail_sys(err, SBX_E_INTERNAL, "make a pipe");
	}
	pid = sbx_ns_clone(CLONE_NEWUSER, -1, &pidfd);
	if (pid == 0)
		be_owner(work, arg, go, out[1]);
	sbx_scoped_close(&go[0]);
	sbx_scoped_close(&out[1]);
	if (pid < 0)
		rc = sbx_ns_explain(errno, err);
	else
		rc = map_and_wait(pid, lines, &go[1], out[0], err);
	sbx_scoped_close(&go[1]);
	sbx_scoped_close(&out[0]);
	return rc;
}
