/*
 * The memory of an environment without control groups, added up from /proc of the host. Shared pages
 * count once for each process, so it errs on the strict side. Never touches a process.
 */
#include "mech/native_monitor.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/scoped.h"

#define PERIOD_NS (100 * 1000 * 1000)
#define PROCESSES_MAX 8192

struct sbx_native_monitor {
	int timer_fd;
	int64_t init_pid;
	uint64_t limit, peak;
	int pids[PROCESSES_MAX]; /* of the walk under way */
};

struct sbx_native_monitor *
sbx_native_monitor_make(int64_t init_pid, uint64_t limit_bytes, struct sbx_err *err)
{
	static const struct itimerspec period = { .it_interval.tv_nsec = PERIOD_NS,
		.it_value.tv_nsec = PERIOD_NS };
	struct sbx_native_monitor *monitor = sbx_mem_alloc(1, sizeof(*monitor));

	monitor->init_pid = init_pid;
	monitor->limit = limit_bytes;
	monitor->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (monitor->timer_fd < 0 || timerfd_settime(monitor->timer_fd, 0, &period, NULL) != 0) {
		sbx_fail_sys(err, SBX_E_INTERNAL, "make a timer");
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

/* What one thread forked. */
static int
add_of_thread(struct sbx_native_monitor *monitor, const char *path, int count)
{
	char text[65536];
	char *at = text;

	if (sbx_io_read_attr(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return count;
	while (count < PROCESSES_MAX) {
		char *end;
		long child = strtol(at, &end, 10);

		if (end == at || child <= 0)
			break;
		monitor->pids[count++] = (int)child;
		at = end;
	}
	return count;
}

/* Every thread's, since a child is listed only under the thread that forked it. */
static int
add_children(struct sbx_native_monitor *monitor, int pid, int count)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/children", pid, entry->d_name);
		count = add_of_thread(monitor, path, count);
	}
	if (dir != NULL)
		closedir(dir);
	return count;
}

int
sbx_native_monitor_check(struct sbx_native_monitor *monitor)
{
	uint64_t ticks, sum = 0;
	int count = 1;

	if (read(monitor->timer_fd, &ticks, sizeof(ticks)) < 0)
		return 0;
	monitor->pids[0] = (int)monitor->init_pid;
	for (int i = 0; i < count; i++) {
		sum += resident_bytes(monitor->pids[i]);
		count = add_children(monitor, monitor->pids[i], count);
	}
	if (sum > monitor->peak)
		monitor->peak = sum;
	return sum > monitor->limit;
}

uint64_t
sbx_native_monitor_peak(const struct sbx_native_monitor *monitor)
{
	return monitor->peak;
}
