/*
 * The /dev of an environment: nodes of the host that are harmless in any hands, each hung up alone,
 * a devpts of its own and a bounded shared memory. Nothing is made there, and nobody writes to it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/scoped.h"
#include "kernel/mount.h"
#include "mech/native/native.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Device nodes of the host that are safe in any hands; the numbers are those of devices.txt. */
static const struct {
	const char *name;
	unsigned major, minor;
} devices[] = {
	{ "null", 1, 3 },
	{ "zero", 1, 5 },
	{ "full", 1, 7 },
	{ "random", 1, 8 },
	{ "urandom", 1, 9 },
	{ "tty", 5, 0 },
};

static int
hang_device(int root_fd, size_t i, struct sbx_err *err)
{
	char from[32], to[32];
	struct stat st;
	SBX_AUTO_FD node = -1;
	SBX_AUTO_FD tree = -1;

	snprintf(from, sizeof(from), "/dev/%s", devices[i].name);
	snprintf(to, sizeof(to), "dev/%s", devices[i].name);
	node = open(from, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (node < 0 || fstat(node, &st) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "open %s", from);
	if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(devices[i].major, devices[i].minor))
		return sbx_fail(err, SBX_E_UNAVAILABLE, "%s is not the device %u:%u", from,
			devices[i].major, devices[i].minor);
	if (sbx_native_file(root_fd, to, "", 0, err) != 0)
		return -1;
	tree = open_tree(node, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	if (tree < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "cut out %s", from);
	if (sbx_mount_restrict(tree, SBX_MOUNT_RDONLY | SBX_MOUNT_NOEXEC, err) != 0)
		return -1;
	return sbx_mount_hang(tree, root_fd, to, err);
}

int
sbx_native_dev(int root_fd, uint64_t shm_bytes, struct sbx_err *err)
{
	static const char *const dev_options[] = { "mode=0755", "size=64k", "nr_inodes=64", NULL };
	/* A bound of its own, or one environment could take all that the host has. */
	static const char *const pts_options[] = { "mode=0620", "ptmxmode=0666", "max=256", NULL };
	SBX_AUTO_FD dev = -1;

	if (sbx_native_hang_new(root_fd, "dev", "tmpfs", dev_options, SBX_MOUNT_NOEXEC, err) != 0)
		return -1;
	for (size_t i = 0; i < COUNT(devices); i++) {
		if (hang_device(root_fd, i, err) != 0)
			return -1;
	}
	if (sbx_native_dir(root_fd, "dev/pts", 0755, err) != 0 ||
		sbx_native_dir(root_fd, "dev/shm", 0755, err) != 0 ||
		sbx_native_link(root_fd, "pts/ptmx", "dev/ptmx", err) != 0 ||
		sbx_native_link(root_fd, "/proc/self/fd", "dev/fd", err) != 0 ||
		sbx_native_link(root_fd, "/proc/self/fd/0", "dev/stdin", err) != 0 ||
		sbx_native_link(root_fd, "/proc/self/fd/1", "dev/stdout", err) != 0 ||
		sbx_native_link(root_fd, "/proc/self/fd/2", "dev/stderr", err) != 0)
		return -1;
	if (sbx_native_hang_new(root_fd, "dev/pts", "devpts", pts_options, SBX_MOUNT_NOEXEC, err) !=
			0 ||
		sbx_native_scratch(root_fd, "dev/shm", shm_bytes, err) != 0)
		return -1;
	dev = openat(root_fd, "dev", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dev < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "open /dev of the view");
	return sbx_mount_restrict(dev, SBX_MOUNT_RDONLY | SBX_MOUNT_NOEXEC, err);
}
