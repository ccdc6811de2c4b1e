/*
 * The rules that look at arguments, as pieces of BPF that a leaf of the filter's tree runs. Each
 * loads what it needs and ends in returns of its own. Only seccomp_gen.c includes this.
 *
 * Every argument here is an int or an unsigned int to the kernel, which takes the low 32 bits of
 * the register and drops the rest. So only those are compared: a rule over all 64 would be evaded
 * by a high bit (CVE-2019-10063).
 */
#ifndef SBX_KERNEL_SECCOMP_CHECKS_H
#define SBX_KERNEL_SECCOMP_CHECKS_H

#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>

#include "kernel/seccomp_table.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the low half of an argument is taken to come first"
#endif

#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset))
#define LOAD_ARG(n) LOAD(offsetof(struct seccomp_data, args) + (n)*8U)
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define IF_AT_LEAST(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (value), (yes), (no))
#define IF_ANY_BIT(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), (yes), (no))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define ALLOW SECCOMP_RET_ALLOW
#define REFUSE(number) (SECCOMP_RET_ERRNO | (number))

/*
 * Families and protocols that are not ours are refused in the words of a kernel that was built
 * without them: programs then go on without IPv6, audit, MPTCP and so on, where EPERM would end
 * them. Raw sockets get EPERM, as without CAP_NET_RAW. For AF_UNIX the kernel takes SOCK_RAW as
 * SOCK_DGRAM, and netlink sockets are raw by habit: there the type says nothing.
 */
static const struct sock_filter check_socket[] = {
	LOAD_ARG(0),
	IF_EQUAL(AF_UNIX, 14, 0),
	IF_EQUAL(AF_INET, 5, 0),
	IF_EQUAL(AF_INET6, 4, 0),
	IF_EQUAL(AF_NETLINK, 0, 2),
	LOAD_ARG(2),
	IF_EQUAL(NETLINK_ROUTE, 9, 10),
	RETURN(REFUSE(EAFNOSUPPORT)),
	/* Internet: streams and datagrams, by TCP and UDP. */
	LOAD_ARG(1),
	BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf), /* the kernel's SOCK_TYPE_MASK */
	IF_AT_LEAST(SOCK_DGRAM + 1, 4, 0),
	LOAD_ARG(2),
	IF_EQUAL(IPPROTO_IP, 3, 0),
	IF_EQUAL(IPPROTO_TCP, 2, 0),
	IF_EQUAL(IPPROTO_UDP, 1, 2),
	RETURN(REFUSE(EPERM)),
	RETURN(ALLOW),
	RETURN(REFUSE(EPROTONOSUPPORT)),
};

/* Flags are argument 0 on both architectures. CLONE_NEWTIME shares its bit with the exit signal. */
#define NEW_NAMESPACES                                                                             \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
		CLONE_NEWPID | CLONE_NEWNET)
static const struct sock_filter check_clone[] = {
	LOAD_ARG(0),
	IF_ANY_BIT(NEW_NAMESPACES, 0, 1),
	RETURN(REFUSE(EPERM)),
	RETURN(ALLOW),
};

/*
 * TIOCSTI and TIOCLINUX type into the terminal of whoever looks inside (CVE-2017-5226,
 * CVE-2023-1523); TIOCSETD makes the kernel load line disciplines.
 */
static const struct sock_filter check_ioctl[] = {
	LOAD_ARG(1),
	IF_EQUAL(TIOCSTI, 2, 0),
	IF_EQUAL(TIOCLINUX, 1, 0),
	IF_EQUAL(TIOCSETD, 0, 1),
	RETURN(REFUSE(EPERM)),
	RETURN(ALLOW),
};

/*
 * PR_SET_MM rewrites what /proc says of the process, PR_SCHED_CORE idles the sibling threads of
 * the host's cores, PR_SET_TSC only breaks clocks. The rest concerns the caller alone.
 */
static const struct sock_filter check_prctl[] = {
	LOAD_ARG(0),
	IF_EQUAL(PR_SET_MM, 2, 0),
	IF_EQUAL(PR_SCHED_CORE, 1, 0),
	IF_EQUAL(PR_SET_TSC, 0, 1),
	RETURN(REFUSE(EPERM)),
	RETURN(ALLOW),
};

/* The own limits (pid 0), nobody else's. */
static const struct sock_filter check_prlimit[] = {
	LOAD_ARG(0),
	IF_EQUAL(0, 1, 0),
	RETURN(REFUSE(EPERM)),
	RETURN(ALLOW),
};

/*
 * The normal one, the question, and no address randomization, which debuggers and ThreadSanitizer
 * ask for and which weakens the caller alone.
 */
static const struct sock_filter check_personality[] = {
	LOAD_ARG(0),
	IF_EQUAL(PER_LINUX, 3, 0),
	IF_EQUAL(0xffffffffU, 2, 0),
	IF_EQUAL(ADDR_NO_RANDOMIZE, 1, 0),
	RETURN(REFUSE(EPERM)),
	RETURN(ALLOW),
};

/* A listener could answer system calls and hand descriptors to the processes it supervises. */
static const struct sock_filter check_seccomp[] = {
	LOAD_ARG(1),
	IF_ANY_BIT(SECCOMP_FILTER_FLAG_NEW_LISTENER, 0, 1),
	RETURN(REFUSE(EPERM)),
	RETURN(ALLOW),
};

static const struct sock_filter plain_absent[] = { RETURN(REFUSE(ENOSYS)) };
static const struct sock_filter plain_allow[] = { RETURN(ALLOW) };
static const struct sock_filter plain_deny[] = { RETURN(REFUSE(EPERM)) };
static const struct sock_filter plain_kill[] = { RETURN(SECCOMP_RET_KILL_PROCESS) };

struct leaf {
	const struct sock_filter *code;
	size_t count;
};

#define COUNT(code) (sizeof(code) / sizeof((code)[0]))

static const struct leaf leaves[] = {
	[SBX_VERDICT_ABSENT] = { plain_absent, COUNT(plain_absent) },
	[SBX_VERDICT_ALLOW] = { plain_allow, COUNT(plain_allow) },
	[SBX_VERDICT_DENY] = { plain_deny, COUNT(plain_deny) },
	[SBX_VERDICT_KILL] = { plain_kill, COUNT(plain_kill) },
	[SBX_VERDICT_DEBUG] = { NULL, 0 }, /* each profile has put ALLOW or DENY in its place */
	[SBX_VERDICT_SOCKET] = { check_socket, COUNT(check_socket) },
	[SBX_VERDICT_CLONE] = { check_clone, COUNT(check_clone) },
	[SBX_VERDICT_IOCTL] = { check_ioctl, COUNT(check_ioctl) },
	[SBX_VERDICT_PRCTL] = { check_prctl, COUNT(check_prctl) },
	[SBX_VERDICT_PRLIMIT] = { check_prlimit, COUNT(check_prlimit) },
	[SBX_VERDICT_PERSONALITY] = { check_personality, COUNT(check_personality) },
	[SBX_VERDICT_SECCOMP] = { check_seccomp, COUNT(check_seccomp) },
};

_Static_assert(COUNT(leaves) == SBX_VERDICT_COUNT, "a verdict has no leaf");

#endif
