/*
 * ATTACKS 29, 38 to 41, 45, 47, 48: evade the system call filter. Other architectures are killed
 * or ENOSYS; clone3, io_uring and what Linux adds later are ENOSYS; what reaches into others,
 * into the kernel or into keyrings is EPERM, whatever the high halves of the registers hold;
 * filters and domains that a guest adds itself only restrict. ATTACKS 49: a program from memory
 * is confined all the same.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>

#include "guest.h"

#define HIGH (1L << 32)

#ifdef __x86_64__
static int
compat_getpid(void *unused)
{
	long answer = 20; /* getpid of i386 */

	(void)unused;
	__asm__ volatile("int $0x80" : "+a"(answer)::"r8", "r9", "r10", "r11", "memory");
	return answer == getpid() ? 0 : 1;
}

static int
x32_getpid(void *unused)
{
	(void)unused;
	return syscall(0x40000000L + SYS_getpid) == getpid() ? 0 : 1;
}
#endif

static int
died_of_it(int status)
{
	return WIFSIGNALED(status) && (WTERMSIG(status) == SIGSYS || WTERMSIG(status) == SIGSEGV);
}

static void
architectures(void)
{
#ifdef __x86_64__
	int status = guest_child(compat_getpid, NULL);

	guest_must(died_of_it(status), "int 0x80", "status %#x", (unsigned)status);
	status = guest_child(x32_getpid, NULL);
	guest_must(died_of_it(status), "an x32 number", "status %#x", (unsigned)status);
#endif
	guest_must(1, "other architectures", "unused");
}

static void
newer_calls(void)
{
	char name[32];

	guest_refused("clone3", syscall(SYS_clone3, NULL, 0L), ENOSYS);
	guest_refused("clone3 with its struct", syscall(SYS_clone3, (long[11]){ 0 }, 88L), ENOSYS);
	guest_refused("io_uring_setup", syscall(SYS_io_uring_setup, 8, (char[256]){ 0 }), ENOSYS);
	guest_refused("io_uring_enter", syscall(SYS_io_uring_enter, 0, 1, 0, 0, NULL, 0L), ENOSYS);
	guest_refused("io_uring_register", syscall(SYS_io_uring_register, 0, 0, NULL, 0), ENOSYS);
	guest_refused("statmount", syscall(457, NULL, NULL, 0L, 0), ENOSYS);
	guest_refused("file_setattr", syscall(469, AT_FDCWD, "g", NULL, 0L, 0), ENOSYS);
	/* 470 is the first number that had no meaning when the table was written. */
	for (long nr = 470; nr < 2048; nr++) {
		errno = 0;
		if (syscall(nr, 0L, 0L, 0L, 0L, 0L, 0L) != -1 || errno != ENOSYS) {
			snprintf(name, sizeof(name), "system call %ld", nr);
			guest_must(0, name, "errno %d", errno);
		}
	}
	guest_must(1, "unknown numbers", "unused");
}

static void
doors(void)
{
	static const struct {
		const char *name;
		long nr, args[3];
	} calls[] = {
		{ "bpf", SYS_bpf, { 0 } },
		{ "perf_event_open", SYS_perf_event_open, { 0 } },
		{ "userfaultfd", SYS_userfaultfd, { 1 } },
		{ "add_key", SYS_add_key, { 0 } },
		{ "request_key", SYS_request_key, { 0 } },
		{ "keyctl", SYS_keyctl, { 0, -3, 1 } },
		{ "keyctl join", SYS_keyctl, { 1 } },
		{ "kexec_load", SYS_kexec_load, { 0 } },
		{ "init_module", SYS_init_module, { 0 } },
		{ "finit_module", SYS_finit_module, { 0 } },
		{ "delete_module", SYS_delete_module, { 0 } },
		{ "reboot", SYS_reboot, { 0 } },
		{ "swapon", SYS_swapon, { 0 } },
		{ "acct", SYS_acct, { 0 } },
		{ "syslog", SYS_syslog, { 3 } },
		{ "quotactl", SYS_quotactl, { 0 } },
		{ "settimeofday", SYS_settimeofday, { 0 } },
		{ "clock_settime", SYS_clock_settime, { 0 } },
		{ "clock_adjtime", SYS_clock_adjtime, { 0 } },
		{ "sethostname", SYS_sethostname, { 0 } },
		{ "fanotify_init", SYS_fanotify_init, { 0 } },
		{ "vhangup", SYS_vhangup, { 0 } },
		{ "move_pages", SYS_move_pages, { 0 } },
		{ "mbind", SYS_mbind, { 0 } },
		{ "ptrace", SYS_ptrace, { 0 } },
		{ "process_madvise", SYS_process_madvise, { 0 } },
		{ "prlimit of another", SYS_prlimit64, { 1, 7, 0 } },
		{ "prlimit with high bits", SYS_prlimit64, { HIGH | 1, 7, 0 } },
		{ "personality", SYS_personality, { READ_IMPLIES_EXEC } },
		{ "personality with high bits", SYS_personality, { HIGH | READ_IMPLIES_EXEC } },
		{ "PR_SET_MM", SYS_prctl, { PR_SET_MM, 1, 0 } },
		{ "PR_SET_MM with high bits", SYS_prctl, { HIGH | PR_SET_MM, 1, 0 } },
		{ "PR_SET_TSC", SYS_prctl, { PR_SET_TSC, 2, 0 } },
		{ "PR_SCHED_CORE", SYS_prctl, { 62, 1, 0 } },
#ifdef __x86_64__
		{ "iopl", SYS_iopl, { 3 } },
		{ "ioperm", SYS_ioperm, { 0x70, 1, 1 } },
		{ "modify_ldt", SYS_modify_ldt, { 1, 0, 0 } },
#endif
	};

	for (size_t i = 0; i < GUEST_COUNT(calls); i++)
		guest_refused(calls[i].name,
			syscall(calls[i].nr, calls[i].args[0], calls[i].args[1], calls[i].args[2],
				0L, 0L, 0L),
			EPERM);
}

/* Ours, pid 1's and the command's; an engine adds its own, and gVisor does not count them. */
static int
filters_are(long ours)
{
	long count = guest_status("Seccomp_filters", 10);

	return guest_in("gvisor") || count == ours + (guest_in("docker") ? 1 : 0);
}

/* An allow-all filter of our own on top, and whatever else a program may say of itself. */
static void
own_filters(void)
{
	struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { 1, allow };

	guest_refused("a listener",
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			&program),
		EPERM);
	guest_refused("a listener with high bits",
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			HIGH | SECCOMP_FILTER_FLAG_NEW_LISTENER, &program),
		EPERM);
	guest_must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0,
		"a filter of our own is taken", "errno %d", errno);
	guest_must(filters_are(3), "and comes on top", "%ld", guest_status("Seccomp_filters", 10));
	guest_refused("unshare after it", syscall(SYS_unshare, 0), EPERM);
	guest_refused("clone3 after it", syscall(SYS_clone3, NULL, 0L), ENOSYS);
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	guest_refused("ptrace after PR_SET_DUMPABLE", syscall(SYS_ptrace, 0, 0, 0, 0), EPERM);
	guest_refused("seccomp off", prctl(PR_SET_SECCOMP, 0, 0, 0, 0), 0);
}

/* A domain of our own that allows everything: writes outside stay refused. */
static void
own_domain(void)
{
	unsigned long long handled[1] = { 1ULL << 1 }; /* write_file */
	struct {
		unsigned long long allowed;
		int fd;
	} __attribute__((packed)) rule = { 1ULL << 1, open("/", O_PATH | O_CLOEXEC) };
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, handled, sizeof(handled), 0);

	guest_must(ruleset >= 0 && syscall(SYS_landlock_add_rule, ruleset, 1, &rule, 0) == 0 &&
			syscall(SYS_landlock_restrict_self, ruleset, 0) == 0,
		"a domain of our own is taken", "errno %d", errno);
	guest_no_open("/etc/passwd", O_WRONLY);
	guest_no_open("/.attack", O_WRONLY | O_CREAT);
}

static int
run_from_memory(void *self)
{
	char *argv[] = { (char[]){ "anonymous" }, (char[]){ "confined" }, NULL };
	int fd = (int)syscall(SYS_memfd_create, "x", 0);
	int from = open(self, O_RDONLY | O_CLOEXEC);
	char bytes[4096];
	ssize_t n;

	while ((n = read(from, bytes, sizeof(bytes))) > 0) {
		if (write(fd, bytes, (size_t)n) != n)
			return 98;
	}
	syscall(SYS_execveat, fd, "", argv, environ, 0x1000 /* AT_EMPTY_PATH */);
	return 99;
}

static void
confined(void)
{
	guest_must(guest_status("Seccomp", 10) == 2 && filters_are(2) &&
			(guest_in("gvisor") || guest_status("NoNewPrivs", 10) == 1) &&
			guest_status("CapBnd", 16) == 0,
		"confined", "seccomp %ld", guest_status("Seccomp", 10));
	guest_no_open("/etc/passwd", O_WRONLY);
}

static void
from_memory(void)
{
	guest_must(guest_child(run_from_memory, (char[]){ "/proc/self/exe" }) == 0,
		"a program from memory is confined", "it is not");
}

int
main(int argc, char **argv)
{
	static const struct guest_act acts[] = { { "architectures", architectures },
		{ "newer", newer_calls }, { "doors", doors }, { "filters", own_filters },
		{ "domain", own_domain }, { "memory", from_memory }, { "confined", confined },
		{ NULL, NULL } };

	return guest_main(argc, argv, acts);
}
