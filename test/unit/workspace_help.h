/*
 * A workspace of its own for each test program, and what sbx_workspace_serve() answers, in a child for
 * each call as in earnest. As root the workspace is another user's. Header only, like tap.h.
 */
#ifndef SBX_TEST_WORKSPACE_HELP_H
#define SBX_TEST_WORKSPACE_HELP_H

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/scoped.h"
#include "workspace/workspace.h"
#include "state_help.h"
#include "tap.h"

#define OWNER 65534

static char top_path[] = "/tmp/sbx-unit-XXXXXX"; /* may be searched by all */
static int top_fd = -1, work_fd = -1; /* work_fd: "workspace" in it */
static char answer[4 << 20]; /* of the last call */
static size_t answer_length;

static int
may_change_identity(void)
{
	return geteuid() == 0;
}

__attribute__((unused)) static void
workspace_make(void)
{
	if (mkdtemp(top_path) == NULL || chmod(top_path, 0755) < 0)
		exit(1);
	top_fd = open(top_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mkdirat(top_fd, "workspace", 0700) < 0 ||
		(may_change_identity() && fchownat(top_fd, "workspace", OWNER, OWNER, 0) < 0))
		exit(1);
	work_fd = openat(top_fd, "workspace", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

__attribute__((unused)) static void
workspace_remove(void)
{
	temporary_remove(top_path);
}

/* As the code in an environment is: for good. */
__attribute__((unused)) static void
become_owner(void)
{
	if (may_change_identity() && (setgid(OWNER) < 0 || setuid(OWNER) < 0))
		_exit(99);
}

/* Fork: 0 in the child, whose *pid is 0, in the parent the child's exit status or -1. */
static int
by_child(pid_t *pid)
{
	int status;

	fflush(stdout);
	*pid = fork();
	if (*pid == 0)
		return 0;
	if (waitpid(*pid, &status, 0) != *pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* sh -c SCRIPT as the owner in the workspace. */
__attribute__((unused)) static int
inside(const char *script)
{
	pid_t pid;
	int rc = by_child(&pid);

	if (pid != 0)
		return rc;
	become_owner();
	if (fchdir(work_fd) < 0)
		_exit(99);
	execl("/bin/sh", "sh", "-ec", script, (char *)NULL);
	_exit(98);
}

static int
is_ok(const char *script)
{
	return inside(script) == 0;
}

/* The failure, or -1 if the child died; `in` is read from its beginning, and the answer kept. */
static int
serve_from(struct sbx_files_want want, int in)
{
	int out = memfd_create("answer", MFD_CLOEXEC), rc;
	ssize_t n;
	pid_t pid;

	want.uid = want.gid = may_change_identity() ? OWNER : -1;
	if (want.path == NULL)
		want.path = "";
	if (want.to == NULL)
		want.to = "";
	rc = by_child(&pid);
	if (pid == 0)
		umask(077); /* which must not matter */
	if (pid == 0)
		_exit((int)sbx_workspace_serve(work_fd, &want, in, out));
	n = pread(out, answer, sizeof(answer), 0);
	answer_length = n > 0 ? (size_t)n : 0;
	close(out);
	return rc;
}

__attribute__((unused)) static int
serve(struct sbx_files_want want)
{
	return serve_from(want, -1);
}

/* ---- WRITE: what is wanted, and its bytes */

__attribute__((unused)) static struct sbx_files_want
file(const char *path, unsigned flags)
{
	return (struct sbx_files_want){ .op = SBX_FILES_WRITE,
		.flags = flags,
		.mode = SBX_FILES_MODE_KEPT,
		.path = path,
		.limit = UINT64_MAX };
}

__attribute__((unused)) static struct sbx_files_want
with_mode(struct sbx_files_want want, uint32_t mode)
{
	want.mode = mode;
	return want;
}

__attribute__((unused)) static struct sbx_files_want
with_limit(struct sbx_files_want want, uint64_t limit)
{
	want.limit = limit;
	return want;
}

__attribute__((unused)) static int
put_chunk(int fd, const void *bytes, uint32_t length)
{
	return sbx_io_write_all(fd, &length, sizeof(length)) == 0 &&
			sbx_io_write_all(fd, bytes, length) == 0 ?
		0 :
		-1;
}

/* `bytes` in chunks of at most `chunk`, and the end if `whole`. */
__attribute__((unused)) static int
write_bytes(struct sbx_files_want want, const char *bytes, size_t length, size_t chunk, int whole)
{
	SBX_AUTO_FD in = memfd_create("in", MFD_CLOEXEC);
	int rc = 0;

	for (size_t at = 0; at < length && rc == 0; at += chunk)
		rc = put_chunk(in, bytes + at,
			(uint32_t)(length - at < chunk ? length - at : chunk));
	if (rc == 0 && whole)
		rc = put_chunk(in, "", 0);
	return rc == 0 && lseek(in, 0, SEEK_SET) == 0 ? serve_from(want, in) : -2;
}

__attribute__((unused)) static int
write_text(struct sbx_files_want want, const char *text)
{
	return write_bytes(want, text, strlen(text), 3, 1);
}

__attribute__((unused)) static int
nothing_left(void)
{
	return is_ok("! find . -name '.sbx-write-*' | grep .");
}

#endif
