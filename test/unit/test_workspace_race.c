/* state/workspace_write against code in the environment that changes things meanwhile. */
#include <signal.h>
#include <stdio.h>

#include "workspace_help.h"

/* While the end is awaited the target becomes something else. */
static void
test_changed_meanwhile(void)
{
	static const struct {
		const char *script;
		uint32_t flags;
		enum sbx_files_failure failure;
	} cases[] = {
		{ "rm -f t; ln -s new t", 0, SBX_FILES_SYMLINK },
		{ "rm -f t; mkdir t", 0, SBX_FILES_IS_A_DIRECTORY },
		{ "rm -f t; echo first >t", SBX_FILES_NEW, SBX_FILES_EXISTS },
		{ "rm -f .sbx-write-*", 0, SBX_FILES_NOT_FOUND },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sbx_files_want want = file("m/t", cases[i].flags);
		char script[256];
		int in[2], rc;
		pid_t pid;

		snprintf(script, sizeof(script),
			"cd m; n=0; while ! ls .sbx-write-* 2>/dev/null && [ $n -lt 500 ]; do "
			"n=$((n+1)); sleep 0.01; done >/dev/null; %s",
			cases[i].script);
		if (!is_ok("rm -rf m; mkdir m") || pipe2(in, O_CLOEXEC) < 0 ||
			put_chunk(in[1], "x", 1) < 0)
			exit(1);
		pid = fork();
		if (pid == 0) {
			int status = inside(script);

			if (put_chunk(in[1], "", 0) < 0)
				_exit(1);
			_exit(status);
		}
		close(in[1]);
		rc = serve_from(want, in[0]);
		close(in[0]);
		waitpid(pid, NULL, 0);
		is_int(rc, cases[i].failure, "meanwhile: %s", cases[i].script);
		ok(nothing_left(), "nothing is left");
	}
}

/* The directory above turns into a link to one outside and back, as fast as can be. */
static void
test_swapped(void)
{
	int outside = 0, other = 0, rc, fd;
	pid_t pid;

	if (mkdirat(top_fd, "foreign", 0777) < 0 || fchmodat(top_fd, "foreign", 0777, 0) < 0 ||
		!is_ok("mkdir real; ln -s ../foreign swap"))
		exit(1);
	pid = fork();
	if (pid == 0) {
		become_owner();
		for (;;) {
			renameat(work_fd, "real", work_fd, "d");
			renameat(work_fd, "d", work_fd, "real");
			renameat(work_fd, "swap", work_fd, "d");
			renameat(work_fd, "d", work_fd, "swap");
		}
	}
	for (int i = 0; i < 500; i++) {
		rc = write_text(file("d/x", 0), "x");
		other += rc != SBX_FILES_OK && rc != SBX_FILES_NOT_FOUND &&
			rc != SBX_FILES_SYMLINK && rc != SBX_FILES_NOT_A_DIRECTORY;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	fd = openat(top_fd, "foreign/x", O_RDONLY | O_CLOEXEC);
	outside = fd >= 0;
	close(fd);
	is_int(other, 0, "a directory that is swapped for a link: written, or refused");
	is_int(outside, 0, "never written elsewhere");
}

int
main(void)
{
	workspace_make();
	test_changed_meanwhile();
	test_swapped();
	workspace_remove();
	return done();
}
