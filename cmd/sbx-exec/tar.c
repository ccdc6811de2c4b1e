/*
 * A whole tree as an archive: sbx-tar, which knows archives and nothing of environments, between our
 * stdin or stdout and the plain stream that the workspace's walk reads or writes.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "access.h"
#include "base/child.h"
#include "base/io.h"
#include "base/scoped.h"
#include "data/errors.h"
#include "data/json.h"

#define SAID_MAX                                                                                   \
	((size_t)64 * 1024) /* as much as a pipe holds: it is read when sbx-tar has ended */

static int
make_pipe(int ends[2], struct sbx_err *err)
{
	return pipe2(ends, O_CLOEXEC) < 0 ? sbx_fail_sys(err, SBX_E_UNAVAILABLE, "pipe") : 0;
}

/* `last` is "in" or "out"; the descriptors stay the caller's. */
static int
start(struct tar *tar, const char *libexec, const char *last, uint64_t max_bytes,
	const int stdio[3], struct sbx_err *err)
{
	char program[PATH_MAX], format[] = "--log-format=json", bytes[48], direction[8];
	char *argv[] = { program, format, bytes, direction, NULL };
	struct sbx_child_plan plan = { .argv = argv,
		.stdio = { stdio[0], stdio[1], stdio[2] },
		.keep_fd = -1,
		.dies_with_us = 1 };

	if ((size_t)snprintf(program, sizeof(program), "%s/sbx-tar", libexec) >= sizeof(program))
		return sbx_fail(err, SBX_E_CONFIG, "the directory of helpers has too long a name");
	snprintf(bytes, sizeof(bytes), "--max-bytes=%" PRIu64, max_bytes);
	snprintf(direction, sizeof(direction), "%s", last);
	if (sbx_child_start(&plan, &tar->pid, err) == 0)
		return 0;
	err->code = SBX_E_UNAVAILABLE;
	return sbx_fail_hint(err, "sbx-tar belongs where sbx-init is");
}

int
tar_begin_out(struct tar *tar, const char *libexec, struct sbx_err *err)
{
	int stream[2] = { -1, -1 }, rc = -1;

	if (make_pipe(stream, err) == 0) {
		const int stdio[3] = { stream[0], STDOUT_FILENO, STDERR_FILENO };

		rc = start(tar, libexec, "out", 1, stdio, err);
	}
	sbx_scoped_close(&stream[0]);
	tar->ours = stream[1];
	return rc;
}

int
tar_begin_in(struct tar *tar, const char *libexec, uint64_t max_bytes, struct sbx_err *err)
{
	int stream[2] = { -1, -1 }, said[2] = { -1, -1 }, rc = -1;

	if (make_pipe(stream, err) == 0 && make_pipe(said, err) == 0) {
		const int stdio[3] = { STDIN_FILENO, stream[1], said[1] };

		rc = start(tar, libexec, "in", max_bytes, stdio, err);
	}
	sbx_scoped_close(&stream[1]);
	sbx_scoped_close(&said[1]);
	tar->ours = stream[0];
	tar->said = said[0];
	return rc;
}

/* The last line of its log is why it ended. */
static void
explain(const struct tar *tar, int status, struct sbx_err *err)
{
	SBX_AUTO_BUF said = SBX_BUF_INIT(SAID_MAX + 1);
	SBX_AUTO_JSON doc = NULL;
	SBX_AUTO_FREE char *body = NULL;
	struct sbx_err unread = { 0 };
	enum sbx_code code = SBX_E_IO;
	const char *line;

	if (WIFEXITED(status) && WEXITSTATUS(status) == SBX_EXIT_DENIED)
		code = SBX_E_DENIED;
	else if (WIFEXITED(status) && WEXITSTATUS(status) == SBX_EXIT_DATA)
		code = SBX_E_BAD_REQUEST;
	if (tar->said >= 0 && sbx_io_read_all(tar->said, &said, "sbx-tar", &unread) == 0 &&
		said.length > 0) {
		said.data[said.length - 1] = '\0';
		line = strrchr(said.data, '\n');
		line = line != NULL ? line + 1 : said.data;
		doc = sbx_json_parse(line, strlen(line), &unread);
		if (doc != NULL &&
			sbx_json_string(sbx_json_get(sbx_json_root(doc), "body"), "body", SAID_MAX,
				&body, &unread) == 0) {
			sbx_fail(err, code, "the archive: %s", body);
			return;
		}
	}
	sbx_fail(err, code, "sbx-tar did not come to its end");
}

int
tar_end(struct tar *tar, int at_once, struct sbx_err *err)
{
	int status = 0;

	sbx_scoped_close(&tar->ours);
	tar->ours = -1;
	if (tar->pid > 0) {
		if (at_once)
			kill(tar->pid, SIGKILL);
		while (waitpid(tar->pid, &status, 0) < 0 && errno == EINTR)
			continue;
	}
	tar->pid = 0;
	if (status != 0 && err != NULL)
		explain(tar, status, err);
	sbx_scoped_close(&tar->said);
	tar->said = -1;
	return status == 0 ? 0 : -1;
}
