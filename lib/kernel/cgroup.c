/*
 * The groups of one environment in every hierarchy: made with their limits, opened, entered by
 * pid 1, measured as a whole. What a version calls things stands in cgroup_v1.c and cgroup_v2.c;
 * the groups of commands are cgroup_command.c's.
 */
#include <ctype.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/cgroup_impl.h"

static const struct sbx_cgroup nowhere = { .memory_fd = -1,
	.pids_fd = -1,
	.cpu_fd = -1,
	.unified_fd = -1,
	.oom_fd = -1,
	.peak_fd = -1,
	.pids_events_fd = -1,
	.pids_peak_fd = -1 };

/* No '.', '/' and the like: the name can be neither an attribute file's nor a way out. */
int
sbx_cgroup_check_id(const char *id, struct sbx_err *err)
{
	size_t length = strlen(id);

	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)id[i]) && strchr("-_", id[i]) == NULL)
			length = 0;
	if (length == 0 || length > 64 || strcmp(id, SBX_CGROUP_TOOLS) == 0)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "cgroup: \"%.64s\" is no environment id",
			id);
	return 0;
}

static int
same_hierarchy(int a_fd, int b_fd)
{
	struct stat a, b;

	return a_fd >= 0 && b_fd >= 0 && fstat(a_fd, &a) == 0 && fstat(b_fd, &b) == 0 &&
		a.st_dev == b.st_dev;
}

/* `shared`: the base is in a hierarchy where we made the group already. */
static int
make_dir(int base_fd, const char *id, int shared, int *out, struct sbx_err *err)
{
	if (mkdirat(base_fd, id, 0755) != 0 && !(shared && errno == EEXIST)) {
		if (errno == EEXIST)
			return sbx_fail(err, SBX_E_CONFLICT, "cgroup %s exists already", id);
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "make cgroup %s", id);
	}
	*out = openat(base_fd, id, SBX_CGROUP_DIR);
	if (*out >= 0)
		return 0;
	(void)unlinkat(base_fd, id, AT_REMOVEDIR);
	return sbx_fail_sys(err, SBX_E_IO, "open cgroup %s", id);
}

static int
make_v1(const struct sbx_cgroup_host *host, const char *id, const struct sbx_cgroup_limits *limits,
	struct sbx_cgroup *cg, struct sbx_err *err)
{
	int with_pids = same_hierarchy(host->pids_fd, host->memory_fd);
	int with_cpu = same_hierarchy(host->cpu_fd, host->memory_fd) ||
		same_hierarchy(host->cpu_fd, host->pids_fd);

	if (make_dir(host->memory_fd, id, 0, &cg->memory_fd, err) != 0 ||
		make_dir(host->pids_fd, id, with_pids, &cg->pids_fd, err) != 0 ||
		make_dir(host->cpu_fd, id, with_cpu, &cg->cpu_fd, err) != 0)
		return -1;
	return sbx_cgroup_v1_limit(cg, limits, err);
}

int
sbx_cgroup_is_foreign(uid_t owner)
{
	return geteuid() != 0 && owner != geteuid();
}

/*
 * A plain user cannot give a file to a subordinate uid, so all may write it. That lets nobody in:
 * whoever moves a process needs the common ancestor of both groups as well, and that is <id> for pid
 * 1 alone, which sees no other.
 */
int
sbx_cgroup_give(int dir_fd, const char *procs, uid_t owner, mode_t mode)
{
	if (sbx_cgroup_is_foreign(owner))
		return fchmodat(dir_fd, procs, mode | SBX_CGROUP_FOREIGN, 0);
	return fchownat(dir_fd, procs, owner, (gid_t)-1, 0) == 0 ?
		fchmodat(dir_fd, procs, mode, 0) :
		-1;
}

/* Limits first: the group's own files are the parent's to write, and its children need them. */
static int
make_unified(const struct sbx_cgroup_host *host, const char *id,
	const struct sbx_cgroup_limits *limits, uid_t owner, struct sbx_cgroup *cg,
	struct sbx_err *err)
{
	if (make_dir(host->unified_fd, id, 0, &cg->unified_fd, err) != 0)
		return -1;
	if (host->layout == SBX_CGROUP_V2 &&
		(sbx_cgroup_v2_limit(cg->unified_fd, limits, err) != 0 ||
			sbx_cgroup_v2_enable(cg->unified_fd, id, err) != 0))
		return -1;
	if (mkdirat(cg->unified_fd, "init", 0755) != 0)
		return sbx_fail_sys(err, SBX_E_IO, "make cgroup %s/init", id);
	/* CLONE_INTO_CGROUP needs both: that of the target and that of the common ancestor. */
	if (sbx_cgroup_give(cg->unified_fd, "cgroup.procs", owner, 0644) != 0 ||
		sbx_cgroup_give(cg->unified_fd, "init/cgroup.procs", owner, 0644) != 0)
		return sbx_fail_sys(err, SBX_E_IO, "give cgroup %s to uid %u", id, (unsigned)owner);
	return 0;
}

static int
open_counters(struct sbx_cgroup *cg, struct sbx_err *err)
{
	int pids_fd = cg->layout == SBX_CGROUP_V2 ? cg->unified_fd : cg->pids_fd;

	cg->pids_events_fd = openat(pids_fd, "pids.events", O_RDONLY | O_CLOEXEC);
	if (cg->pids_events_fd < 0)
		return sbx_fail_sys(err, SBX_E_IO, "open pids.events");
	if (sbx_cgroup_read(pids_fd, "pids.max", NULL, &cg->pids_limit) != 0)
		return sbx_fail_sys(err, SBX_E_IO, "read pids.max");
	if (cg->layout == SBX_CGROUP_V2)
		return 0;
	cg->pids_peak_fd = openat(cg->pids_fd, "pids.peak", O_RDONLY | O_CLOEXEC);
	cg->oom_fd = openat(cg->memory_fd, "memory.oom_control", O_RDONLY | O_CLOEXEC);
	cg->peak_fd = openat(cg->memory_fd, "memory.max_usage_in_bytes", O_RDWR | O_CLOEXEC);
	if (cg->oom_fd < 0 || cg->peak_fd < 0)
		return sbx_fail_sys(err, SBX_E_IO, "open counters of the memory cgroup");
	return 0;
}

/* Take back what make had made when it failed: the groups that it opened. They are empty. */
static void
unmake(const struct sbx_cgroup_host *host, const char *id, const struct sbx_cgroup *cg)
{
	if (cg->unified_fd >= 0) {
		(void)unlinkat(cg->unified_fd, "init", AT_REMOVEDIR);
		(void)unlinkat(host->unified_fd, id, AT_REMOVEDIR);
	}
	if (cg->memory_fd >= 0)
		(void)unlinkat(host->memory_fd, id, AT_REMOVEDIR);
	if (cg->pids_fd >= 0)
		(void)unlinkat(host->pids_fd, id, AT_REMOVEDIR);
	if (cg->cpu_fd >= 0)
		(void)unlinkat(host->cpu_fd, id, AT_REMOVEDIR);
}

int
sbx_cgroup_make(const struct sbx_cgroup_host *host, const char *id,
	const struct sbx_cgroup_limits *limits, uid_t owner, struct sbx_cgroup *cg,
	struct sbx_err *err)
{
	*cg = nowhere;
	if (sbx_cgroup_check_id(id, err) != 0)
		return -1;
	cg->layout = host->layout;
	if ((host->layout == SBX_CGROUP_V2 || make_v1(host, id, limits, cg, err) == 0) &&
		(host->unified_fd < 0 || make_unified(host, id, limits, owner, cg, err) == 0) &&
		open_counters(cg, err) == 0)
		return 0;
	unmake(host, id, cg);
	sbx_cgroup_close(cg);
	return -1;
}

static int
open_dir(int base_fd, const char *id, int *out, struct sbx_err *err)
{
	if (base_fd < 0)
		return 0;
	*out = openat(base_fd, id, SBX_CGROUP_DIR);
	if (*out >= 0)
		return 0;
	if (errno == ENOENT)
		return sbx_fail(err, SBX_E_NOT_FOUND, "cgroup %s is gone", id);
	return sbx_fail_sys(err, SBX_E_IO, "open cgroup %s", id);
}

int
sbx_cgroup_open(const struct sbx_cgroup_host *host, const char *id, struct sbx_cgroup *cg,
	struct sbx_err *err)
{
	*cg = nowhere;
	if (sbx_cgroup_check_id(id, err) != 0)
		return -1;
	cg->layout = host->layout;
	if (open_dir(host->memory_fd, id, &cg->memory_fd, err) == 0 &&
		open_dir(host->pids_fd, id, &cg->pids_fd, err) == 0 &&
		open_dir(host->cpu_fd, id, &cg->cpu_fd, err) == 0 &&
		open_dir(host->unified_fd, id, &cg->unified_fd, err) == 0 &&
		open_counters(cg, err) == 0)
		return 0;
	sbx_cgroup_close(cg);
	return -1;
}

void
sbx_cgroup_close(struct sbx_cgroup *cg)
{
	if (cg == NULL)
		return;
	sbx_cgroup_close_fd(&cg->memory_fd);
	sbx_cgroup_close_fd(&cg->pids_fd);
	sbx_cgroup_close_fd(&cg->cpu_fd);
	sbx_cgroup_close_fd(&cg->unified_fd);
	sbx_cgroup_close_fd(&cg->oom_fd);
	sbx_cgroup_close_fd(&cg->peak_fd);
	sbx_cgroup_close_fd(&cg->pids_events_fd);
	sbx_cgroup_close_fd(&cg->pids_peak_fd);
}

int
sbx_cgroup_init_dir(const struct sbx_cgroup *cg)
{
	return openat(cg->unified_fd, "init", SBX_CGROUP_DIR);
}

int
sbx_cgroup_join_files(const struct sbx_cgroup *cg, int fds[3], struct sbx_err *err)
{
	const int dirs[3] = { cg->memory_fd, cg->pids_fd, cg->cpu_fd };

	fds[0] = fds[1] = fds[2] = -1;
	if (cg->layout == SBX_CGROUP_V2)
		return 0;
	for (int i = 0; i < 3; i++) {
		fds[i] = openat(dirs[i], "tasks", O_WRONLY | O_CLOEXEC);
		if (fds[i] < 0) {
			sbx_fail_sys(err, SBX_E_IO, "open tasks of the %s cgroup",
				sbx_cgroup_names[i]);
			while (i-- > 0)
				sbx_cgroup_close_fd(&fds[i]);
			return -1;
		}
	}
	return 3;
}

int
sbx_cgroup_join(const int *fds, int count)
{
	for (int i = 0; i < count; i++)
		if (write(fds[i], "0", 1) != 1)
			return -1;
	return 0;
}

int
sbx_cgroup_totals(const struct sbx_cgroup *cg, struct sbx_cgroup_totals *totals)
{
	int v2 = cg->layout == SBX_CGROUP_V2;

	*totals = (struct sbx_cgroup_totals){ 0 };
	if (sbx_cgroup_read(v2 ? cg->unified_fd : cg->memory_fd,
		    v2 ? "memory.current" : "memory.usage_in_bytes", NULL,
		    &totals->memory_bytes) != 0 ||
		sbx_cgroup_read(v2 ? cg->unified_fd : cg->pids_fd, "pids.current", NULL,
			&totals->pids) != 0)
		return -1;
	if (cg->unified_fd < 0)
		return 0;
	return sbx_cgroup_read(cg->unified_fd, "cpu.stat", "usage_usec", &totals->cpu_us);
}
