/*
 * What native needs of this host, each tried by doing it in a child that ends at once: nothing is
 * concluded from a version, nothing is left behind.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/scoped.h"
#include "kernel/cgroup.h"
#include "kernel/landlock.h"
#include "kernel/mount.h"
#include "kernel/ns.h"
#include "kernel/seccomp.h"
#include "mech/native/native.h"
#include "mech/native/storage.h"
#include "state/slot.h"

/* A trial in a child that has all namespaces and its maps; fills err on failure. */
typedef int trial_fn(struct sbx_err *err);

static void be_child(trial_fn *trial, int maps_itself, const struct sbx_ns_map *map,
	const int go[2], int out_fd) __attribute__((noreturn));

static void
be_child(trial_fn *trial, int maps_itself, const struct sbx_ns_map *map, const int go[2],
	int out_fd)
{
	struct sbx_err err = { 0 };
	char byte;
	int rc = 0;

	close(go[1]);
	if (maps_itself)
		rc = sbx_native_map(0, map, &err);
	else if (read(go[0], &byte, 1) != 1)
		_exit(1);
	if (rc == 0 &&
		(setresgid(SBX_NATIVE_UID, SBX_NATIVE_UID, SBX_NATIVE_UID) != 0 ||
			setresuid(SBX_NATIVE_UID, SBX_NATIVE_UID, SBX_NATIVE_UID) != 0))
		rc = sbx_fail_sys(&err, SBX_E_UNAVAILABLE, "become uid %d", SBX_NATIVE_UID);
	if (rc == 0)
		rc = trial(&err);
	if (rc != 0 && sbx_io_write_all(out_fd, &err, sizeof(err)) != 0)
		_exit(2);
	_exit(rc == 0 ? 0 : 1);
}

static int
run_trial(trial_fn *trial, const struct sbx_ns_map *map, struct sbx_err *err)
{
	int go[2], out[2], maps_itself = geteuid() != 0, status, rc = 0;
	SBX_AUTO_FD pidfd = -1;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
		return sbx_fail_sys(err, SBX_E_INTERNAL, "make a pipe");
	pid = sbx_ns_clone(SBX_NS_ALL, -1, &pidfd);
	if (pid == 0)
		be_child(trial, maps_itself, map, go, out[1]);
	close(out[1]);
	if (pid < 0)
		rc = sbx_ns_explain(errno, err);
	else if (!maps_itself && (rc = sbx_native_map(pid, map, err)) == 0 &&
		write(go[1], "m", 1) != 1)
		rc = sbx_fail_sys(err, SBX_E_INTERNAL, "talk to the child");
	close(go[0]);
	close(go[1]);
	if (pid > 0) {
		struct sbx_err told;
		ssize_t n = read(out[0], &told, sizeof(told));

		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (rc == 0 && n == (ssize_t)sizeof(told)) {
			*err = told;
			rc = -1;
		} else if (rc == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)) {
			rc = sbx_fail(err, SBX_E_UNAVAILABLE, "the trial died");
		}
	}
	close(out[0]);
	if (rc != 0)
		sbx_native_advise(err);
	return rc;
}

static int
try_nothing(struct sbx_err *err)
{
	(void)err;
	return 0;
}

static int
try_mounts(struct sbx_err *err)
{
	static const char *const options[] = { "mode=0755", "size=64k", NULL };
	SBX_AUTO_FD root = -1;
	SBX_AUTO_FD usr = -1;

	if (sbx_mount_private(err) != 0)
		return -1;
	root = sbx_mount_new("tmpfs", options, SBX_MOUNT_NODEV, err);
	if (root < 0 || sbx_mount_cover_root(root, err) != 0)
		return -1;
	usr = sbx_mount_cut(AT_FDCWD, "/usr", SBX_MOUNT_RDONLY | SBX_MOUNT_NODEV, err);
	if (usr < 0)
		return -1;
	if (mkdirat(root, "usr", 0755) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "make a directory in the new root");
	if (sbx_mount_hang(usr, root, "usr", err) != 0)
		return -1;
	return sbx_mount_pivot(root, err);
}

static int
try_proc(struct sbx_err *err)
{
	static const char *const options[] = { "hidepid=invisible", NULL };
	SBX_AUTO_FD proc = sbx_mount_new("proc", options, SBX_MOUNT_NODEV, err);

	return proc < 0 ? -1 : 0;
}

static int
try_nested(struct sbx_err *err)
{
	SBX_AUTO_FD proc = sbx_mount_new("proc", NULL, SBX_MOUNT_NODEV, err);

	if (proc < 0 || sbx_ns_forbid_nested(proc, err) != 0)
		return -1;
	if (unshare(CLONE_NEWUSER) == 0)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "a nested user namespace was possible");
	return 0;
}

static int
try_seccomp(struct sbx_err *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		sbx_seccomp_base(SBX_SECCOMP_STRICT) != 0 || sbx_seccomp_command(1) != 0) {
		sbx_fail_sys(err, SBX_E_UNAVAILABLE, "install the filters");
		return sbx_fail_hint(err, SBX_NATIVE_SECCOMP_HINT);
	}
	if (unshare(CLONE_NEWNS) == 0 || errno != EPERM)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "the filter does not act");
	return 0;
}

static void
report(struct sbx_probe *probe, const char *name, int rc, int required, const char *seen,
	const struct sbx_err *err)
{
	if (rc == 0)
		sbx_probe_add(probe, name, 1, required, seen, "");
	else
		sbx_probe_add(probe, name, 0, required, err->msg, err->hint);
}

static void
probe_groups(const struct sbx_mech_host *host, struct sbx_probe *probe)
{
	static const char *const layouts[] = { "none", "v1", "hybrid", "v2" };
	struct sbx_cgroup_limits limits = {
		.cpu_milli = 1000, .memory_bytes = 64 << 20, .pids = 16
	};
	struct sbx_cgroup_host groups;
	struct sbx_cgroup cg;
	struct sbx_err err = { 0 };
	int required = host->config->cgroup == SBX_REQUIRED;
	char name[40];
	int rc = sbx_cgroup_host_open(host->config->cgroup_parent, &groups, &err);

	if (rc != 0) {
		report(probe, "cgroup", rc, required, "", &err);
		return;
	}
	snprintf(name, sizeof(name), "probe-%d", (int)getpid());
	rc = sbx_cgroup_make(&groups, name, &limits, geteuid(), &cg, &err);
	if (rc == 0) {
		sbx_cgroup_close(&cg);
		rc = sbx_cgroup_remove(&groups, name, &err);
	}
	report(probe, "cgroup", rc, required, layouts[groups.layout], &err);
	sbx_cgroup_host_close(&groups);
}

static int
do_nothing(void *arg, struct sbx_err *err)
{
	(void)arg;
	(void)err;
	return 0;
}

static void
probe_ids(const struct sbx_mech_host *host, struct sbx_probe *probe)
{
	struct sbx_err err = { 0 };
	int rc;

	if (geteuid() != 0 && host->config->user_ids == SBX_USER_IDS_SUBUID) {
		struct sbx_slot_range range;

		rc = sbx_slot_user_range(&range, &err);
		if (rc == 0)
			rc = sbx_ns_as_owner((uid_t)range.uid_first, (gid_t)range.gid_first,
				do_nothing, NULL, &err);
		report(probe, "own uids", rc, 1, "of the subordinate range, by newuidmap", &err);
		return;
	}
	if (geteuid() != 0) {
		sbx_probe_add(probe, "own uids", 0, 0,
			"a plain user has one uid for all environments",
			"configure `user_ids: subuid`, or run the tools as root");
		return;
	}
	rc = sbx_slot_check_range(host->config->uid_first, host->config->uid_count, &err);
	report(probe, "own uids", rc, 1, "the configured range belongs to nobody", &err);
}

static void
probe_init(const struct sbx_mech_host *host, struct sbx_probe *probe)
{
	char path[4352];
	struct sbx_err err = { 0 };
	int rc = 0;

	snprintf(path, sizeof(path), "%s/sbx-init", host->libexec);
	if (access(path, X_OK) != 0)
		rc = sbx_fail_sys(&err, SBX_E_UNAVAILABLE, "%s", path);
	report(probe, "sbx-init", rc, 1, path, &err);
}

void
sbx_native_probe(const struct sbx_mech_host *host, struct sbx_probe *probe)
{
	static const struct {
		const char *name;
		trial_fn *trial;
		const char *seen;
	} trials[] = {
		{ "user namespaces", try_nothing, "made, with all others, and mapped" },
		{ "mount calls", try_mounts, "tree cut, hung up, pivoted" },
		{ "procfs", try_proc, "a fresh one may be mounted" },
		{ "no nested namespaces", try_nested, "refused inside" },
		{ "close_range", sbx_native_mark_descriptors, "marks all descriptors at once" },
		{ "seccomp", try_seccomp, "installed, and it acts" },
	};
	struct sbx_ns_map map = { .inside_uid = SBX_NATIVE_UID,
		.outside_uid = geteuid(),
		.inside_gid = SBX_NATIVE_UID,
		.outside_gid = getegid() };
	struct sbx_err no_landlock = { 0 };

	if (geteuid() == 0)
		map.outside_uid = map.outside_gid = (uid_t)host->config->uid_first;
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++) {
		struct sbx_err err = { 0 };
		int rc = run_trial(trials[i].trial, &map, &err);

		report(probe, trials[i].name, rc, 1, trials[i].seen, &err);
	}
	report(probe, "landlock", sbx_native_check_landlock(&no_landlock),
		host->config->landlock == SBX_REQUIRED, sbx_landlock_name(), &no_landlock);
	probe_groups(host, probe);
	probe_ids(host, probe);
	probe_init(host, probe);
	sbx_native_storage_probe(host, probe);
}
