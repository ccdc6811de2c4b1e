/*
 * What guests that attack have in common: each attempt is one line, `ok NAME` if it failed as it
 * must, `differs NAME: why` where differences.h knows that the mechanism under test has it otherwise
 * by design, else `ESCAPED NAME: what`. The last line, `end N`, shows that the guest itself came
 * through; its exit status is 0 only if no attempt escaped.
 */
#ifndef SBX_TEST_HOSTILE_GUEST_H
#define SBX_TEST_HOSTILE_GUEST_H

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "differences.h"

#define GUEST_COUNT(table) (sizeof(table) / sizeof((table)[0]))

static int guest_tried, guest_escaped;

/* The mechanism under test, as the test says: what is expected of it differs in places. */
__attribute__((unused)) static int
guest_in(const char *mechanism)
{
	const char *in = getenv("GUEST_IN");

	return in != NULL && strcmp(in, mechanism) == 0;
}

/* Why an attempt need not fail here; NULL: it must. */
__attribute__((unused)) static const char *
guest_difference(const char *name)
{
	for (size_t i = 0; i < GUEST_COUNT(differences); i++)
		if (guest_in(differences[i].mechanism) &&
			fnmatch(differences[i].attempt, name, 0) == 0)
			return differences[i].why;
	return NULL;
}

/* One attempt: whether it failed as it must, its name, and what was seen if it did not. */
__attribute__((format(printf, 3, 4), unused)) static void
guest_must(int held, const char *name, const char *fmt, ...)
{
	va_list ap;

	guest_tried++;
	if (held) {
		printf("ok %s\n", name);
	} else if (guest_difference(name) != NULL) {
		printf("differs %s: %s\n", name, guest_difference(name));
	} else {
		guest_escaped++;
		printf("ESCAPED %s: ", name);
		va_start(ap, fmt);
		vprintf(fmt, ap);
		va_end(ap);
		putchar('\n');
	}
	fflush(stdout);
}

/* The answer of a call that must fail with this errno; 0: with any. Call it at once. */
__attribute__((unused)) static void
guest_refused(const char *name, long rc, int want)
{
	int got = errno;

	if (rc != -1)
		guest_must(0, name, "answered %ld", rc);
	else
		guest_must(want == 0 || got == want, name, "errno %d (%s) instead of %d (%s)", got,
			strerror(got), want, strerror(want));
}

/* A path that must not open this way. */
__attribute__((unused)) static void
guest_no_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK);
	char name[300];

	snprintf(name, sizeof(name), "open %.200s %s", path,
		(flags & O_ACCMODE) == O_RDONLY ? "to read" : "to write");
	guest_must(fd < 0, name, "opened");
	if (fd >= 0)
		close(fd);
}

/* Run an attempt in a child, as it may be killed for it; the wait status. */
__attribute__((unused)) static int
guest_child(int (*attempt)(void *), void *argument)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(attempt(argument));
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* A number of /proc/self/status, in this base; -1 if it is not there. */
__attribute__((unused)) static long
guest_status(const char *field, int base)
{
	char line[1024];
	long value = -1;
	FILE *status = fopen("/proc/self/status", "re");

	while (status != NULL && fgets(line, sizeof(line), status) != NULL) {
		if (strncmp(line, field, strlen(field)) == 0 && line[strlen(field)] == ':')
			value = strtol(line + strlen(field) + 1, NULL, base);
	}
	if (status != NULL)
		fclose(status);
	return value;
}

__attribute__((unused)) static int
guest_end(void)
{
	printf("end %d\n", guest_tried);
	return guest_escaped == 0 && guest_tried > 0 ? 0 : 1;
}

/* Which act of a guest is asked for: argv[1], by a table that ends with NULL. */
struct guest_act {
	const char *name;
	void (*act)(void);
};

/* What follows the act's name, or "". */
static const char *guest_argument = "";

/* Attacks that fail in a sandbox would hurt anywhere else: none starts outside of one. */
__attribute__((unused)) static int
guest_main(int argc, char **argv, const struct guest_act *acts)
{
	char host[64] = "";

	if (gethostname(host, sizeof(host) - 1) != 0 || strcmp(host, "sbx") != 0 || getuid() == 0) {
		fprintf(stderr, "this is no sandbox\n");
		return 64;
	}
	if (argc > 2)
		guest_argument = argv[2];
	for (; argc > 1 && acts->name != NULL; acts++) {
		if (strcmp(argv[1], acts->name) == 0) {
			acts->act();
			return guest_end();
		}
	}
	fprintf(stderr, "no such act: %s\n", argc > 1 ? argv[1] : "(none)");
	return 64;
}

#endif
