/*
 * sbx-init: pid 1 inside. Phases: take the plan (descriptor 3), confine, prove the confinement, say
 * ready, serve until the kernel ends the namespace. Without arguments it is native's, executed by
 * its maker and by nobody else; in containers an engine starts it by words.
 */
#include "init.h"

#include <errno.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach.h"
#include "kernel/seccomp.h"

static int
take_plan(struct sbx_init_plan *plan)
{
	ssize_t n = read(SBX_INIT_FD_PLAN, plan, sizeof(*plan));

	close(SBX_INIT_FD_PLAN);
	if (n != (ssize_t)sizeof(*plan) || plan->magic != SBX_INIT_MAGIC ||
		plan->version != SBX_INIT_VERSION)
		return -1;
	plan->workspace[sizeof(plan->workspace) - 1] = '\0';
	plan->probe_write[sizeof(plan->probe_write) - 1] = '\0';
	return (int)syscall(SYS_close_range, 3U, INIT_FD_LAST, CLOSE_RANGE_CLOEXEC);
}

int
init_prepare(struct init *init)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return -1;
	init->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	init->failure = mmap(NULL, sizeof(*init->failure), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < INIT_CALLERS_MAX; i++)
		init->callers[i] = -1;
	prctl(PR_SET_NAME, "sbx-init");
	return init->signal_fd < 0 || init->failure == MAP_FAILED ? -1 : 0;
}

/* The filter lasts for every command; what only pid 1 may do is taken away as each starts. */
static void
confine_and_report(struct init *init)
{
	struct sbx_init_report report = { .magic = SBX_INIT_MAGIC };
	const char *what = "";

	if (prctl(PR_SET_DUMPABLE, 0) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		sbx_seccomp_base((enum sbx_seccomp_profile)init->plan.seccomp) != 0) {
		report.stage = SBX_STAGE_SECCOMP;
		report.error = errno;
	} else if (init_selftest(init, &what) != 0) {
		report.stage = init->failure->stage;
		report.error = init->failure->error;
		strncat(report.what, what, sizeof(report.what) - 1);
	}
	if (write(init->plan.ready_fd, &report, sizeof(report)) != (ssize_t)sizeof(report) ||
		report.stage != 0 || report.error != 0 || report.what[0] != '\0')
		_exit(1);
	close(init->plan.ready_fd);
}

static void
hear_maker(struct init *init)
{
	char byte;
	ssize_t n = read(init->plan.keep_fd, &byte, 1);

	if (n == 0 && !init->kept)
		_exit(1);
	if (n == 1) {
		init->kept = 1;
		close(init->plan.keep_fd);
		init->plan.keep_fd = -1;
	}
}

static void
accept_caller(struct init *init)
{
	int sock = accept4(init->plan.listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (sock < 0)
		return;
	for (int i = 0; i < INIT_CALLERS_MAX; i++) {
		if (init->callers[i] < 0) {
			init->callers[i] = sock;
			return;
		}
	}
	close(sock);
}

/* Descriptors of -1 are skipped by poll(2). */
static void
wait_and_serve(struct init *init)
{
	struct pollfd fds[3 + INIT_CALLERS_MAX];
	struct signalfd_siginfo info;

	fds[0] = (struct pollfd){ .fd = init->signal_fd, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = init->plan.keep_fd, .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = init->plan.listen_fd, .events = POLLIN };
	for (int i = 0; i < INIT_CALLERS_MAX; i++)
		fds[3 + i] = (struct pollfd){ .fd = init->callers[i], .events = POLLIN };
	if (poll(fds, 3 + INIT_CALLERS_MAX, -1) < 0)
		return;
	if (fds[0].revents != 0) {
		while (read(init->signal_fd, &info, sizeof(info)) > 0)
			;
		init_reap(init);
	}
	if (fds[1].revents != 0)
		hear_maker(init);
	for (int i = 0; i < INIT_CALLERS_MAX; i++) {
		if (fds[3 + i].revents != 0 && init_serve(init, i) != 0)
			init_drop_caller(init, i);
	}
	if (fds[2].revents != 0)
		accept_caller(init);
	if (init->unreported > 0)
		init_reap(init);
}

void
init_run(struct init *init)
{
	for (;;)
		wait_and_serve(init);
}

static int
native(struct init *init)
{
	if (take_plan(&init->plan) != 0 || init_prepare(init) != 0)
		return 70;
	confine_and_report(init);
	init_run(init);
}

int
main(int argc, char **argv)
{
	static struct init init;
	const char *word = argc > 1 ? argv[1] : "";

	if (argc <= 1)
		return native(&init);
	if (strcmp(word, "serve") == 0)
		return init_contain(&init, argv + 2);
	if (strcmp(word, "attach") == 0 && argc == 2)
		return init_attach();
	if (strcmp(word, "describe") == 0 && argc == 2)
		return init_print();
	if (strcmp(word, "show") == 0 && argc == 3)
		return init_show(argv[2]);
	return 64;
}
