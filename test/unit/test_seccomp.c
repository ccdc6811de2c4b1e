/*
 * The filters at work, each in a child of its own: what a command may call works, what it may not
 * call answers the right errno, and what must not run at all ends the process. What the filters
 * say to every number is test_seccomp_filter.c's.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <linux/seccomp.h>

#include "child.h"
#include "kernel/seccomp.h"
#include "kernel/seccomp_table.h"
#include "tap.h"

enum { NOT_INSTALLED = 254 };

#define HIGH 0x100000000UL

struct call {
	const char *name;
	long number;
	unsigned long args[6];
	int want; /* errno, 0 for success, or the negative number of a signal */
};

static int
confine(enum sbx_seccomp_profile profile)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0 &&
		sbx_seccomp_base(profile) == 0 && sbx_seccomp_command(0) == 0;
}

static int
do_call(const struct call *call)
{
	const unsigned long *a = call->args;

	return syscall(call->number, a[0], a[1], a[2], a[3], a[4], a[5]) < 0 ? errno : 0;
}

static int
strict_call(const void *arg)
{
	return confine(SBX_SECCOMP_STRICT) ? do_call(arg) : NOT_INSTALLED;
}

static int
debug_call(const void *arg)
{
	return confine(SBX_SECCOMP_DEBUG) ? do_call(arg) : NOT_INSTALLED;
}

static const struct call strict_calls[] = {
	{ "getpid", __NR_getpid, { 0 }, 0 },
	{ "unix socket", __NR_socket, { AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC }, 0 },
	{ "inet socket", __NR_socket, { AF_INET, SOCK_STREAM }, 0 },
	{ "inet datagram socket", __NR_socket, { AF_INET, SOCK_DGRAM | SOCK_NONBLOCK }, 0 },
	{ "netlink route socket", __NR_socket, { AF_NETLINK, SOCK_RAW, 0 }, 0 },
	{ "netlink audit socket", __NR_socket, { AF_NETLINK, SOCK_RAW, 9 }, EPROTONOSUPPORT },
	{ "raw socket", __NR_socket, { AF_INET, SOCK_RAW | SOCK_CLOEXEC, 1 }, EPERM },
	{ "raw socket, high bits", __NR_socket, { HIGH | AF_INET, HIGH | SOCK_RAW, 1 }, EPERM },
	{ "packet socket", __NR_socket, { AF_PACKET, SOCK_DGRAM, 0 }, EAFNOSUPPORT },
	{ "vsock socket", __NR_socket, { AF_VSOCK, SOCK_STREAM, 0 }, EAFNOSUPPORT },
	{ "ioctl TCGETS", __NR_ioctl, { 99, 0x5401 }, EBADF },
	{ "ioctl TIOCSTI", __NR_ioctl, { 99, TIOCSTI }, EPERM },
	{ "ioctl TIOCSTI, high bits", __NR_ioctl, { 99, HIGH | TIOCSTI }, EPERM },
	{ "ioctl TIOCLINUX", __NR_ioctl, { 99, TIOCLINUX }, EPERM },
	{ "ioctl TIOCLINUX, high bits", __NR_ioctl, { 99, HIGH | TIOCLINUX }, EPERM },
	{ "clone of a user namespace", __NR_clone, { CLONE_NEWUSER | SIGCHLD }, EPERM },
	{ "clone of a net namespace", __NR_clone, { HIGH | CLONE_NEWNET | SIGCHLD }, EPERM },
	{ "clone3", __NR_clone3, { 0, 0 }, ENOSYS },
	{ "own limits", __NR_prlimit64, { 0, RLIMIT_CORE, 0, 0 }, 0 },
	{ "limits of pid 1", __NR_prlimit64, { 1, RLIMIT_CORE, 0, 0 }, EPERM },
	{ "personality query", __NR_personality, { 0xffffffff }, 0 },
	{ "personality fixed addresses", __NR_personality, { ADDR_NO_RANDOMIZE }, 0 },
	{ "personality read is exec", __NR_personality, { READ_IMPLIES_EXEC }, EPERM },
	{ "prctl PR_SET_TSC", __NR_prctl, { PR_SET_TSC, PR_TSC_SIGSEGV }, EPERM },
	{ "ptrace", __NR_ptrace, { PTRACE_TRACEME }, EPERM },
	{ "process_vm_readv", __NR_process_vm_readv, { 1 }, EPERM },
	{ "seccomp, a bad filter", __NR_seccomp, { SECCOMP_SET_MODE_FILTER, 0, 0 }, EFAULT },
	{ "seccomp with a listener", __NR_seccomp,
		{ SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, 0 }, EPERM },
	{ "io_uring_setup", __NR_io_uring_setup, { 1, 0 }, ENOSYS },
	{ "a number of the future", 511, { 0 }, ENOSYS },
	{ "-1", -1, { 0 }, ENOSYS },
#ifdef __x86_64__
	{ "an x32 number", 0x40000000 | __NR_getpid, { 0 }, -SIGSYS },
	{ "iopl", __NR_iopl, { 3 }, EPERM },
#endif
};

static const struct call debug_calls[] = {
	{ "ptrace", __NR_ptrace, { PTRACE_TRACEME }, 0 },
	{ "process_vm_readv of nothing", __NR_process_vm_readv, { 0 }, 0 },
	{ "pidfd_getfd", __NR_pidfd_getfd, { 99, 0, 0 }, EPERM },
	{ "unshare", __NR_unshare, { CLONE_NEWUSER }, EPERM },
	{ "clone3", __NR_clone3, { 0, 0 }, ENOSYS },
};

/* Calls with arguments that no call takes, so that a broken filter does no harm here. */
static int
refused_by_table(const void *arg)
{
	int wrong = 0;

	(void)arg;
	if (!confine(SBX_SECCOMP_STRICT))
		return NOT_INSTALLED;
	for (size_t i = 0; i < SBX_SECCOMP_RULE_COUNT; i++) {
		const struct sbx_seccomp_rule *rule = &sbx_seccomp_rules[i];
		int deny = rule->verdict == SBX_VERDICT_DENY || rule->verdict == SBX_VERDICT_DEBUG;

		if ((!deny && rule->verdict != SBX_VERDICT_ABSENT) || rule->number == __NR_vhangup)
			continue;
		errno = 0;
		if (syscall((long)rule->number, -1L, -1L, -1L, -1L, -1L, -1L) == -1 &&
			errno == (deny ? EPERM : ENOSYS))
			continue;
		fprintf(stderr, "# %s: errno %d\n", rule->name, errno);
		wrong = 1;
	}
	return wrong;
}

/* pid 1 keeps clone3: the base filter alone lets it through to the kernel's own check. */
static int
base_alone(const void *arg)
{
	(void)arg;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0 ||
		sbx_seccomp_base(SBX_SECCOMP_STRICT) != 0)
		return NOT_INSTALLED;
	return syscall(__NR_clone3, NULL, (size_t)0) < 0 ? errno : 0;
}

static int
forks(const void *arg)
{
	int status = -1;
	pid_t pid;

	(void)arg;
	if (!confine(SBX_SECCOMP_STRICT))
		return NOT_INSTALLED;
	pid = fork();
	if (pid == 0)
		_exit(7);
	return waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7 ? 0 : 1;
}

static int
without_no_new_privs(const void *arg)
{
	(void)arg;
	if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
		return NOT_INSTALLED;
	if (sbx_seccomp_base(SBX_SECCOMP_STRICT) == 0)
		return 0;
	return errno;
}

#ifdef __x86_64__
/* getpid by the door of 32-bit programs, where 20 is its number. */
static int
by_int_0x80(const void *filtered)
{
	long answer = 20;

	if (filtered != NULL && !confine(SBX_SECCOMP_STRICT))
		return NOT_INSTALLED;
	__asm__ volatile("int $0x80" : "+a"(answer) : : "memory", "r8", "r9", "r10", "r11");
	return answer == getpid() ? 0 : 1;
}

static void
test_int_0x80(void)
{
	if (in_child(by_int_0x80, NULL) == 0)
		is_int(in_child(by_int_0x80, ""), -SIGSYS, "int 0x80 ends the process");
	else
		skip(1, "this kernel runs no 32-bit programs");
}
#endif

int
main(void)
{
	if (!sbx_seccomp_available()) {
		skip(1, "no seccomp filters in this kernel");
		return done();
	}
	for (size_t i = 0; i < sizeof(strict_calls) / sizeof(strict_calls[0]); i++)
		is_int(in_child(strict_call, &strict_calls[i]), strict_calls[i].want, "strict: %s",
			strict_calls[i].name);
	for (size_t i = 0; i < sizeof(debug_calls) / sizeof(debug_calls[0]); i++)
		is_int(in_child(debug_call, &debug_calls[i]), debug_calls[i].want, "debug: %s",
			debug_calls[i].name);
	is_int(in_child(refused_by_table, NULL), 0, "all that the table refuses is refused");
	is_int(in_child(base_alone, NULL), EINVAL, "base alone: clone3 reaches the kernel");
	is_int(in_child(forks, NULL), 0, "a command can fork");
	is_int(in_child(without_no_new_privs, NULL), EACCES, "no_new_privs is needed");
#ifdef __x86_64__
	test_int_0x80();
#endif
	return done();
}
