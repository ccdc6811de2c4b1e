/*
 * Mechanism native, the host's side: what needs rights outside (slot, groups, socket, workspace),
 * the order in which it is made, and its end. Every object carries the environment's id, so that
 * destroy() finds all of it from the id alone.
 */
#include "mech/native.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/path.h"
#include "base/scoped.h"
#include "kernel/landlock.h"
#include "kernel/mount.h"
#include "kernel/seccomp.h"
#include "state/slot.h"

/* The descriptors of a launch, all owned. */
struct parts {
	struct sbx_cgroup_host host;
	struct sbx_cgroup groups;
	int has_host, has_groups;
	int group_fd, listen_fd, init_fd, workspace_fd, image_fd;
	struct sbx_native_plan plan;
};

static void
parts_done(struct parts *parts)
{
	for (int i = 0; i < parts->plan.join_count; i++)
		sbx_scoped_close(&parts->plan.join_fds[i]);
	if (parts->has_groups)
		sbx_cgroup_close(&parts->groups);
	if (parts->has_host)
		sbx_cgroup_host_close(&parts->host);
	sbx_scoped_close(&parts->group_fd);
	sbx_scoped_close(&parts->listen_fd);
	sbx_scoped_close(&parts->init_fd);
	sbx_scoped_close(&parts->workspace_fd);
	sbx_scoped_close(&parts->image_fd);
}

static int
choose_ids(const struct sbx_mech_host *host, struct sbx_env_record *record, struct sbx_err *err)
{
	record->slot = -1;
	record->uid = geteuid();
	record->gid = getegid();
	if (geteuid() != 0)
		return 0;
	if (setgroups(0, NULL) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "drop the supplementary groups");
	if (sbx_slot_check_range(host->config->uid_first, host->config->uid_count, err) != 0)
		return -1;
	if (sbx_slot_take(host->state, record->id, host->config->uid_count, &record->slot, err) != 0)
		return -1;
	record->uid = (int64_t)host->config->uid_first + record->slot;
	record->gid = record->uid;
	return 0;
}

static int
make_groups(const struct sbx_mech_host *host, struct sbx_env_record *record, struct parts *parts,
	struct sbx_err *err)
{
	struct sbx_cgroup_limits limits = {
		.cpu_milli = record->limits.cpu_milli,
		.memory_bytes = record->limits.memory_bytes,
		.pids = record->limits.pids + 1,
	};

	if (host->config->cgroup == SBX_BEST_EFFORT && geteuid() != 0) {
		record->cgroup_layout = SBX_CGROUP_NONE;
		return 0;
	}
	if (sbx_cgroup_host_open(host->config->cgroup_parent, &parts->host, err) != 0)
		return -1;
	parts->has_host = 1;
	if (sbx_cgroup_make(&parts->host, record->id, &limits, (uid_t)record->uid, &parts->groups,
		    err) != 0)
		return -1;
	parts->has_groups = 1;
	record->cgroup_layout = (int)parts->host.layout;
	snprintf(record->cgroup_parent, sizeof(record->cgroup_parent), "%s",
		host->config->cgroup_parent);
	parts->group_fd = sbx_cgroup_init_dir(&parts->groups);
	if (parts->group_fd < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "open the group of pid 1");
	parts->plan.join_count = sbx_cgroup_join_files(&parts->groups, parts->plan.join_fds, err);
	parts->plan.own_cgroup = 1;
	return parts->plan.join_count < 0 ? -1 : 0;
}

/* Bound by way of /proc/self/fd, since a state directory's path may be longer than sun_path. */
static int
listen_at(int dir_fd, struct sbx_err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	SBX_AUTO_FD sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t old;
	int rc;

	if (sock < 0)
		return sbx_fail_sys(err, SBX_E_INTERNAL, "make the control socket");
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/init.sock", dir_fd);
	if (unlinkat(dir_fd, "init.sock", 0) != 0 && errno != ENOENT)
		return sbx_fail_sys(err, SBX_E_IO, "remove an old control socket");
	old = umask(0177);
	rc = bind(sock, (struct sockaddr *)&address, sizeof(address));
	umask(old);
	if (rc != 0 || listen(sock, 64) != 0)
		return sbx_fail_sys(err, SBX_E_IO, "bind the control socket");
	return sbx_take_fd(&sock);
}

static int
open_init(const struct sbx_mech_host *host, struct sbx_err *err)
{
	char path[4352];
	int fd;

	snprintf(path, sizeof(path), "%s/sbx-init", host->libexec);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "open the helper %s", path);
	return fd;
}

/*
 * The workspace belongs to the environment's uid. Root cuts the trees below the private state
 * directory out itself, since that uid cannot walk there; a plain user's child can.
 */
static int
prepare_trees(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record, struct parts *parts, struct sbx_err *err)
{
	struct sbx_native_plan *plan = &parts->plan;
	const char *hex = strchr(record->image, ':');
	int cut = geteuid() == 0;

	snprintf(plan->workspace_path, sizeof(plan->workspace_path), "%s/env/%s/workspace",
		host->state->path, record->id);
	if (cut && (fchownat(env->dir_fd, "workspace", (uid_t)record->uid, (gid_t)record->gid,
			    AT_SYMLINK_NOFOLLOW) != 0 ||
			   (fchownat(env->dir_fd, "workspace/.agent-initialized", (uid_t)record->uid,
				    (gid_t)record->gid, AT_SYMLINK_NOFOLLOW) != 0 &&
				   errno != ENOENT)))
		return sbx_fail_sys(err, SBX_E_IO, "give the workspace to uid %lld",
			(long long)record->uid);
	if (cut) {
		parts->workspace_fd = sbx_mount_cut(env->dir_fd, "workspace", SBX_MOUNT_NODEV, err);
		if (parts->workspace_fd < 0)
			return -1;
	}
	plan->workspace_fd = parts->workspace_fd;
	if (hex == NULL)
		return 0;
	snprintf(plan->image_path, sizeof(plan->image_path), "%s/image/%s/rootfs",
		host->state->path, hex + 1);
	if (access(plan->image_path, F_OK) != 0)
		return sbx_fail(err, SBX_E_NOT_FOUND, "the image %s is not in the state directory",
			record->image);
	if (cut) {
		parts->image_fd = sbx_mount_cut(AT_FDCWD, plan->image_path,
			SBX_MOUNT_RDONLY | SBX_MOUNT_NODEV, err);
		if (parts->image_fd < 0)
			return -1;
	}
	plan->image_fd = parts->image_fd;
	return 0;
}

static int
choose_landlock(const struct sbx_mech_host *host, struct parts *parts, struct sbx_err *err)
{
	if (sbx_landlock_abi() >= 2) {
		parts->plan.landlock = 1;
		return 0;
	}
	if (host->config->landlock == SBX_BEST_EFFORT)
		return 0;
	sbx_fail(err, SBX_E_UNAVAILABLE, "Landlock is missing or older than ABI 2 (Linux 5.19)");
	return sbx_fail_hint(err, "boot with lsm=landlock,... or configure `landlock: best-effort`");
}

static void
note_layers(struct sbx_env_record *record, const struct parts *parts)
{
	static const char *const always[] = { "userns", "mountns", "pidns", "ipcns", "utsns",
		"netns:loopback", "no_new_privs", "no_capabilities", "rlimits" };

	record->enforced_count = 0;
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		sbx_mech_enforced(record, always[i]);
	sbx_mech_enforced(record, parts->plan.seccomp == SBX_SECCOMP_DEBUG ? "seccomp:debug" :
									     "seccomp:strict");
	if (parts->plan.landlock)
		sbx_mech_enforced(record, sbx_landlock_name());
	if (record->slot >= 0)
		sbx_mech_enforced(record, "own_uid");
	if (!parts->has_groups) {
		sbx_mech_enforced(record, "memory:monitor");
		sbx_mech_enforced(record, "pids:rlimit");
		return;
	}
	sbx_mech_enforced(record, parts->host.layout == SBX_CGROUP_V2 ? "cgroup:v2" :
			parts->host.layout == SBX_CGROUP_HYBRID ? "cgroup:hybrid" : "cgroup:v1");
	sbx_mech_enforced(record, "memory:cgroup");
	sbx_mech_enforced(record, "pids:cgroup");
	sbx_mech_enforced(record, "cpu:cgroup");
}

static void
fill_plan(const struct sbx_spec *spec, const struct sbx_env_record *record, struct parts *parts)
{
	struct sbx_native_plan *plan = &parts->plan;

	plan->limits = &record->limits;
	plan->tmp_bytes = record->tmp_bytes;
	plan->proc_view = spec->proc_view;
	plan->seccomp = spec->debug ? SBX_SECCOMP_DEBUG : SBX_SECCOMP_STRICT;
	plan->map = (struct sbx_ns_map){ SBX_NATIVE_UID, (uid_t)record->uid, SBX_NATIVE_UID,
		(gid_t)record->gid };
	plan->maps_itself = geteuid() != 0;
	plan->init_fd = parts->init_fd;
	plan->listen_fd = parts->listen_fd;
	plan->hold_fd = -1;
}

/* Recorded before it may outlive its maker. */
static int
launch(const struct sbx_env *env, struct sbx_env_record *record, struct parts *parts,
	struct sbx_err *err)
{
	struct sbx_native_birth birth;

	if (sbx_native_launch(&parts->plan, parts->group_fd, &birth, err) != 0)
		return -1;
	record->init_pid = birth.pid;
	record->init_start = sbx_env_start_time(birth.pid);
	if (sbx_env_write(env, record, err) != 0) {
		sbx_native_drop(&birth);
		return -1;
	}
	return sbx_native_keep(&birth, err);
}

static int
build(const struct sbx_mech_host *host, const struct sbx_env *env, const struct sbx_spec *spec,
	struct sbx_env_record *record, struct parts *parts, struct sbx_err *err)
{
	if (choose_landlock(host, parts, err) != 0 || choose_ids(host, record, err) != 0 ||
		make_groups(host, record, parts, err) != 0 ||
		prepare_trees(host, env, record, parts, err) != 0)
		return -1;
	parts->init_fd = open_init(host, err);
	parts->listen_fd = parts->init_fd < 0 ? -1 : listen_at(env->dir_fd, err);
	if (parts->listen_fd < 0)
		return -1;
	fill_plan(spec, record, parts);
	note_layers(record, parts);
	return launch(env, record, parts, err);
}

static int native_destroy(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record, struct sbx_err *err);

static int
native_provision(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_spec *spec, struct sbx_env_record *record, struct sbx_err *err)
{
	struct parts parts = { .group_fd = -1, .listen_fd = -1, .init_fd = -1, .workspace_fd = -1,
		.image_fd = -1, .plan = { .workspace_fd = -1, .image_fd = -1 } };
	int rc = build(host, env, spec, record, &parts, err);
	struct sbx_err ignored = { 0 };

	parts_done(&parts);
	if (rc != 0 && native_destroy(host, env, record, &ignored) != 0)
		sbx_fail_hint(err, "and not all of it could be removed: %s", ignored.msg);
	return rc;
}

/* By pid, checked against the recorded start time; waits until the kernel has taken it down. */
static int
end_init(const struct sbx_env_record *record, struct sbx_err *err)
{
	SBX_AUTO_FD pidfd = -1;
	struct pollfd wait;

	if (!sbx_env_init_alive(record))
		return 0;
	pidfd = (int)syscall(SYS_pidfd_open, (pid_t)record->init_pid, 0);
	if (pidfd < 0)
		return errno == ESRCH ? 0 : sbx_fail_sys(err, SBX_E_INTERNAL, "open pid 1");
	if (!sbx_env_init_alive(record))
		return 0;
	if (syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) != 0 && errno != ESRCH)
		return sbx_fail_sys(err, SBX_E_INTERNAL, "kill pid 1");
	wait = (struct pollfd){ .fd = pidfd, .events = POLLIN };
	if (poll(&wait, 1, 2000) == 0)
		return sbx_fail(err, SBX_E_BUSY, "pid 1 (%lld) does not die",
			(long long)record->init_pid);
	return 0;
}

static int
native_destroy(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record, struct sbx_err *err)
{
	struct sbx_cgroup_host groups;
	struct sbx_err later = { 0 };
	int rc = end_init(record, err);

	(void)env;
	if (geteuid() != 0 && record->cgroup_layout == SBX_CGROUP_NONE)
		return rc;
	if (sbx_cgroup_host_open(record->cgroup_parent[0] != '\0' ? record->cgroup_parent :
								   host->config->cgroup_parent,
		    &groups, rc == 0 ? err : &later) != 0)
		return -1;
	if (sbx_cgroup_remove(&groups, record->id, rc == 0 ? err : &later) != 0)
		rc = -1;
	sbx_cgroup_host_close(&groups);
	return rc;
}

static int
native_totals(const struct sbx_mech_host *host, const struct sbx_env_record *record,
	uint64_t *memory_bytes, uint64_t *pids)
{
	struct sbx_cgroup_host groups;
	struct sbx_cgroup cg;
	struct sbx_cgroup_totals totals = { 0 };
	int rc = -1;

	(void)host;
	*memory_bytes = *pids = 0;
	if (record->cgroup_layout == SBX_CGROUP_NONE ||
		sbx_cgroup_host_open(record->cgroup_parent, &groups, NULL) != 0)
		return -1;
	if (sbx_cgroup_open(&groups, record->id, &cg, NULL) == 0) {
		rc = sbx_cgroup_totals(&cg, &totals);
		sbx_cgroup_close(&cg);
	}
	sbx_cgroup_host_close(&groups);
	*memory_bytes = totals.memory_bytes;
	*pids = totals.pids;
	return rc;
}

const struct sbx_mech sbx_mech_native = {
	.name = "native",
	.shares_kernel = 1,
	.probe = sbx_native_probe,
	.provision = native_provision,
	.destroy = native_destroy,
	.alive = sbx_env_init_alive,
	.totals = native_totals,
	.open = sbx_native_open,
	.close = sbx_native_close,
	.fd = sbx_native_fd,
	.start = sbx_native_start,
	.next = sbx_native_next,
	.kill = sbx_native_kill,
	.finish = sbx_native_finish,
};
