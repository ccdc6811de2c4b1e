/*
 * The start of a command: one clone into its group, its own session and Landlock domain, the last
 * filter, execve. pid 1 waits until the program runs; a failure comes back through a shared page.
 */
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <netinet/in.h>
#include <unistd.h>

#include "kernel/caps.h"
#include "kernel/landlock.h"
#include "kernel/seccomp.h"
#include "mech/channel.h"

#define PATH_ROOM 4352

struct start {
	struct init *init;
	const struct init_job *job;
};

static void
fail(struct init *init, uint32_t stage)
{
	init->failure->stage = stage;
	init->failure->error = errno;
	_exit(127);
}

/* The descriptors of a message are 3 and above, since 0 to 2 exist in pid 1. */
static int
take_stdio(const int *stdio)
{
	for (int i = 0; i < 3; i++) {
		if (dup2(stdio[i], i) < 0)
			return -1;
	}
	return 0;
}

static int
reset_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL);
}

/* What a command and the self-test have in common: everything up to the program. */
static void
settle(struct init *init)
{
	if (setsid() < 0)
		fail(init, SBX_STAGE_SETSID);
	if (reset_signals() != 0)
		fail(init, SBX_STAGE_SIGNALS);
}

/*
 * Memory that runs out takes commands before pid 1. The file is ours only while we are dumpable,
 * which, with shared memory, makes pid 1 so too: only where Landlock keeps others' hands off
 * meanwhile.
 */
static void
go_before_pid1(const struct init *init)
{
	int fd;

	/* In a container the child has memory of its own and the file is uid 0's, as it still is. */
	if (!init->contained && (init->plan.landlock_fd < 0 || prctl(PR_SET_DUMPABLE, 1) != 0))
		return;
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		ssize_t n = write(fd, "500", 3);

		(void)n;
		close(fd);
	}
	prctl(PR_SET_DUMPABLE, 0);
}

static void
confine(struct init *init)
{
	if (init->contained && init_lose_identity() != 0)
		fail(init, SBX_STAGE_SETSID);
	if (init->plan.landlock_fd >= 0 && sbx_landlock_enter(init->plan.landlock_fd) != 0)
		fail(init, SBX_STAGE_LANDLOCK);
	if (sbx_seccomp_command(init->plan.counted) != 0)
		fail(init, SBX_STAGE_SECCOMP);
}

static const char *
variable(char *const *envp, const char *name)
{
	size_t length = strlen(name);

	for (; *envp != NULL; envp++) {
		if (strncmp(*envp, name, length) == 0 && (*envp)[length] == '=')
			return *envp + length + 1;
	}
	return NULL;
}

/*
 * As execvp(3), with the command's own PATH: EACCES is remembered while the search goes on; an empty
 * element is skipped instead of meaning the current directory.
 */
static void
execute(const struct init_job *job)
{
	const char *path = variable(job->envp, "PATH"), *name = job->argv[0];
	size_t name_length = strlen(name);
	char full[PATH_ROOM];
	int found = ENOENT;

	if (strchr(name, '/') != NULL || path == NULL) {
		execve(name, job->argv, job->envp);
		return;
	}
	while (*path != '\0') {
		size_t length = strcspn(path, ":");

		if (length > 0 && name_length > 0 && length + 1 + name_length < sizeof(full)) {
			memcpy(full, path, length);
			full[length] = '/';
			memcpy(full + length + 1, name, name_length + 1);
			execve(full, job->argv, job->envp);
			if (errno == EACCES)
				found = EACCES;
			else if (errno != ENOENT && errno != ENOTDIR)
				return;
		}
		path += length + (path[length] == ':');
	}
	errno = found;
}

static void
enter_directory(struct init *init, const struct init_job *job)
{
	if (chdir(init->plan.workspace) != 0 || (job->cwd[0] != '\0' && chdir(job->cwd) != 0))
		fail(init, SBX_STAGE_CHDIR);
}

static void
become(struct init *init, const struct init_job *job)
{
	settle(init);
	go_before_pid1(init);
	if (take_stdio(job->stdio) != 0 || (job->tty && ioctl(0, TIOCSCTTY, 0) != 0))
		fail(init, SBX_STAGE_STDIO);
	if (!init->contained)
		enter_directory(init, job);
	confine(init);
	if (init->contained)
		enter_directory(init, job);
	if (syscall(SYS_close_range, 3U, INIT_FD_LAST, 0U) != 0)
		fail(init, SBX_STAGE_STDIO);
	execute(job);
	fail(init, SBX_STAGE_EXECVE);
}

static void
child(void *arg)
{
	const struct start *start = arg;

	become(start->init, start->job);
}

/* Without a group (best effort, gVisor) by clone(2) with memory of its own. */
static pid_t
fork_child(void)
{
	return (pid_t)syscall(SYS_clone, (long)(CLONE_VFORK | SIGCHLD), 0L, 0L, 0L, 0L);
}

pid_t
init_spawn(struct init *init, const struct init_job *job)
{
	struct start start = { .init = init, .job = job };
	pid_t pid;

	*init->failure = (struct init_failure){ 0 };
	if (job->group_fd >= 0) {
		pid = init_clone(job->group_fd, child, &start);
	} else {
		pid = fork_child();
		if (pid == 0)
			become(init, job);
	}
	if (pid < 0) {
		init->failure->stage = SBX_STAGE_CLONE;
		init->failure->error = errno;
		return -1;
	}
	prctl(PR_SET_DUMPABLE, 0); /* if it was killed right then */
	if (init->failure->error != 0) {
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		return -1;
	}
	return pid;
}

/* Exit codes of the self-test's child. */
enum selftest { FINE = 0, WROTE, CONNECTED, RAW_SOCKET, PRIVILEGED, SIGNALLED, REACHED, SELFTESTS };

/* As another uid than pid 1: nothing of it is in reach, and no way leads back. */
static int
try_pid1(void)
{
	if (getuid() != SBX_CHAN_UID || sbx_caps_are_empty() != 1 || setresuid(0, 0, 0) == 0)
		return PRIVILEGED;
	if (kill(1, 0) == 0)
		return SIGNALLED;
	if (open(SBX_CHAN_RUN, O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0)
		return REACHED;
	return FINE;
}

static int
try_forbidden(const struct init *init)
{
	/* 192.0.2.1 is a documentation address (RFC 5737): nobody is called. */
	struct sockaddr_in away = {
		.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(0xc0000201)
	};
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (open(init->plan.probe_write, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0)
		return WROTE;
	if (sock >= 0 && connect(sock, (struct sockaddr *)&away, sizeof(away)) == 0)
		return CONNECTED;
	if (socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0) >= 0)
		return RAW_SOCKET;
	return init->contained ? try_pid1() : FINE;
}

int
init_selftest(struct init *init, const char **what)
{
	static const char *const words[SELFTESTS] = { "", "a write outside the workspace succeeded",
		"a connection to an address outside succeeded", "a packet socket could be opened",
		"a command kept a privilege", "a command could signal pid 1",
		"a command could reach the control socket" };
	int status = 0;
	pid_t pid;

	*init->failure = (struct init_failure){ 0 };
	pid = fork_child();
	if (pid == 0) {
		settle(init);
		confine(init);
		_exit(try_forbidden(init));
	}
	if (pid < 0) {
		init->failure->stage = SBX_STAGE_CLONE;
		init->failure->error = errno;
		return -1;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (init->failure->error != 0)
		return -1;
	if (!WIFEXITED(status) || WEXITSTATUS(status) >= SELFTESTS)
		*what = "the self-test itself died";
	else
		*what = words[WEXITSTATUS(status)];
	return WIFEXITED(status) && WEXITSTATUS(status) == FINE ? 0 : -1;
}
