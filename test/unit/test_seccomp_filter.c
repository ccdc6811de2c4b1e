/*
 * The generated filters, run by an interpreter of the few instructions they may use: every call's
 * verdict is the table's, argument rules hold, and no path is long.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "kernel/seccomp_table.h"
#include "seccomp_filter.h"
#include "tap.h"

#ifdef __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#define OTHER_ARCH AUDIT_ARCH_I386
#else
#define ARCH AUDIT_ARCH_AARCH64
#define OTHER_ARCH AUDIT_ARCH_ARM
#endif

enum { STEPS_MAX = 24, BAD_PROGRAM = 0 }; /* 0 is KILL_THREAD, which no filter of ours returns */

#define ERRNO(number) (SECCOMP_RET_ERRNO | (number))
#define ALLOWED SECCOMP_RET_ALLOW
#define HIGH 0x7700000000ULL

struct filter {
	const char *name;
	const struct sock_filter *code;
	size_t count;
	int debug;
};

static const struct filter filters[] = {
	{ "strict", sbx_seccomp_strict_code,
		sizeof(sbx_seccomp_strict_code) / sizeof(struct sock_filter), 0 },
	{ "debug", sbx_seccomp_debug_code,
		sizeof(sbx_seccomp_debug_code) / sizeof(struct sock_filter), 1 },
};

static const struct filter command_filter = { "command", sbx_seccomp_command_code,
	sizeof(sbx_seccomp_command_code) / sizeof(struct sock_filter), 0 };

static const struct filter counted_filter = { "counted", sbx_seccomp_counted_code,
	sizeof(sbx_seccomp_counted_code) / sizeof(struct sock_filter), 0 };

static int steps, looked_at_arguments, steps_most;

static uint32_t
load(const struct seccomp_data *data, uint32_t offset)
{
	uint32_t word = 0;

	if (offset >= offsetof(struct seccomp_data, args))
		looked_at_arguments = 1;
	if (offset <= sizeof(*data) - sizeof(word))
		memcpy(&word, (const char *)data + offset, sizeof(word));
	return word;
}

static uint32_t
run(const struct filter *filter, const struct seccomp_data *data)
{
	uint32_t a = 0;

	steps = looked_at_arguments = 0;
	for (size_t at = 0; at < filter->count; at++) {
		const struct sock_filter *op = &filter->code[at];

		if (++steps > steps_most)
			steps_most = steps;
		switch (op->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			a = load(data, op->k);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= op->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			at += a == op->k ? op->jt : op->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			at += a >= op->k ? op->jt : op->jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			at += (a & op->k) != 0 ? op->jt : op->jf;
			break;
		case BPF_RET | BPF_K:
			return op->k;
		default:
			return BAD_PROGRAM;
		}
	}
	return BAD_PROGRAM;
}

static uint32_t
ask(const struct filter *filter, unsigned number)
{
	const struct seccomp_data data = { .nr = (int)number, .arch = ARCH };

	return run(filter, &data);
}

/* 1 if the filter's answer to `number` is what the table says; argument rules are tested below. */
static int
agrees(const struct filter *filter, unsigned number)
{
	enum sbx_verdict verdict = SBX_VERDICT_ABSENT;
	uint32_t got = ask(filter, number);

	for (size_t i = 0; i < SBX_SECCOMP_RULE_COUNT; i++)
		if (sbx_seccomp_rules[i].number == number)
			verdict = sbx_seccomp_rules[i].verdict;
	if (verdict == SBX_VERDICT_DEBUG)
		verdict = filter->debug ? SBX_VERDICT_ALLOW : SBX_VERDICT_DENY;
	/* The kernel skips the filter only for calls that are allowed without a look at arguments. */
	if (verdict == SBX_VERDICT_ALLOW)
		return got == ALLOWED && !looked_at_arguments;
	if (verdict == SBX_VERDICT_DENY)
		return got == ERRNO(EPERM) && !looked_at_arguments;
	if (verdict == SBX_VERDICT_ABSENT)
		return got == ERRNO(ENOSYS);
	return looked_at_arguments;
}

static void
test_table(const struct filter *filter)
{
	int wrong = 0;

	for (unsigned number = 0; number < SBX_SECCOMP_NUMBERS; number++) {
		if (agrees(filter, number))
			continue;
		printf("# number %u\n", number);
		wrong++;
	}
	is_int(wrong, 0, "%s: every number below %u has the table's verdict", filter->name,
		SBX_SECCOMP_NUMBERS);
}

static void
test_strange_numbers(const struct filter *filter)
{
	struct seccomp_data foreign = { .nr = __NR_getpid, .arch = OTHER_ARCH };
#ifdef __x86_64__
	uint32_t x32 = SECCOMP_RET_KILL_PROCESS;
#else
	uint32_t x32 = ERRNO(ENOSYS);
#endif

	ok(run(filter, &foreign) == SECCOMP_RET_KILL_PROCESS, "%s: another architecture is killed",
		filter->name);
	ok(ask(filter, 512) == ERRNO(ENOSYS), "%s: 512 is unknown", filter->name);
	ok(ask(filter, 0x3fffffff) == ERRNO(ENOSYS), "%s: 0x3fffffff is unknown", filter->name);
	ok(ask(filter, 0x40000000) == x32, "%s: the first x32 number", filter->name);
	ok(ask(filter, 0x40000000 | __NR_getpid) == x32, "%s: an x32 number", filter->name);
	ok(ask(filter, 0xfffffffe) == x32, "%s: the last x32 number", filter->name);
	ok(ask(filter, 0xffffffff) == ERRNO(ENOSYS), "%s: -1 is unknown", filter->name);
}

struct argument_row {
	const char *name;
	unsigned number;
	uint64_t args[3];
	uint32_t want;
};

static const struct argument_row argument_rows[] = {
	{ "unix stream", __NR_socket, { AF_UNIX, 1, 0 }, ALLOWED },
	{ "unix seqpacket, cloexec", __NR_socket, { AF_UNIX, 5 | 02000000, 0 }, ALLOWED },
	{ "inet stream", __NR_socket, { AF_INET, 1, 0 }, ALLOWED },
	{ "inet stream, flags, tcp", __NR_socket, { AF_INET, 1 | 02004000, 6 }, ALLOWED },
	{ "inet6 datagram, udp", __NR_socket, { AF_INET6, 2, 17 }, ALLOWED },
	{ "netlink route", __NR_socket, { AF_NETLINK, 3 | 02000000, 0 }, ALLOWED },
	{ "netlink audit", __NR_socket, { AF_NETLINK, 3, 9 }, ERRNO(EPROTONOSUPPORT) },
	{ "netlink netfilter", __NR_socket, { AF_NETLINK, 2, 12 }, ERRNO(EPROTONOSUPPORT) },
	{ "inet raw", __NR_socket, { AF_INET, 3, 1 }, ERRNO(EPERM) },
	{ "inet raw with flags", __NR_socket, { AF_INET, 3 | 02004000, 255 }, ERRNO(EPERM) },
	{ "inet raw with high bits", __NR_socket, { HIGH | 2, HIGH | 3, 1 }, ERRNO(EPERM) },
	{ "inet6 raw", __NR_socket, { AF_INET6, 3, 58 }, ERRNO(EPERM) },
	{ "inet packet", __NR_socket, { AF_INET, 10, 0x300 }, ERRNO(EPERM) },
	{ "inet seqpacket", __NR_socket, { AF_INET, 5, 132 }, ERRNO(EPERM) },
	{ "sctp", __NR_socket, { AF_INET, 1, 132 }, ERRNO(EPROTONOSUPPORT) },
	{ "mptcp", __NR_socket, { AF_INET, 1, 262 }, ERRNO(EPROTONOSUPPORT) },
	{ "ping", __NR_socket, { AF_INET6, 2, 58 }, ERRNO(EPROTONOSUPPORT) },
	{ "packet", __NR_socket, { AF_PACKET, 3, 0 }, ERRNO(EAFNOSUPPORT) },
	{ "vsock", __NR_socket, { AF_VSOCK, 1, 0 }, ERRNO(EAFNOSUPPORT) },
	{ "alg", __NR_socket, { AF_ALG, 5, 0 }, ERRNO(EAFNOSUPPORT) },
	{ "family 0", __NR_socket, { 0, 1, 0 }, ERRNO(EAFNOSUPPORT) },
	{ "family 2^32 - 1", __NR_socket, { 0xffffffff, 1, 0 }, ERRNO(EAFNOSUPPORT) },
	{ "pair of unix", __NR_socketpair, { AF_UNIX, 1, 0 }, ALLOWED },
	{ "pair of tipc", __NR_socketpair, { AF_TIPC, 1, 0 }, ERRNO(EAFNOSUPPORT) },
	{ "clone: fork", __NR_clone, { 17, 0, 0 }, ALLOWED },
	{ "clone: thread", __NR_clone, { 0x3d0f00, 0, 0 }, ALLOWED },
	{ "clone: signal 0x80", __NR_clone, { 0x80, 0, 0 }, ALLOWED },
	{ "clone: user", __NR_clone, { 0x10000000 | 17, 0, 0 }, ERRNO(EPERM) },
	{ "clone: mount", __NR_clone, { 0x00020000, 0, 0 }, ERRNO(EPERM) },
	{ "clone: cgroup", __NR_clone, { 0x02000000, 0, 0 }, ERRNO(EPERM) },
	{ "clone: uts", __NR_clone, { 0x04000000, 0, 0 }, ERRNO(EPERM) },
	{ "clone: ipc", __NR_clone, { 0x08000000, 0, 0 }, ERRNO(EPERM) },
	{ "clone: pid", __NR_clone, { 0x20000000, 0, 0 }, ERRNO(EPERM) },
	{ "clone: net, high bits", __NR_clone, { HIGH | 0x40000000, 0, 0 }, ERRNO(EPERM) },
	{ "ioctl: TCGETS", __NR_ioctl, { 0, 0x5401, 0 }, ALLOWED },
	{ "ioctl: TIOCSTI", __NR_ioctl, { 0, 0x5412, 0 }, ERRNO(EPERM) },
	{ "ioctl: TIOCSTI, high bits", __NR_ioctl, { 0, HIGH | 0x5412, 0 }, ERRNO(EPERM) },
	{ "ioctl: TIOCLINUX", __NR_ioctl, { 0, 0x541c, 0 }, ERRNO(EPERM) },
	{ "ioctl: TIOCLINUX, high bits", __NR_ioctl, { 0, HIGH | 0x541c, 0 }, ERRNO(EPERM) },
	{ "ioctl: TIOCSETD", __NR_ioctl, { 0, 0x5423, 0 }, ERRNO(EPERM) },
	{ "prctl: PR_SET_NAME", __NR_prctl, { 15, 0, 0 }, ALLOWED },
	{ "prctl: PR_SET_TSC", __NR_prctl, { 26, 2, 0 }, ERRNO(EPERM) },
	{ "prctl: PR_SET_MM", __NR_prctl, { HIGH | 35, 14, 0 }, ERRNO(EPERM) },
	{ "prctl: PR_SCHED_CORE", __NR_prctl, { 62, 1, 0 }, ERRNO(EPERM) },
	{ "prlimit64: own", __NR_prlimit64, { 0, 7, 0 }, ALLOWED },
	{ "prlimit64: pid 1", __NR_prlimit64, { 1, 7, 0 }, ERRNO(EPERM) },
	{ "personality: normal", __NR_personality, { 0, 0, 0 }, ALLOWED },
	{ "personality: query", __NR_personality, { 0xffffffff, 0, 0 }, ALLOWED },
	{ "personality: fixed addresses", __NR_personality, { 0x40000, 0, 0 }, ALLOWED },
	{ "personality: read is exec", __NR_personality, { 0x400000, 0, 0 }, ERRNO(EPERM) },
	{ "personality: 32 bits", __NR_personality, { 8, 0, 0 }, ERRNO(EPERM) },
	{ "seccomp: filter", __NR_seccomp, { 1, 0, 0 }, ALLOWED },
	{ "seccomp: all threads", __NR_seccomp, { 1, 1, 0 }, ALLOWED },
	{ "seccomp: listener", __NR_seccomp, { 1, 8, 0 }, ERRNO(EPERM) },
	{ "seccomp: listener and more", __NR_seccomp, { 1, HIGH | 0x19, 0 }, ERRNO(EPERM) },
};

static void
test_arguments(const struct filter *filter)
{
	for (size_t i = 0; i < sizeof(argument_rows) / sizeof(argument_rows[0]); i++) {
		const struct argument_row *row = &argument_rows[i];
		struct seccomp_data data = { .nr = (int)row->number, .arch = ARCH };
		uint32_t got;

		memcpy(data.args, row->args, sizeof(row->args));
		got = run(filter, &data);
		ok(got == row->want, "%s: %s", filter->name, row->name);
		if (got != row->want)
			printf("# got 0x%x, want 0x%x\n", got, row->want);
	}
}

int
main(void)
{
	for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
		const struct filter *filter = &filters[i];

		printf("# %s: %zu instructions\n", filter->name, filter->count);
		ok(filter->count < 512, "%s: below 512 instructions", filter->name);
		test_table(filter);
		test_strange_numbers(filter);
		test_arguments(filter);
	}
	printf("# longest path: %d instructions\n", steps_most);
	ok(steps_most <= STEPS_MAX, "no path is longer than %d instructions", STEPS_MAX);

	is_int(command_filter.count, 4, "command: a few instructions");
	ok(ask(&command_filter, __NR_clone3) == ERRNO(ENOSYS), "command: no clone3");
	ok(ask(&command_filter, __NR_clone) == ALLOWED, "command: the rest is for the base filter");
	ok(ask(&command_filter, __NR_fallocate) == ALLOWED, "command: a kernel's limit bounds it");
	is_int(counted_filter.count, 6, "counted: a few instructions");
	ok(ask(&counted_filter, __NR_clone3) == ERRNO(ENOSYS), "counted: no clone3");
	ok(ask(&counted_filter, __NR_fallocate) == ERRNO(EOPNOTSUPP),
		"counted: no blocks but by writing");
	ok(ask(&counted_filter, __NR_write) == ALLOWED, "counted: the rest is for the base filter");
	return done();
}
