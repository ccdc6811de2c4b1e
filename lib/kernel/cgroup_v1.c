/*
 * What is special to cgroup v1: its names of the limits, its out-of-memory event, and killing by
 * pid where no v2 group holds the processes. Never walks or makes directories.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "base/scoped.h"
#include "kernel/cgroup_impl.h"

#define KILL_BATCH 64

static int
limit_memory(int dir_fd, uint64_t bytes, struct sbx_err *err)
{
	static const char both[] = "memory.memsw.limit_in_bytes"; /* memory and swap together */
	static const char tcp[] = "memory.kmem.tcp.limit_in_bytes";

	if (sbx_cgroup_set_bytes(dir_fd, "memory.limit_in_bytes", bytes, err) != 0)
		return -1;
	/* A kernel that does not account for swap has neither file. */
	if (sbx_cgroup_has(dir_fd, both) && sbx_cgroup_set_bytes(dir_fd, both, bytes, err) != 0)
		return -1;
	/*
	 * Socket buffers are a count of their own here, and only counted once it has a limit. UDP keeps
	 * to it; TCP may be forced over it, which v1 has no remedy for.
	 */
	if (sbx_cgroup_has(dir_fd, tcp) && sbx_cgroup_set_bytes(dir_fd, tcp, bytes, err) != 0)
		return -1;
	if (!sbx_cgroup_has(dir_fd, "memory.swappiness"))
		return 0;
	return sbx_cgroup_set(dir_fd, "memory.swappiness", "0", err);
}

static int
limit_cpu(int dir_fd, uint64_t cpu_milli, struct sbx_err *err)
{
	uint64_t period_us, quota_us, now_us = 0;
	char period[24], quota[24];

	sbx_cgroup_cpu_quota(cpu_milli, &period_us, &quota_us);
	snprintf(period, sizeof(period), "%" PRIu64, period_us);
	snprintf(quota, sizeof(quota), "%" PRIu64, quota_us);
	/* Each write walks every cpu group of the host: not for what is the default. */
	if (sbx_cgroup_read(dir_fd, "cpu.cfs_period_us", NULL, &now_us) != 0 ||
		now_us != period_us) {
		if (sbx_cgroup_set(dir_fd, "cpu.cfs_period_us", period, err) != 0)
			return -1;
	}
	return sbx_cgroup_set(dir_fd, "cpu.cfs_quota_us", quota, err);
}

int
sbx_cgroup_v1_limit(const struct sbx_cgroup *cg, const struct sbx_cgroup_limits *limits,
	struct sbx_err *err)
{
	char pids[24];

	if (limits->memory_bytes != 0 &&
		limit_memory(cg->memory_fd, limits->memory_bytes, err) != 0)
		return -1;
	if (limits->cpu_milli != 0 && limit_cpu(cg->cpu_fd, limits->cpu_milli, err) != 0)
		return -1;
	if (limits->pids == 0)
		return 0;
	snprintf(pids, sizeof(pids), "%" PRIu64, limits->pids);
	return sbx_cgroup_set(cg->pids_fd, "pids.max", pids, err);
}

static int
contains(const pid_t *pids, int count, pid_t pid)
{
	for (int i = 0; i < count; i++)
		if (pids[i] == pid)
			return 1;
	return 0;
}

/*
 * A pid may be reused between the list and the kill. So each is pinned by a pidfd first, and is hit
 * only if the group still lists it after that.
 */
int
sbx_cgroup_v1_kill(int dir_fd)
{
	pid_t pids[KILL_BATCH], again[KILL_BATCH];
	int pidfds[KILL_BATCH];
	int again_count;
	int count = sbx_cgroup_pids(dir_fd, pids, KILL_BATCH);

	if (count <= 0)
		return count;
	for (int i = 0; i < count; i++)
		pidfds[i] = (int)syscall(SYS_pidfd_open, pids[i], 0);
	again_count = sbx_cgroup_pids(dir_fd, again, KILL_BATCH);
	for (int i = 0; i < count; i++) {
		if (pidfds[i] >= 0 && contains(again, again_count, pids[i]))
			(void)syscall(SYS_pidfd_send_signal, pidfds[i], SIGKILL, NULL, 0);
		sbx_scoped_close(&pidfds[i]);
	}
	return count;
}

/* Kernel documentation, cgroup-v1/memory.rst, section 10: an eventfd, registered by its number. */
int
sbx_cgroup_v1_oom_event(int memory_fd, struct sbx_err *err)
{
	SBX_AUTO_FD event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	SBX_AUTO_FD control = openat(memory_fd, "memory.oom_control", O_RDONLY | O_CLOEXEC);
	char text[32];

	if (event < 0 || control < 0)
		return sbx_fail_sys(err, SBX_E_IO, "cgroup: open memory.oom_control");
	snprintf(text, sizeof(text), "%d %d", event, control);
	if (sbx_io_write_attr(memory_fd, "cgroup.event_control", text) != 0)
		return sbx_fail_sys(err, SBX_E_IO, "cgroup: watch memory.oom_control");
	return sbx_take_fd(&event);
}
