/*
 * Run a function in a child of its own, for what cannot be taken back (filters, limits, rights).
 * Header only, like tap.h.
 */
#ifndef SBX_TEST_CHILD_H
#define SBX_TEST_CHILD_H

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* What fn returned (0 to 255), or the negative number of the signal that killed the child. */
__attribute__((unused)) static int
in_child(int (*fn)(const void *), const void *arg)
{
	struct rlimit core;
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (getrlimit(RLIMIT_CORE, &core) != 0)
			_exit(255);
		core.rlim_cur = 0; /* those that are meant to die leave no core file */
		if (setrlimit(RLIMIT_CORE, &core) != 0)
			_exit(255);
		_exit(fn(arg));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 256;
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

#endif
