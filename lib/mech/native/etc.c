/*
 * A synthetic /etc that keeps programs working and tells nothing of the host, and the small steps
 * that all files of a view are made with.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/scoped.h"
#include "kernel/mount.h"
#include "mech/native/native.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct {
	const char *path, *text;
} etc_files[] = {
	{ "etc/passwd",
		"root:x:0:0:root:/:/usr/sbin/nologin\n"
		"sbx:x:1000:1000:sbx:/workspace:/bin/sh\n"
		"nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n" },
	{ "etc/group", "root:x:0:\nsbx:x:1000:\nnogroup:x:65534:\n" },
	{ "etc/hosts", "127.0.0.1 localhost sbx\n::1 localhost ip6-localhost\n" },
	{ "etc/hostname", "sbx\n" },
	{ "etc/nsswitch.conf",
		"passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"
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
	SBX_AUTO_FD fd = openat(root_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		0444);

	if (fd < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "make /%s of the view", path);
	if (sbx_io_write_all(fd, bytes, length) != 0 || fchmod(fd, 0444) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "write /%s of the view", path);
	return 0;
}

int
sbx_native_dir(int root_fd, const char *path, mode_t mode, struct sbx_err *err)
{
	if (mkdirat(root_fd, path, 0700) != 0 && errno != EEXIST)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "make /%s of the view", path);
	if (fchmodat(root_fd, path, mode, 0) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "set the mode of /%s of the view",
			path);
	return 0;
}

int
sbx_native_link(int root_fd, const char *target, const char *path, struct sbx_err *err)
{
	if (symlinkat(target, root_fd, path) != 0 && errno != EEXIST)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "make the link /%s of the view", path);
	return 0;
}

int
sbx_native_hang_new(int root_fd, const char *path, const char *type, const char *const *options,
	int flags, struct sbx_err *err)
{
	SBX_AUTO_FD fresh = sbx_mount_new(type, options, flags, err);

	return fresh < 0 ? -1 : sbx_mount_hang(fresh, root_fd, path, err);
}

/* An inode takes memory too, of the kernel's: one for each page of the size. */
int
sbx_native_scratch(int root_fd, const char *path, uint64_t bytes, struct sbx_err *err)
{
	char size[48], inodes[48];
	const char *const options[] = { "mode=1777", size, inodes, NULL };

	snprintf(size, sizeof(size), "size=%llu", (unsigned long long)bytes);
	snprintf(inodes, sizeof(inodes), "nr_inodes=%llu", (unsigned long long)bytes / 4096 + 64);
	return sbx_native_hang_new(root_fd, path, "tmpfs", options, SBX_MOUNT_NODEV, err);
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
				strncmp(entry->d_name, etc_prefixes[i], strlen(etc_prefixes[i])) ==
					0)
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
