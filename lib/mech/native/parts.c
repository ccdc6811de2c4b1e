/*
 * The parts of a native environment on the host's side, before its first process: groups, socket,
 * trees, layers; its ids are ids.c's. What is made here carries the environment's id or goes with
 * its last descriptor; nothing here starts a process.
 */
#include "mech/native/parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/scoped.h"
#include "kernel/landlock.h"
#include "kernel/mount.h"
#include "kernel/seccomp.h"

void
sbx_native_parts_done(struct sbx_native_parts *parts)
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

int
sbx_native_cgroup_parent(const struct sbx_mech_host *host, char out[SBX_CGROUP_PARENT_SIZE],
	struct sbx_err *err)
{
	if (snprintf(out, SBX_CGROUP_PARENT_SIZE, "%s/%s", host->config->cgroup_parent,
		    host->state->tag) >= SBX_CGROUP_PARENT_SIZE)
		return sbx_fail(err, SBX_E_CONFIG, "cgroup_parent is too long");
	return 0;
}

/*
 * The bases of a plain user are where its maker happens to be, so they are recorded before anything
 * is made there; root's can be found without a record.
 */
static int
open_host(const struct sbx_mech_host *host, const struct sbx_env *env,
	struct sbx_env_record *record, struct sbx_native_parts *parts, struct sbx_err *err)
{
	char parent[sizeof(record->cgroup_parent)];

	_Static_assert(sizeof(record->cgroup_parent) == sizeof(parts->host.parent), "fits");
	if (sbx_native_cgroup_parent(host, parent, err) != 0 ||
		sbx_cgroup_host_open(parent, &parts->host, err) != 0)
		return -1;
	parts->has_host = 1;
	if (parts->host.unified_fd < 0) {
		sbx_fail(err, SBX_E_UNAVAILABLE,
			"no cgroup2 is mounted here for groups of commands");
		return sbx_fail_hint(err,
			"mount it, e.g. on /sys/fs/cgroup/unified, or configure "
			"`cgroup: best-effort`");
	}
	record->cgroup_layout = (int)parts->host.layout;
	memcpy(record->cgroup_parent, parts->host.parent, sizeof(record->cgroup_parent));
	return geteuid() == 0 ? 0 : sbx_env_write(env, record, err);
}

static int
make_groups(const struct sbx_mech_host *host, const struct sbx_env *env,
	struct sbx_env_record *record, struct sbx_native_parts *parts, struct sbx_err *err)
{
	struct sbx_cgroup_limits limits = {
		.cpu_milli = record->limits.cpu_milli,
		.memory_bytes = record->limits.memory_bytes,
		.pids = record->limits.pids + 1,
	};
	int best_effort = host->config->cgroup == SBX_BEST_EFFORT;

	record->cgroup_layout = SBX_CGROUP_NONE;
	/* A plain user chose to do without; root's are left out where the host has none. */
	if (best_effort && geteuid() != 0)
		return 0;
	for (int tries = 0; !parts->has_groups; tries++) {
		if (open_host(host, env, record, parts, err) != 0) {
			if (!best_effort || err->code != SBX_E_UNAVAILABLE)
				return -1;
			record->cgroup_layout = SBX_CGROUP_NONE;
			memset(err, 0, sizeof(*err));
			return 0;
		}
		if (sbx_cgroup_make(&parts->host, record->id, &limits, (uid_t)record->uid,
			    &parts->groups, err) == 0)
			break;
		/* The last release of others may have taken the base away just now. */
		if (err->sys != ENOENT || tries == 3)
			return -1;
		sbx_cgroup_host_close(&parts->host);
		parts->has_host = 0;
		memset(err, 0, sizeof(*err));
	}
	parts->has_groups = 1;
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
 * directory out itself, since that uid cannot walk there; a plain user's child does.
 */
static int
prepare_trees(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record, struct sbx_native_parts *parts, struct sbx_err *err)
{
	struct sbx_native_plan *plan = &parts->plan;
	const char *hex = strchr(record->image, ':');
	int cut = geteuid() == 0;

	snprintf(plan->workspace_path, sizeof(plan->workspace_path), "%s/env/%s/workspace",
		host->state->path, record->id);
	if (sbx_native_give_workspace(env, record, err) != 0)
		return -1;
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
choose_landlock(const struct sbx_mech_host *host, struct sbx_native_parts *parts,
	struct sbx_err *err)
{
	struct sbx_err why = { 0 };

	parts->plan.landlock = sbx_native_check_landlock(&why) == 0;
	if (parts->plan.landlock || host->config->landlock == SBX_BEST_EFFORT)
		return 0;
	*err = why;
	return -1;
}

static void
note_layers(struct sbx_env_record *record, const struct sbx_native_parts *parts)
{
	static const char *const always[] = { "userns", "mountns", "pidns", "ipcns", "utsns",
		"netns:loopback", "no_new_privs", "no_capabilities", "rlimits" };
	char workspace[32];

	record->enforced_count = 0;
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		sbx_mech_enforced(record, always[i]);
	sbx_mech_enforced(record,
		parts->plan.seccomp == SBX_SECCOMP_DEBUG ? "seccomp:debug" : "seccomp:strict");
	if (parts->plan.landlock)
		sbx_mech_enforced(record, sbx_landlock_name());
	if (record->slot >= 0)
		sbx_mech_enforced(record, "own_uid");
	snprintf(workspace, sizeof(workspace), "workspace:%s", record->quota);
	sbx_mech_enforced(record, workspace);
	if (!parts->has_groups) {
		sbx_mech_enforced(record, "memory:monitor");
		sbx_mech_enforced(record, "pids:rlimit");
		return;
	}
	sbx_mech_enforced(record,
		parts->host.layout == SBX_CGROUP_V2		? "cgroup:v2" :
			parts->host.layout == SBX_CGROUP_HYBRID ? "cgroup:hybrid" :
								  "cgroup:v1");
	sbx_mech_enforced(record, "memory:cgroup");
	sbx_mech_enforced(record, "pids:cgroup");
	sbx_mech_enforced(record, "cpu:cgroup");
}

static int
is_bounded(const struct sbx_env_record *record)
{
	return strcmp(record->quota, sbx_quota_names[SBX_QUOTA_MONITOR]) != 0;
}

static void
fill_plan(const struct sbx_spec *spec, const struct sbx_env_record *record,
	struct sbx_native_parts *parts)
{
	struct sbx_native_plan *plan = &parts->plan;

	plan->limits = &record->limits;
	/* Full, /tmp and /dev/shm leave half of the memory to programs. */
	plan->tmp_bytes = record->limits.memory_bytes / 4;
	if (plan->tmp_bytes > record->tmp_bytes)
		plan->tmp_bytes = record->tmp_bytes;
	/* Where the kernel bounds the sum, one file needs no bound: its writer gets ENOSPC and goes on. */
	plan->counted = !is_bounded(record);
	plan->file_bytes = is_bounded(record) ? RLIM_INFINITY : record->limits.workspace_bytes;
	plan->proc_view = spec->proc_view;
	plan->seccomp = spec->debug ? SBX_SECCOMP_DEBUG : SBX_SECCOMP_STRICT;
	plan->subordinate = sbx_native_is_subordinate(record);
	plan->map = (struct sbx_ns_map){ .inside_uid = SBX_NATIVE_UID,
		.outside_uid = (uid_t)record->uid,
		.inside_gid = SBX_NATIVE_UID,
		.outside_gid = (gid_t)record->gid,
		.by_helper = plan->subordinate };
	plan->maps_itself = geteuid() != 0 && !plan->subordinate;
	plan->init_fd = parts->init_fd;
	plan->listen_fd = parts->listen_fd;
	plan->hold_fd = -1;
}

int
sbx_native_parts_make(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_spec *spec, struct sbx_env_record *record, struct sbx_native_parts *parts,
	struct sbx_err *err)
{
	*parts = (struct sbx_native_parts){ .group_fd = -1,
		.listen_fd = -1,
		.init_fd = -1,
		.workspace_fd = -1,
		.image_fd = -1,
		.plan = { .workspace_fd = -1, .image_fd = -1 } };
	if (spec->limits.egress != SBX_EGRESS_NONE)
		return sbx_fail(err, SBX_E_UNAVAILABLE,
			"egress %s is not part of this version: only none is",
			sbx_egress_names[spec->limits.egress]);
	if (choose_landlock(host, parts, err) != 0 ||
		sbx_native_choose_ids(host, env, record, err) != 0 ||
		make_groups(host, env, record, parts, err) != 0)
		return -1;
	if (prepare_trees(host, env, record, parts, err) != 0) {
		sbx_native_advise(err);
		return -1;
	}
	parts->init_fd = open_init(host, err);
	parts->listen_fd = parts->init_fd < 0 ? -1 : listen_at(env->dir_fd, err);
	if (parts->listen_fd < 0)
		return -1;
	fill_plan(spec, record, parts);
	note_layers(record, parts);
	return 0;
}
