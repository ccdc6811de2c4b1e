/*
 * The files that we write ourselves: a synthetic /etc that keeps programs working and tells nothing
 * of the host, and small files over /proc that show the environment's limits instead of the
 * machine's. What they show is the limit, not the use: they are written once.
 */
#include <dirent.h>
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
#include "mech/native.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct {
	const char *path, *text;
} etc_files[] = {
	{ "etc/passwd", "root:x:0:0:root:/:/usr/sbin/nologin\n"
			"sbx:x:1000:1000:sbx:/workspace:/bin/sh\n"
			"nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n" },
	{ "etc/group", "root:x:0:\nsbx:x:1000:\nnogroup:x:65534:\n" },
	{ "etc/hosts", "127.0.0.1 localhost sbx\n::1 localhost ip6-localhost\n" },
	{ "etc/hostname", "sbx\n" },
	{ "etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"
			       "networks: files\nprotocols: files\nservices: files\n" },
	{ "etc/resolv.conf", "# no resolver: the way out is a proxy, if there is one\n" },
	{ "etc/shells", "/bin/sh\n/bin/bash\n" },
};

/*
 * Of the host's /etc: public data that programs need, read-only, as far as it is there. Each is a
 * mount, so what only a package manager reads is not among them.
 */
static const char *const etc_host[] = { "alternatives", "ld.so.cache", "mime.types", "protocols",
	"services", "ssl/certs", "ssl/openssl.cnf" };

/* The same for directories that carry a version in their names. */
static const char *const etc_prefixes[] = { "python3", "java-" };

int
sbx_native_file(int root_fd, const char *path, const void *bytes, size_t length,
	struct sbx_err *err)
{
	SBX_AUTO_FD fd =
		openat(root_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);

	if (fd < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "make /%s of the view", path);
	if (sbx_io_write_all(fd, bytes, length) != 0 || fchmod(fd, 0444) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "write /%s of the view", path);
	return 0;
}

/* A link stays a link; a file or a directory of the host is hung over an empty one of ours. */
static int
adopt_etc(int root_fd, const char *name, struct sbx_err *err)
{
	char from[64], to[64];
	struct stat st;
	SBX_AUTO_FD tree = -1;
	int made;

	snprintf(from, sizeof(from), "/etc/%s", name);
	snprintf(to, sizeof(to), "etc/%s", name);
	if (lstat(from, &st) != 0 || (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)))
		return 0;
	tree = sbx_mount_cut(AT_FDCWD, from, SBX_MOUNT_RDONLY | SBX_MOUNT_NODEV, err);
	if (tree < 0)
		return -1;
	if (S_ISDIR(st.st_mode))
		made = mkdirat(root_fd, to, 0755);
	else
		made = sbx_native_file(root_fd, to, "", 0, err);
	if (made != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "make /%s of the view", to);
	return sbx_mount_hang(tree, root_fd, to, err);
}

static int
adopt_versions(int root_fd, struct sbx_err *err)
{
	DIR *etc = opendir("/etc");
	struct dirent *entry;
	int rc = 0;

	while (etc != NULL && rc == 0 && (entry = readdir(etc)) != NULL) {
		for (size_t i = 0; i < COUNT(etc_prefixes) && rc == 0; i++) {
			if (entry->d_type == DT_DIR && strlen(entry->d_name) < 48 &&
				strncmp(entry->d_name, etc_prefixes[i],
					strlen(etc_prefixes[i])) == 0)
				rc = adopt_etc(root_fd, entry->d_name, err);
		}
	}
	if (etc != NULL)
		closedir(etc);
	return rc;
}

static int
copy_link(int root_fd, const char *from, const char *to)
{
	char target[256];
	ssize_t length = readlink(from, target, sizeof(target) - 1);

	if (length < 0)
		return 0;
	target[length] = '\0';
	return symlinkat(target, root_fd, to);
}

int
sbx_native_etc(int root_fd, struct sbx_err *err)
{
	for (size_t i = 0; i < COUNT(etc_files); i++) {
		if (sbx_native_file(root_fd, etc_files[i].path, etc_files[i].text,
			    strlen(etc_files[i].text), err) != 0)
			return -1;
	}
	if (mkdirat(root_fd, "etc/ssl", 0755) != 0 ||
		symlinkat("../proc/self/mounts", root_fd, "etc/mtab") != 0 ||
		symlinkat("../usr/lib/os-release", root_fd, "etc/os-release") != 0 ||
		copy_link(root_fd, "/etc/localtime", "etc/localtime") != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "make /etc of the view");
	for (size_t i = 0; i < COUNT(etc_host); i++) {
		if (adopt_etc(root_fd, etc_host[i], err) != 0)
			return -1;
	}
	return adopt_versions(root_fd, err);
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
	return rc | sbx_buf_printf(out,
			    "intr 0\nctxt 0\nbtime %lld\nprocesses 1\nprocs_running 1\n"
			    "procs_blocked 0\n",
			    (long long)((sbx_clock_wall_ms() - sbx_clock_boot_ms()) / 1000));
}

/* Written beside the view, hung over the kernel's file, and unlinked: the mount keeps it. */
static int
cover_proc(int root_fd, const char *name, const struct sbx_buf *text, struct sbx_err *err)
{
	char to[64];
	SBX_AUTO_FD tree = -1;

	snprintf(to, sizeof(to), "proc/%s", name);
	if (sbx_native_file(root_fd, name, sbx_buf_str(text), text->length, err) != 0)
		return -1;
	tree = sbx_mount_cut(root_fd, name,
		SBX_MOUNT_RDONLY | SBX_MOUNT_NODEV | SBX_MOUNT_NOEXEC, err);
	if (tree < 0 || sbx_mount_hang(tree, root_fd, to, err) != 0)
		return -1;
	if (unlinkat(root_fd, name, 0) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "remove the source of /%s", to);
	return 0;
}

int
sbx_native_proc_files(int root_fd, const struct sbx_limits *limits, struct sbx_err *err)
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
