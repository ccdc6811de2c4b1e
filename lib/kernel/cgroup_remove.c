/*
 * The end of an environment's groups: everything in them killed, then the directories removed, in
 * bounded retries. Needs neither records nor open groups, only the base and the name.
 */
#include <dirent.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "kernel/cgroup_impl.h"

#define RETRY_MS 10 /* between tries of rmdir while zombies are reaped */

static void
remove_children(int dir_fd)
{
	int list_fd = openat(dir_fd, ".", SBX_CGROUP_DIR);
	DIR *list = list_fd < 0 ? NULL : fdopendir(list_fd);
	const struct dirent *entry;

	if (list == NULL) {
		sbx_scoped_close(&list_fd);
		return;
	}
	while ((entry = readdir(list)) != NULL)
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			(void)unlinkat(dir_fd, entry->d_name, AT_REMOVEDIR);
	closedir(list);
}

/* Whatever fails here shows in rmdir's EBUSY; without cgroup.kill (before 5.14) v1 does it. */
static void
kill_unified(int dir_fd, int64_t deadline_us)
{
	int killed = sbx_io_write_attr(dir_fd, "cgroup.kill", "1");

	if (killed == 0 && sbx_cgroup_v2_wait_empty(dir_fd, deadline_us) < 0)
		(void)poll(NULL, 0, RETRY_MS);
}

static int
remove_dir(int base_fd, const char *id, int unified, int64_t deadline_us, struct sbx_err *err)
{
	SBX_AUTO_FD dir = openat(base_fd, id, SBX_CGROUP_DIR);

	if (dir < 0)
		return errno == ENOENT ? 0 : sbx_fail_sys(err, SBX_E_IO, "open cgroup %s", id);
	for (;;) {
		if (unified) {
			kill_unified(dir, deadline_us);
			remove_children(dir);
		} else {
			(void)sbx_cgroup_v1_kill(dir);
		}
		if (unlinkat(base_fd, id, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return 0;
		if (errno != EBUSY)
			return sbx_fail_sys(err, SBX_E_IO, "remove cgroup %s", id);
		if (sbx_clock_mono_us() >= deadline_us)
			return sbx_fail(err, SBX_E_BUSY,
				"cgroup %s still has processes, killed %d s ago", id,
				SBX_CGROUP_WAIT_US / 1000000);
		(void)poll(NULL, 0, RETRY_MS);
	}
}

int
sbx_cgroup_remove(const struct sbx_cgroup_host *host, const char *id, struct sbx_err *err)
{
	const int bases[4] = { host->unified_fd, host->memory_fd, host->pids_fd, host->cpu_fd };
	int64_t deadline_us = sbx_clock_mono_us() + SBX_CGROUP_WAIT_US;
	int result = 0;

	if (sbx_cgroup_check_id(id, err) != 0)
		return -1;
	/* v2 first: what is killed there is gone from the v1 groups too. */
	for (int i = 0; i < 4; i++)
		if (bases[i] >= 0 &&
			remove_dir(bases[i], id, i == 0, deadline_us, result == 0 ? err : NULL) !=
				0)
			result = -1;
	return result;
}

void
sbx_cgroup_host_tidy(const struct sbx_cgroup_host *host)
{
	const int bases[4] = { host->unified_fd, host->memory_fd, host->pids_fd, host->cpu_fd };
	const char *name = strrchr(host->parent, '/');

	if (geteuid() != 0 || name == NULL)
		return;
	for (int i = 0; i < 4; i++) {
		SBX_AUTO_FD up = bases[i] < 0 ? -1 : openat(bases[i], "..", SBX_CGROUP_DIR);

		if (up >= 0)
			(void)unlinkat(up, name + 1, AT_REMOVEDIR);
	}
}
