/*
 * The child's way from clone3 to sbx-init: with all capabilities of the new user namespace it takes
 * its identity, builds the view, gives everything up, and executes pid 1 by descriptor. It has no
 * memory or lock in common with its maker, parses nothing from outside, and answers with one
 * struct sbx_err if a step fails.
 */
#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "base/scoped.h"
#include "kernel/caps.h"
#include "kernel/landlock.h"
#include "kernel/mount.h"
#include "kernel/rlimit.h"
#include "mech/init_proto.h"
#include "mech/native/native.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Beneath these a command may write, and to these devices. */
static const char *const write_trees[] = { SBX_NATIVE_WORKSPACE, "/tmp", "/dev/shm", "/dev/pts" };
static const char *const write_files[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random",
	"/dev/urandom", "/dev/tty" };

/* As the user who owns them: a subordinate uid cannot walk to what is below a private directory. */
static int
cut_trees(struct sbx_native_plan *plan, struct sbx_err *err)
{
	plan->workspace_fd = sbx_mount_cut(AT_FDCWD, plan->workspace_path, SBX_MOUNT_NODEV, err);
	if (plan->workspace_fd < 0)
		return -1;
	if (plan->image_path[0] != '\0') {
		plan->image_fd = sbx_mount_cut(AT_FDCWD, plan->image_path,
			SBX_MOUNT_RDONLY | SBX_MOUNT_NODEV, err);
		if (plan->image_fd < 0)
			return -1;
	}
	/* The helper that wrote the map left this allowed; the user's groups stay behind. */
	if (setgroups(0, NULL) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "drop the supplementary groups");
	return 0;
}

/* The groups come first, so that all memory of the view is charged to the environment. */
static int
take_identity(struct sbx_native_plan *plan, struct sbx_err *err)
{
	char byte;

	close(plan->go_write_fd);
	if (plan->join_count > 0 && sbx_cgroup_join(plan->join_fds, plan->join_count) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "join the control groups");
	if (plan->maps_itself) {
		if (sbx_native_map(0, &plan->map, err) != 0)
			return -1;
	} else if (read(plan->go_fd, &byte, 1) != 1) {
		return sbx_fail(err, SBX_E_CANCELLED, "the maker ended");
	}
	if (plan->subordinate && cut_trees(plan, err) != 0)
		return -1;
	if (setresgid(SBX_NATIVE_UID, SBX_NATIVE_UID, SBX_NATIVE_UID) != 0 ||
		setresuid(SBX_NATIVE_UID, SBX_NATIVE_UID, SBX_NATIVE_UID) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "become uid %d", SBX_NATIVE_UID);
	if (setsid() < 0)
		return sbx_fail_sys(err, SBX_E_INTERNAL, "leave the maker's session");
	umask(077);
	return 0;
}

/*
 * Commands raise theirs (cmd/sbx-init/spawn.c), so that memory that runs out, the environment's or
 * the host's, takes them and not pid 1; a maker's protection is not handed down.
 */
static int
reset_oom_score(struct sbx_err *err)
{
	if (sbx_io_write_attr(AT_FDCWD, "/proc/self/oom_score_adj", "0") != 0 && errno != EACCES)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "write oom_score_adj");
	return 0;
}

static int
close_namespaces(const struct sbx_native_plan *plan, struct sbx_err *err)
{
	if (sbx_ns_loopback_up(err) != 0)
		return -1;
	if (sethostname("sbx", 3) != 0 || setdomainname("(none)", 6) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "set the host name");
	return plan->own_cgroup ? sbx_ns_own_cgroup(err) : 0;
}

static int
open_all(const char *const *paths, size_t count, int *fds, struct sbx_err *err)
{
	for (size_t i = 0; i < count; i++) {
		fds[i] = open(paths[i], O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fds[i] < 0)
			return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "open %s inside", paths[i]);
	}
	return 0;
}

static int
make_ruleset(struct sbx_err *err)
{
	int trees[COUNT(write_trees)], files[COUNT(write_files)];

	if (open_all(write_trees, COUNT(write_trees), trees, err) != 0 ||
		open_all(write_files, COUNT(write_files), files, err) != 0)
		return -1;
	return sbx_landlock_make(trees, COUNT(trees), files, COUNT(files), err);
}

/* A second fence: the groups of the kernel are the first where the host has them. */
static int
restrict_self(const struct sbx_native_plan *plan, struct sbx_err *err)
{
	struct sbx_rlimits limits = {
		.nproc = plan->limits->pids + 1 +
			(plan->own_cgroup ? 64 : 0), /* so that the group acts */
		.fsize_bytes = plan->file_bytes,
		.nofile = 4096,
	};

	if (sbx_rlimit_apply(&limits) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "set the resource limits");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "set no_new_privs");
	if (sbx_caps_drop_all() != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "drop all capabilities");
	return 0;
}

/*
 * The maker's place before others on the processor and at the disk is not handed down. A lower one
 * than usual stays: to leave it would take a right. Before the groups are joined, since a real-time
 * task may not enter a v1 cpu group.
 */
static int
leave_place(struct sbx_err *err)
{
	static const struct sched_param normal;

	if (getpriority(PRIO_PROCESS, 0) < 0 && setpriority(PRIO_PROCESS, 0, 0) != 0)
		return sbx_fail_sys(err, SBX_E_INTERNAL, "reset the nice value");
	if (sched_setscheduler(0, SCHED_OTHER, &normal) != 0)
		return sbx_fail_sys(err, SBX_E_INTERNAL, "reset the scheduling policy");
	/* IOPRIO_WHO_PROCESS, ourselves, IOPRIO_CLASS_NONE: as the nice value says */
	if (syscall(SYS_ioprio_set, 1, 0, 0) != 0 && errno != ENOSYS)
		return sbx_fail_sys(err, SBX_E_INTERNAL, "reset the I/O priority");
	return 0;
}

/*
 * System V segments go with the last process that has them. Only the host's root may say so in a
 * namespace whose root does not exist: before the uid changes, and not for a plain user.
 */
static int
forget_segments(const struct sbx_native_plan *plan, struct sbx_err *err)
{
	if (!plan->maps_itself && plan->map.outside_uid != geteuid() &&
		sbx_io_write_attr(AT_FDCWD, "/proc/sys/kernel/shm_rmid_forced", "1") != 0 &&
		errno != EACCES)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "write shm_rmid_forced");
	return 0;
}

/* A session keyring of its own. */
static int
leave_keyring(struct sbx_err *err)
{
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "leave the maker's session keyring");
	return 0;
}

/* By the system call: libc keeps two realtime signals for itself and refuses to touch them. */
static void
default_signals(void)
{
	static const unsigned char none[64]; /* a kernel sigaction or mask of zeros */

	for (int sig = 1; sig <= 64; sig++)
		syscall(SYS_rt_sigaction, sig, none, NULL, (size_t)8);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, none, NULL, (size_t)8);
}

/* The descriptor is open after exec; nothing that stays may sit where the plan goes. */
static int
pass_on(int fd)
{
	if (fd < 0)
		return -1;
	if (fd <= SBX_INIT_FD_PLAN)
		return fcntl(fd, F_DUPFD, SBX_INIT_FD_PLAN + 1);
	return fcntl(fd, F_SETFD, 0) == 0 ? fd : -1;
}

static int
hand_over(const struct sbx_native_plan *plan, int ruleset_fd, struct sbx_err *err)
{
	struct sbx_init_plan out = {
		.magic = SBX_INIT_MAGIC,
		.version = SBX_INIT_VERSION,
		.seccomp = (uint16_t)plan->seccomp,
		.counted = plan->counted,
		.workspace = SBX_NATIVE_WORKSPACE,
		.probe_write = "/etc/.sbx-probe",
	};
	int pipe_fds[2];
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null_fd < 0 || dup2(null_fd, 0) < 0 || dup2(null_fd, 1) < 0 || dup2(null_fd, 2) < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "open /dev/null inside");
	if (sbx_native_mark_descriptors(err) != 0)
		return -1;
	if (pipe2(pipe_fds, O_CLOEXEC) != 0)
		return sbx_fail_sys(err, SBX_E_INTERNAL, "make a pipe");
	out.listen_fd = pass_on(plan->listen_fd);
	out.ready_fd = pass_on(plan->report_fd);
	out.keep_fd = pass_on(plan->go_fd);
	out.hold_fd = pass_on(plan->hold_fd);
	out.landlock_fd = pass_on(ruleset_fd);
	if (sbx_io_write_all(pipe_fds[1], &out, sizeof(out)) != 0)
		return sbx_fail_sys(err, SBX_E_INTERNAL, "write the plan of pid 1");
	return pipe_fds[0];
}

static void
become_init(const struct sbx_native_plan *plan, int ruleset_fd, struct sbx_err *err)
{
	char name[] = "sbx-init";
	char *const argv[] = { name, NULL };
	char *const envp[] = { NULL };
	int init_fd = fcntl(plan->init_fd, F_DUPFD_CLOEXEC, SBX_INIT_FD_PLAN + 1);
	int plan_fd = hand_over(plan, ruleset_fd, err);

	if (plan_fd < 0)
		return;
	if (plan_fd != SBX_INIT_FD_PLAN && dup2(plan_fd, SBX_INIT_FD_PLAN) < 0) {
		sbx_fail_sys(err, SBX_E_INTERNAL, "place the plan of pid 1");
		return;
	}
	if (plan_fd == SBX_INIT_FD_PLAN)
		fcntl(plan_fd, F_SETFD, 0);
	syscall(SYS_execveat, init_fd, "", argv, envp, AT_EMPTY_PATH);
	sbx_fail_sys(err, SBX_E_UNAVAILABLE, "execute sbx-init");
}

void
sbx_native_child(struct sbx_native_plan *plan)
{
	struct sbx_err err = { 0 };
	int ruleset_fd = -1;
	int rc = reset_oom_score(&err);

	default_signals();
	if (rc == 0)
		rc = leave_place(&err);
	if (rc == 0)
		rc = forget_segments(plan, &err);
	if (rc == 0)
		rc = take_identity(plan, &err);
	if (rc == 0)
		rc = leave_keyring(&err);
	if (rc == 0)
		rc = close_namespaces(plan, &err);
	if (rc == 0)
		rc = sbx_native_view(plan, &err);
	if (rc == 0 && plan->landlock) {
		ruleset_fd = make_ruleset(&err);
		rc = ruleset_fd < 0 ? -1 : 0;
	}
	if (rc == 0)
		rc = restrict_self(plan, &err);
	if (rc == 0)
		become_init(plan, ruleset_fd, &err);
	if (sbx_io_write_all(plan->report_fd, &err, sizeof(err)) != 0)
		_exit(71);
	_exit(70);
}
