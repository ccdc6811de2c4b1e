/*
 * What is special to cgroup v2: controllers that parents turn on for their children, the rule that
 * such parents hold no processes, its limits, and a tree of our own where none is mounted.
 */
#include <inttypes.h>
#include <limits.h>
#include <linux/mount.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/scoped.h"
#include "kernel/cgroup_impl.h"

static const char *const controllers[] = { "memory", "pids", "cpu" };
#define CONTROLLERS_COUNT (sizeof(controllers) / sizeof(controllers[0]))
#define EVACUATE_ROUNDS 64

/* The mount ends with its descriptor; what was opened beneath goes on to work. Linux 5.2. */
int
sbx_cgroup_v2_mount(void)
{
	SBX_AUTO_FD fs = (int)syscall(SYS_fsopen, "cgroup2", FSOPEN_CLOEXEC);
	SBX_AUTO_FD mount = -1;

	if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0)
		return -1;
	mount = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC,
		MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	return mount < 0 ? -1 : openat(mount, ".", SBX_CGROUP_DIR);
}

/* The first controller that the list in `name` lacks; all of them if it cannot be read. */
static const char *
first_missing(int dir_fd, const char *name)
{
	char text[512];

	if (sbx_io_read_attr(dir_fd, name, text, sizeof(text)) < 0)
		return controllers[0];
	for (size_t i = 0; i < CONTROLLERS_COUNT; i++) {
		const char *at = text;
		size_t length = strlen(controllers[i]);

		while (strncmp(at, controllers[i], length) != 0 ||
			(at[length] != ' ' && at[length] != '\0')) {
			at = strchr(at, ' ');
			if (at == NULL)
				return controllers[i];
			at++;
		}
	}
	return NULL;
}

const char *
sbx_cgroup_v2_missing(int dir_fd)
{
	return first_missing(dir_fd, "cgroup.controllers");
}

int
sbx_cgroup_v2_enable(int dir_fd, const char *shown, struct sbx_err *err)
{
	const char *missing = sbx_cgroup_v2_missing(dir_fd);

	if (first_missing(dir_fd, "cgroup.subtree_control") == NULL)
		return 0;
	if (missing != NULL) {
		sbx_fail(err, SBX_E_UNAVAILABLE, "cgroup %s lacks the %s controller", shown,
			missing);
		return sbx_fail_hint(err,
			"turn it on in its parents (systemd: Delegate=cpu memory pids), or "
			"configure `cgroup: best-effort`");
	}
	if (sbx_io_write_attr(dir_fd, "cgroup.subtree_control", "+memory +pids +cpu") == 0)
		return 0;
	if (errno != EBUSY)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "cgroup %s: turn controllers on",
			shown);
	sbx_fail(err, SBX_E_UNAVAILABLE,
		"cgroup %s has processes of its own, so no controller can be turned on below it",
		shown);
	return sbx_fail_hint(err,
		"move them into a child group, or configure a parent group without "
		"processes, or `cgroup: best-effort`");
}

int
sbx_cgroup_v2_evacuate(int dir_fd, const char *shown, struct sbx_err *err)
{
	SBX_AUTO_FD leaf = -1;
	pid_t pids[64];
	char text[24];
	int count = 1;

	if (mkdirat(dir_fd, SBX_CGROUP_TOOLS, 0755) != 0 && errno != EEXIST)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "cgroup %s: make " SBX_CGROUP_TOOLS,
			shown);
	leaf = openat(dir_fd, SBX_CGROUP_TOOLS, SBX_CGROUP_DIR);
	if (leaf < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "cgroup %s: open " SBX_CGROUP_TOOLS,
			shown);
	/* They may fork meanwhile: again until none is listed. */
	for (int round = 0; round < EVACUATE_ROUNDS && count > 0; round++) {
		count = sbx_cgroup_pids(dir_fd, pids, 64);
		for (int i = 0; i < count; i++) {
			snprintf(text, sizeof(text), "%d", (int)pids[i]);
			if (sbx_io_write_attr(leaf, "cgroup.procs", text) != 0 && errno != ESRCH)
				return sbx_fail_sys(err, SBX_E_UNAVAILABLE,
					"cgroup %s: move process %s to " SBX_CGROUP_TOOLS, shown,
					text);
		}
	}
	return count < 0 ?
		sbx_fail_sys(err, SBX_E_UNAVAILABLE, "cgroup %s: list processes", shown) :
		0;
}

int
sbx_cgroup_v2_limit(int dir_fd, const struct sbx_cgroup_limits *limits, struct sbx_err *err)
{
	uint64_t period_us, quota_us;
	char text[48];

	if (limits->memory_bytes != 0) {
		if (sbx_cgroup_set_bytes(dir_fd, "memory.max", limits->memory_bytes, err) != 0)
			return -1;
		/* A kernel without swap has no such file. */
		if (sbx_cgroup_has(dir_fd, "memory.swap.max") &&
			sbx_cgroup_set(dir_fd, "memory.swap.max", "0", err) != 0)
			return -1;
	}
	if (limits->pids != 0) {
		snprintf(text, sizeof(text), "%" PRIu64, limits->pids);
		if (sbx_cgroup_set(dir_fd, "pids.max", text, err) != 0)
			return -1;
	}
	if (limits->cpu_milli == 0)
		return 0;
	sbx_cgroup_cpu_quota(limits->cpu_milli, &period_us, &quota_us);
	snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64, quota_us, period_us);
	return sbx_cgroup_set(dir_fd, "cpu.max", text, err);
}

int
sbx_cgroup_v2_wait_empty(int dir_fd, int64_t deadline_us)
{
	SBX_AUTO_FD fd = openat(dir_fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
	struct pollfd events = { .fd = fd, .events = POLLPRI };
	uint64_t populated;
	int64_t left_ms;

	for (;;) {
		/* The read also arms the event: what changes after it wakes the poll. */
		if (fd < 0 || sbx_cgroup_read_fd(fd, "populated", &populated) != 0)
			return errno == ENODEV || errno == ENOENT ? 1 : -1; /* removed meanwhile */
		if (populated == 0)
			return 1;
		left_ms = (deadline_us - sbx_clock_mono_us() + 999) / 1000;
		if (left_ms <= 0)
			return 0;
		if (poll(&events, 1, left_ms < INT_MAX ? (int)left_ms : INT_MAX) < 0 &&
			errno != EINTR)
			return -1;
	}
}
