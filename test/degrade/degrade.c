/*
 * An older or a more restricted kernel, played to one program and all that it starts:
 *
 *	degrade CALL=VALUE [CALL=VALUE...] -- COMMAND...
 *
 * A seccomp filter answers the calls of the table below with an error, ENOSYS say, or asks this
 * process where the arguments alone do not tell; `landlock_abi` takes the ABI's number instead. It
 * ends as the command did. What outlives it is told ENOSYS where it would have been asked. A toy for
 * tests, not a fence: the memory of who asks may change after we have looked.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/num.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Where a mask is given, only calls with one of its bits in that argument are meant. */
static const struct call {
	const char *name;
	int number, argument;
	unsigned mask;
	int ask;
} calls[] = {
	{ "landlock_abi", SYS_landlock_create_ruleset, 2, LANDLOCK_CREATE_RULESET_VERSION, 1 },
	{ "landlock", SYS_landlock_create_ruleset, 0, 0, 0 },
	{ "seccomp", SYS_seccomp, 0, SECCOMP_SET_MODE_FILTER, 0 },
	{ "userns", SYS_clone, 0, CLONE_NEWUSER, 0 },
	{ "userns", SYS_unshare, 0, CLONE_NEWUSER, 0 },
	{ "userns", SYS_clone3, 0, 0, 1 },
	{ "clone3", SYS_clone3, 0, 0, 0 },
	{ "id_maps", SYS_openat, 2, O_WRONLY | O_RDWR, 1 }, /* what AppArmor leaves of a user ns */
	{ "openat2", SYS_openat2, 0, 0, 0 },
	{ "open_tree", SYS_open_tree, 0, 0, 0 },
	{ "mount_setattr", SYS_mount_setattr, 0, 0, 0 },
	{ "move_mount", SYS_move_mount, 0, 0, 0 },
	{ "fsopen", SYS_fsopen, 0, 0, 0 },
	{ "close_range", SYS_close_range, 0, 0, 0 },
};

static const struct {
	const char *name;
	int number;
} errors[] = {
	{ "EACCES", EACCES },
	{ "EINVAL", EINVAL },
	{ "ENOSYS", ENOSYS },
	{ "EPERM", EPERM },
};

static int answers[COUNT(calls)]; /* an error or an ABI; 0: the call goes its way */

static void
die(const char *what)
{
	fprintf(stderr, "degrade: %s: %s\n", what, strerror(errno));
	exit(99);
}

static int
read_value(const char *name, const char *text)
{
	struct sbx_err err = { 0 };
	uint64_t number;

	for (size_t i = 0; i < COUNT(errors); i++) {
		if (strcmp(text, errors[i].name) == 0)
			return errors[i].number;
	}
	if (sbx_num_u64(text, 1, 4095, name, &number, &err) == 0)
		return (int)number;
	fprintf(stderr, "degrade: %s\n", err.msg);
	exit(64);
}

static void
read_rule(const char *rule)
{
	size_t length = strcspn(rule, "=");
	int known = 0;

	for (size_t i = 0; i < COUNT(calls); i++) {
		if (strncmp(rule, calls[i].name, length) != 0 || calls[i].name[length] != '\0' ||
			rule[length] != '=')
			continue;
		answers[i] = read_value(calls[i].name, rule + length + 1);
		known = 1;
	}
	if (!known) {
		fprintf(stderr, "degrade: %s: no CALL=VALUE that we know\n", rule);
		exit(64);
	}
}

/* One rule: on to the next one, or its action. Answers the number of instructions. */
static size_t
compile(const struct call *call, int answer, struct sock_filter *out)
{
	const unsigned nr = offsetof(struct seccomp_data, nr);
	const unsigned low = (unsigned)(offsetof(struct seccomp_data, args) +
		sizeof(uint64_t) * (unsigned)call->argument);
	const unsigned action = call->ask ? SECCOMP_RET_USER_NOTIF :
					    SECCOMP_RET_ERRNO | (unsigned)answer;
	size_t n = 0;

	out[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, nr);
	out[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call->number,
		0, call->mask != 0 ? 3 : 1);
	if (call->mask != 0) {
		out[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low);
		out[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, call->mask, 0,
			1);
	}
	out[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	return n;
}

/* We are under it too, and make none of these calls from here on. */
static int
install(void)
{
	struct sock_filter code[COUNT(calls) * 5 + 4] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .filter = code };
	size_t n = 3;
	int fd;

	for (size_t i = 0; i < COUNT(calls); i++) {
		if (answers[i] != 0)
			n += compile(&calls[i], answers[i], code + n);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = (unsigned short)n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		die("set no_new_privs");
	fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
		&program);
	if (fd < 0)
		die("install the filter");
	return fd;
}

/* At most `size` bytes at `address` of the process; those that are not there stay 0. */
static void
peek(unsigned pid, uint64_t address, void *out, size_t size)
{
	struct iovec here = { .iov_base = out, .iov_len = size };
	struct iovec there = { .iov_len = size };
	uintptr_t at = (uintptr_t)address;

	memset(out, 0, size);
	memcpy(&there.iov_base, &at, sizeof(at)); /* not an address of ours */
	if (process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0) < 0)
		memset(out, 0, size);
}

static int
makes_user_namespace(const struct seccomp_notif *call)
{
	struct clone_args args;

	peek(call->pid, call->data.args[0], &args, sizeof(args));
	return (args.flags & CLONE_NEWUSER) != 0;
}

static int
opens_id_map(const struct seccomp_notif *call)
{
	static const char *const names[] = { "setgroups", "uid_map", "gid_map" };
	char path[64];
	const char *name;

	peek(call->pid, call->data.args[1], path, sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	name = strrchr(path, '/');
	name = name != NULL ? name + 1 : path;
	for (size_t i = 0; i < COUNT(names); i++) {
		if (strcmp(name, names[i]) == 0)
			return 1;
	}
	return 0;
}

static void
answer(int listener)
{
	struct seccomp_notif call = { 0 };
	struct seccomp_notif_resp reply = { 0 };
	size_t i = 0;

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0)
		return; /* who asked is gone */
	reply.id = call.id;
	while (!(calls[i].ask && answers[i] != 0 && calls[i].number == call.data.nr))
		i++;
	if (call.data.nr == SYS_landlock_create_ruleset)
		reply.val = answers[i];
	else if (call.data.nr == SYS_clone3 ? makes_user_namespace(&call) : opens_id_map(&call))
		reply.error = -answers[i];
	else
		reply.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply);
}

static int
serve(int listener, pid_t pid)
{
	struct pollfd fds[2] = {
		{ .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN },
		{ .fd = listener, .events = POLLIN },
	};
	int status;

	if (fds[0].fd < 0)
		die("open the command");
	do {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			die("wait");
		if ((fds[1].revents & POLLIN) != 0)
			answer(listener);
	} while (fds[0].revents == 0);
	if (waitpid(pid, &status, 0) < 0)
		die("wait for the command");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int
main(int argc, char **argv)
{
	int first = 1, listener;
	pid_t pid;

	while (first < argc && strcmp(argv[first], "--") != 0)
		read_rule(argv[first++]);
	if (first + 1 >= argc) {
		fprintf(stderr, "usage: degrade CALL=VALUE... -- COMMAND...\n");
		return 64;
	}
	listener = install();
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		execvp(argv[first + 1], argv + first + 1);
		die(argv[first + 1]);
	}
	return serve(listener, pid);
}
