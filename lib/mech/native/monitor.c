/*
 * Memory watched from outside: without control groups added up from /proc of the host (shared pages
 * count once for each process, so it errs on the strict side), with v1 groups from the two counters
 * of the group. Never touches a process.
 */
#include "mech/native/monitor.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/scoped.h"
#include "mech/native/processes.h"

#define PERIOD_NS (100 * 1000 * 1000)
#define PROCESSES_MAX 8192

struct sbx_native_monitor {
	int timer_fd;
	int usage_fd, tcp_fd; /* of a v1 group; -1 */
	int64_t init_pid;
	uint64_t limit, peak;
	int pids[PROCESSES_MAX]; /* of the walk under way */
};

static struct sbx_native_monitor *
make(uint64_t limit_bytes, struct sbx_err *err)
{
	static const struct itimerspec period = { .it_interval.tv_nsec = PERIOD_NS,
		.it_value.tv_nsec = PERIOD_NS };
	struct sbx_native_monitor *monitor = sbx_mem_alloc(1, sizeof(*monitor));

	monitor->limit = limit_bytes;
	monitor->usage_fd = monitor->tcp_fd = -1;
	monitor->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (monitor->timer_fd < 0 || timerfd_settime(monitor->timer_fd, 0, &period, NULL) != 0) {
		sbx_fail_sys(err, SBX_E_INTERNAL, "make a timer");
		sbx_native_monitor_free(monitor);
		return NULL;
	}
	return monitor;
}

struct sbx_native_monitor *
sbx_native_monitor_make(int64_t init_pid, uint64_t limit_bytes, struct sbx_err *err)
{
	struct sbx_native_monitor *monitor = make(limit_bytes, err);

	if (monitor != NULL)
		monitor->init_pid = init_pid;
	return monitor;
}

struct sbx_native_monitor *
sbx_native_monitor_make_v1(int group_fd, uint64_t limit_bytes, struct sbx_err *err)
{
	SBX_AUTO_FD tcp = openat(group_fd, "memory.kmem.tcp.usage_in_bytes", O_RDONLY | O_CLOEXEC);
	struct sbx_native_monitor *monitor;

	if (tcp < 0)
		return NULL;
	monitor = make(limit_bytes, err);
	if (monitor == NULL)
		return NULL;
	monitor->tcp_fd = sbx_take_fd(&tcp);
	monitor->usage_fd = openat(group_fd, "memory.usage_in_bytes", O_RDONLY | O_CLOEXEC);
	if (monitor->usage_fd < 0) {
		sbx_fail_sys(err, SBX_E_IO, "open memory.usage_in_bytes");
		sbx_native_monitor_free(monitor);
		return NULL;
	}
	return monitor;
}

void
sbx_native_monitor_free(struct sbx_native_monitor *monitor)
{
	if (monitor == NULL)
		return;
	sbx_scoped_close(&monitor->timer_fd);
	sbx_scoped_close(&monitor->usage_fd);
	sbx_scoped_close(&monitor->tcp_fd);
	free(monitor);
}

int
sbx_native_monitor_fd(const struct sbx_native_monitor *monitor)
{
	return monitor->timer_fd;
}

static uint64_t
resident_bytes(int pid)
{
	char path[48], text[128];
	unsigned long long size, resident;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	if (sbx_io_read_attr(AT_FDCWD, path, text, sizeof(text)) <= 0 ||
		sscanf(text, "%llu %llu", &size, &resident) != 2)
		return 0;
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t
counter(int fd)
{
	char text[32];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	return strtoull(text, NULL, 10);
}

int
sbx_native_monitor_check(struct sbx_native_monitor *monitor)
{
	uint64_t ticks, sum = 0;
	int count;

	if (read(monitor->timer_fd, &ticks, sizeof(ticks)) < 0)
		return 0;
	if (monitor->tcp_fd >= 0)
		return counter(monitor->tcp_fd) + counter(monitor->usage_fd) > monitor->limit;
	count = sbx_native_processes(monitor->init_pid, monitor->pids, PROCESSES_MAX);
	for (int i = 0; i < count; i++)
		sum += resident_bytes(monitor->pids[i]);
	if (sum > monitor->peak)
		monitor->peak = sum;
	return sum > monitor->limit;
}

uint64_t
sbx_native_monitor_peak(const struct sbx_native_monitor *monitor)
{
	return monitor->peak;
}
