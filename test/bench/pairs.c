/*
 * Two things timed in turn, A B A B ..., so that a machine whose speed drifts slows both: prints
 * percentiles of each and of nothing else but the ratio of medians. Used by test/bench/run.
 *
 *	pairs NAME COUNT SIDE vs SIDE
 *
 * A side is a command line (vfork, exec, wait), or `session ENV` and a command line: the same command
 * in a live environment, through the mechanism's session, as sbx-exec does it in a stream.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "data/config.h"
#include "mech/mech.h"

struct side {
	char **argv;
	const struct sbx_mech *mech;
	struct sbx_session *session; /* NULL: a plain process */
	int null_fd;
	double *us;
};

static void
die(const char *what, const struct sbx_err *err)
{
	fprintf(stderr, "pairs: %s: %s\n", what, err != NULL ? err->msg : strerror(errno));
	exit(1);
}

static void
attach(struct side *side, const char *id)
{
	static struct sbx_config config;
	static struct sbx_state state;
	static struct sbx_env env;
	static struct sbx_env_record record;
	struct sbx_mech_host host = { .config = &config, .state = &state, .libexec = "" };
	struct sbx_err err = { 0 };

	sbx_config_init(&config);
	if (sbx_state_open(NULL, NULL, &state, &err) != 0 ||
		sbx_env_open(&state, id, &env, &err) != 0 || sbx_env_read(&env, &record, &err) != 0)
		die(id, &err);
	side->mech = sbx_mech_find(record.mechanism, &err);
	if (side->mech == NULL || side->mech->open(&host, &env, &record, &side->session, &err) != 0)
		die(id, &err);
}

static void
run_process(const struct side *side)
{
	int status;
	pid_t pid = vfork();

	if (pid == 0) {
		dup2(side->null_fd, 1);
		execvp(side->argv[0], side->argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		die(side->argv[0], NULL);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		fprintf(stderr, "pairs: %s ended with status %d\n", side->argv[0], status);
		exit(1);
	}
}

static void
run_in_session(const struct side *side)
{
	static char path[] = "PATH=/usr/bin:/bin";
	char *const envp[] = { path, NULL };
	struct sbx_mech_command command = { .argv = side->argv,
		.envp = envp,
		.stdin_fd = side->null_fd,
		.stdout_fd = side->null_fd,
		.stderr_fd = side->null_fd };
	struct sbx_mech_usage usage;
	struct sbx_mech_event event = { 0 };
	struct sbx_err err = { 0 };
	const struct sbx_mech *mech = side->mech;
	uint32_t id;

	if (mech->start(side->session, &command, &id, &err) != 0)
		die("start", &err);
	while (event.kind != SBX_EVENT_EXITED) {
		struct pollfd wait = { .fd = mech->fd(side->session), .events = POLLIN };

		if (mech->next(side->session, &event) == 1) {
			if (event.kind != SBX_EVENT_STARTED && event.kind != SBX_EVENT_EXITED)
				die(event.stage, NULL);
			continue;
		}
		if (poll(&wait, 1, 5000) != 1)
			die("poll", NULL);
	}
	if (event.status != 0)
		die("the command failed", NULL);
	if (mech->finish(side->session, id, &usage, &err) != 0)
		die("finish", &err);
}

static double
run(const struct side *side)
{
	int64_t start = sbx_clock_mono_us();

	if (side->session != NULL)
		run_in_session(side);
	else
		run_process(side);
	return (double)(sbx_clock_mono_us() - start);
}

static int
by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double
percentile(const double *us, int count, int percent)
{
	return us[(count - 1) * percent / 100];
}

static void
take_side(struct side *side, char **argv, int count)
{
	side->us = sbx_mem_alloc((size_t)count, sizeof(double));
	side->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (argv[0] != NULL && strcmp(argv[0], "session") == 0 && argv[1] != NULL) {
		attach(side, argv[1]);
		argv += 2;
	}
	if (argv[0] == NULL)
		die("a side is empty", NULL);
	side->argv = argv;
}

int
main(int argc, char **argv)
{
	struct side sides[2] = { 0 };
	int split = 3, count = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;

	while (split < argc && strcmp(argv[split], "vs") != 0)
		split++;
	if (argc < 6 || split >= argc - 1 || count < 1)
		return 64;
	argv[split] = NULL;
	take_side(&sides[0], argv + 3, count);
	take_side(&sides[1], argv + split + 1, count);
	for (int i = -3; i < count; i++) {
		for (int s = 0; s < 2; s++) {
			double us = run(&sides[s]);

			if (i >= 0)
				sides[s].us[i] = us;
		}
	}
	for (int s = 0; s < 2; s++)
		qsort(sides[s].us, (size_t)count, sizeof(double), by_value);
	printf("%-34s %7.0f %7.0f %7.0f   %7.0f %7.0f %7.0f   %6.2f\n", argv[1],
		percentile(sides[0].us, count, 50), percentile(sides[0].us, count, 95),
		percentile(sides[0].us, count, 99), percentile(sides[1].us, count, 50),
		percentile(sides[1].us, count, 95), percentile(sides[1].us, count, 99),
		percentile(sides[0].us, count, 50) / percentile(sides[1].us, count, 50));
	return 0;
}
