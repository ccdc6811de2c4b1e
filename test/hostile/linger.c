/*
 * ATTACKS 7 to 9, 64 to 66: outlive the command, or not end. Whatever a guest does to be
 * overlooked or unkillable, the answer comes in time and nothing of it is left afterwards; the
 * host counts. An act that returns leaves something behind; one that stays must be ended by the
 * time limit.
 */
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>

#include "guest.h"

static void
ignore_all(void)
{
	sigset_t all;

	for (int sig = 1; sig < 65; sig++)
		signal(sig, SIG_IGN);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
}

__attribute__((noreturn)) static void
stay(void)
{
	ignore_all();
	for (;;)
		pause();
}

static void
leave_session(void)
{
	if (fork() != 0)
		_exit(0);
	setsid();
	if (fork() != 0)
		_exit(0);
	if (chdir("/") != 0)
		_exit(1);
	prctl(PR_SET_NAME, "kworker/0:0");
}

static void
daemonise(void)
{
	if (fork() == 0) {
		leave_session();
		for (int fd = 0; fd < 3; fd++)
			close(fd);
		stay();
	}
	guest_must(1, "a daemon was left behind", "unused");
}

static void
holder(void)
{
	if (fork() == 0) {
		leave_session();
		stay();
	}
	guest_must(1, "a daemon that holds our outputs was left behind", "unused");
}

static void
stopped(void)
{
	if (fork() == 0) {
		setsid();
		raise(SIGSTOP);
		stay();
	}
	usleep(50000);
	guest_must(1, "a stopped process was left behind", "unused");
}

/* A parent that waits for its vfork child sleeps where no signal but SIGKILL wakes it. */
static void
vforked(void)
{
	if (fork() == 0) {
		setsid();
		if (syscall(SYS_clone, 0x4000L | SIGCHLD, 0L, 0L, 0L, 0L) == 0)
			stay();
		_exit(0);
	}
	usleep(50000);
	guest_must(1, "a parent in vfork was left behind", "unused");
}

/* No member of the chain lives longer than its fork takes. */
static void
chain(void)
{
	if (fork() == 0) {
		setsid();
		for (;;) {
			if (fork() != 0)
				_exit(0);
		}
	}
	usleep(50000);
	guest_must(1, "a chain of forks was left behind", "unused");
}

/* Every process of a tree makes others while it is killed. */
static void
tree(void)
{
	for (int i = 0; i < 6; i++) {
		if (fork() == 0) {
			ignore_all();
			for (;;) {
				if (fork() == 0)
					setsid();
				usleep(1000);
			}
		}
	}
	usleep(50000);
	guest_must(1, "a tree of forks was left behind", "unused");
}

static void
deaf(void)
{
	stay();
}

static void
stop_itself(void)
{
	for (;;)
		raise(SIGSTOP);
}

static void
in_fifo(void)
{
	if (mkfifo("fifo", 0600) == 0 || errno == EEXIST)
		guest_must(open("fifo", O_RDONLY | O_CLOEXEC) < 0, "nobody opens it", "it opened");
}

/* Clocks cannot be moved; alarms and timers are our own and move no limit. */
static void
clock_games(void)
{
	struct timespec past = { 1, 0 };
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } };

	guest_refused("clock_settime", clock_settime(CLOCK_REALTIME, &past), EPERM);
	guest_refused("settimeofday", settimeofday(&(struct timeval){ 1, 0 }, NULL), EPERM);
	guest_no_open("/proc/self/timens_offsets", O_WRONLY);
	signal(SIGALRM, SIG_IGN);
	setitimer(ITIMER_REAL, &often, NULL);
	for (;;)
		nanosleep(&(struct timespec){ 1000000, 0 }, NULL);
}

static void
slow_output(void)
{
	for (;;) {
		if (write(STDOUT_FILENO, ".", 1) != 1)
			_exit(1);
		usleep(20000);
	}
}

static void
closed_output(void)
{
	guest_must(1, "the outputs are closed", "unused");
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	stay();
}

static void
filled_pipe(void)
{
	static char bytes[65537];
	size_t done = 0;

	while (done < sizeof(bytes)) {
		ssize_t n = write(STDOUT_FILENO, bytes, sizeof(bytes) - done);

		if (n <= 0)
			_exit(1);
		done += (size_t)n;
	}
	stay();
}

/* Short lives, so that no process gets near a limit of its own. */
static void
cpu(void)
{
	for (;;) {
		for (int i = 0; i < 4; i++) {
			if (fork() == 0) {
				volatile unsigned n = 0;

				while (n < 3000000)
					n++;
				_exit(0);
			}
		}
		while (waitpid(-1, NULL, 0) > 0)
			;
	}
}

static void
crash(void)
{
	raise(SIGSEGV);
	abort();
}

int
main(int argc, char **argv)
{
	static const struct guest_act acts[] = { { "daemon", daemonise }, { "holder", holder },
		{ "stopped", stopped }, { "vfork", vforked }, { "chain", chain }, { "tree", tree },
		{ "deaf", deaf }, { "stop-itself", stop_itself }, { "fifo", in_fifo },
		{ "clocks", clock_games }, { "slow", slow_output }, { "closed", closed_output },
		{ "filled", filled_pipe }, { "cpu", cpu }, { "crash", crash }, { NULL, NULL } };

	return guest_main(argc, argv, acts);
}
