/*
 * The /proc of an environment: its own processes, what tells of the host masked, and small files of
 * ours that show the environment's limits instead of the machine's. They show the limit, not the
 * use: they are written once.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/scoped.h"
#include "kernel/mount.h"
#include "mech/native/native.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define EMPTY_FILE SBX_NATIVE_PLACE "/empty"
#define EMPTY_DIR SBX_NATIVE_PLACE "/none"

/*
 * Of a procfs with everything in it: what tells about the host or reaches the kernel, as far as the
 * file's mode lets "others" at it. What only root may open (kcore, kmsg, sysrq-trigger) is out of
 * reach by itself: its owner does not exist inside, so no capability could help.
 */
static const char *const proc_masked[] = { "acpi", "asound", "bus", "cmdline", "config.gz",
	"diskstats", "driver", "fs", "interrupts", "iomem", "ioports", "irq", "kallsyms", "kcore",
	"key-users", "keys", "kmsg", "kpagecgroup", "kpagecount", "kpageflags", "latency_stats",
	"modules", "partitions", "pressure", "sched_debug", "schedstat", "scsi", "slabinfo",
	"softirqs", "sysrq-trigger", "timer_list", "vmallocinfo", "zoneinfo" };

static int
mask(int root_fd, const char *name, struct sbx_err *err)
{
	char path[64];
	struct stat st;
	SBX_AUTO_FD cover = -1;

	snprintf(path, sizeof(path), "proc/%s", name);
	if (fstatat(root_fd, path, &st, AT_SYMLINK_NOFOLLOW) != 0 || (st.st_mode & S_IRWXO) == 0)
		return 0;
	cover = sbx_mount_cut(root_fd, S_ISDIR(st.st_mode) ? EMPTY_DIR : EMPTY_FILE,
		SBX_MOUNT_RDONLY | SBX_MOUNT_NODEV | SBX_MOUNT_NOEXEC, err);
	return cover < 0 ? -1 : sbx_mount_hang(cover, root_fd, path, err);
}

/* The sources live on as mounts. */
static int
mask_all(int root_fd, struct sbx_err *err)
{
	if (sbx_native_file(root_fd, EMPTY_FILE, "", 0, err) != 0 ||
		sbx_native_dir(root_fd, EMPTY_DIR, 0555, err) != 0)
		return -1;
	for (size_t i = 0; i < COUNT(proc_masked); i++) {
		if (mask(root_fd, proc_masked[i], err) != 0)
			return -1;
	}
	if (unlinkat(root_fd, EMPTY_FILE, 0) != 0 ||
		unlinkat(root_fd, EMPTY_DIR, AT_REMOVEDIR) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "take the masks' sources away");
	return 0;
}

/* The first `count` processors of the host's list. */
static int
show_cpuinfo(uint64_t count, struct sbx_buf *out, struct sbx_err *err)
{
	SBX_AUTO_BUF host = SBX_BUF_INIT(1024 * 1024);
	SBX_AUTO_FD fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	const char *end;

	if (fd < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "open /proc/cpuinfo");
	if (sbx_io_read_all(fd, &host, "/proc/cpuinfo", err) != 0)
		return -1;
	end = sbx_buf_str(&host);
	for (uint64_t i = 0; i < count; i++) {
		const char *next = strstr(end, "\n\n");

		if (next == NULL) {
			end += strlen(end);
			break;
		}
		end = next + 2;
	}
	return sbx_buf_add(out, sbx_buf_str(&host), (size_t)(end - sbx_buf_str(&host)));
}

static int
show_meminfo(uint64_t bytes, struct sbx_buf *out)
{
	unsigned long long kib = bytes / 1024;

	return sbx_buf_printf(out,
		"MemTotal:       %8llu kB\nMemFree:        %8llu kB\nMemAvailable:   %8llu kB\n"
		"Buffers:               0 kB\nCached:                0 kB\nSwapCached:            0 kB\n"
		"Active:                0 kB\nInactive:              0 kB\nSwapTotal:             0 kB\n"
		"SwapFree:              0 kB\nShmem:                 0 kB\nSReclaimable:          0 kB\n"
		"SUnreclaim:            0 kB\n",
		kib, kib, kib);
}

/* btime is true, so that start times of processes (ps) are. */
static int
show_stat(uint64_t count, struct sbx_buf *out)
{
	int rc = sbx_buf_add_str(out, "cpu  0 0 0 0 0 0 0 0 0 0\n");

	for (uint64_t i = 0; i < count; i++)
		rc |= sbx_buf_printf(out, "cpu%llu 0 0 0 0 0 0 0 0 0 0\n", (unsigned long long)i);
	return rc |
		sbx_buf_printf(out,
			"intr 0\nctxt 0\nbtime %lld\nprocesses 1\nprocs_running 1\n"
			"procs_blocked 0\n",
			(long long)((sbx_clock_wall_ms() - sbx_clock_boot_ms()) / 1000));
}

/* Written beside the view, hung over the kernel's file, and unlinked: the mount keeps it. */
static int
cover_proc(int root_fd, const char *name, const struct sbx_buf *text, struct sbx_err *err)
{
	char from[64], to[64];
	SBX_AUTO_FD tree = -1;

	snprintf(from, sizeof(from), SBX_NATIVE_PLACE "/%s", name);
	snprintf(to, sizeof(to), "proc/%s", name);
	if (sbx_native_file(root_fd, from, sbx_buf_str(text), text->length, err) != 0)
		return -1;
	tree = sbx_mount_cut(root_fd, from, SBX_MOUNT_RDONLY | SBX_MOUNT_NODEV | SBX_MOUNT_NOEXEC,
		err);
	if (tree < 0 || sbx_mount_hang(tree, root_fd, to, err) != 0)
		return -1;
	if (unlinkat(root_fd, from, 0) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "remove the source of /%s", to);
	return 0;
}

static int
show_limits(int root_fd, const struct sbx_limits *limits, struct sbx_err *err)
{
	uint64_t online = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t count = (limits->cpu_milli + 999) / 1000;
	SBX_AUTO_BUF text = SBX_BUF_INIT(1024 * 1024);

	if (count > online)
		count = online;
	if (show_cpuinfo(count, &text, err) != 0 || cover_proc(root_fd, "cpuinfo", &text, err) != 0)
		return -1;
	sbx_buf_clear(&text);
	if (show_meminfo(limits->memory_bytes, &text) != 0 ||
		cover_proc(root_fd, "meminfo", &text, err) != 0)
		return -1;
	sbx_buf_clear(&text);
	if (show_stat(count, &text) != 0 || cover_proc(root_fd, "stat", &text, err) != 0)
		return -1;
	sbx_buf_clear(&text);
	if (sbx_buf_add_str(&text, "0.00 0.00 0.00 1/1 1\n") != 0)
		return sbx_buf_check(&text, "loadavg", err);
	return cover_proc(root_fd, "loadavg", &text, err);
}

/* Before /proc/sys is closed; a view without it gets a procfs for this moment. */
static int
forbid_nested(int root_fd, const struct sbx_native_plan *plan, struct sbx_err *err)
{
	SBX_AUTO_FD proc = -1;

	if (plan->proc_view == SBX_PROC_PID) {
		proc = sbx_mount_new("proc", NULL, SBX_MOUNT_NODEV | SBX_MOUNT_NOEXEC, err);
		return proc < 0 ? -1 : sbx_ns_forbid_nested(proc, err);
	}
	proc = openat(root_fd, "proc", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (proc < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "open /proc of the view");
	return sbx_ns_forbid_nested(proc, err);
}

int
sbx_native_proc(int root_fd, const struct sbx_native_plan *plan, struct sbx_err *err)
{
	const char *const options[] = { "hidepid=invisible",
		plan->proc_view == SBX_PROC_PID ? "subset=pid" : NULL, NULL };
	SBX_AUTO_FD sys = -1;

	if (sbx_native_hang_new(root_fd, "proc", "proc", options,
		    SBX_MOUNT_NODEV | SBX_MOUNT_NOEXEC, err) != 0) {
		if (err->sys == EPERM)
			sbx_fail_hint(err,
				"parts of /proc are hidden here (a container?), so the "
				"kernel allows no fresh one: run where /proc is whole");
		return -1;
	}
	if (forbid_nested(root_fd, plan, err) != 0)
		return -1;
	if (plan->proc_view == SBX_PROC_PID)
		return 0;
	if (mask_all(root_fd, err) != 0)
		return -1;
	sys = sbx_mount_cut(root_fd, "proc/sys",
		SBX_MOUNT_RDONLY | SBX_MOUNT_NODEV | SBX_MOUNT_NOEXEC, err);
	if (sys < 0 || sbx_mount_hang(sys, root_fd, "proc/sys", err) != 0)
		return -1;
	return show_limits(root_fd, plan->limits, err);
}
