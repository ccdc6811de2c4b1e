/*
 * The mount calls of Linux 5.2 and later, each with its error in words. Never looks a destination up
 * outside the root that it was given.
 */
#include "kernel/mount.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/path.h"
#include "base/scoped.h"

static uint64_t
attributes(int flags)
{
	uint64_t attr = MOUNT_ATTR_NOSUID;

	if (flags & SBX_MOUNT_RDONLY)
		attr |= MOUNT_ATTR_RDONLY;
	if (flags & SBX_MOUNT_NODEV)
		attr |= MOUNT_ATTR_NODEV;
	if (flags & SBX_MOUNT_NOEXEC)
		attr |= MOUNT_ATTR_NOEXEC;
	return attr;
}

static int
set_attributes(int fd, int flags, unsigned at_flags)
{
	struct mount_attr attr = { .attr_set = attributes(flags), .propagation = MS_PRIVATE };

	return mount_setattr(fd, "", AT_EMPTY_PATH | at_flags, &attr, sizeof(attr));
}

int
sbx_mount_cut(int dir_fd, const char *path, int flags, struct sbx_err *err)
{
	SBX_AUTO_FD tree = open_tree(dir_fd, path,
		OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW |
			AT_NO_AUTOMOUNT);

	if (tree < 0)
		return sbx_fail_sys(err, errno == ENOENT ? SBX_E_NOT_FOUND : SBX_E_UNAVAILABLE,
			"open the tree %s", path);
	if (set_attributes(tree, flags, AT_RECURSIVE) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "set the mount flags of %s", path);
	return sbx_take_fd(&tree);
}

/* "key=value" or "key"; the value is everything behind the first '='. */
static int
set_option(int fs, const char *option)
{
	const char *equals = strchr(option, '=');
	char key[32];

	if (equals == NULL)
		return fsconfig(fs, FSCONFIG_SET_FLAG, option, NULL, 0);
	if ((size_t)(equals - option) >= sizeof(key)) {
		errno = EINVAL;
		return -1;
	}
	memcpy(key, option, (size_t)(equals - option));
	key[equals - option] = '\0';
	return fsconfig(fs, FSCONFIG_SET_STRING, key, equals + 1, 0);
}

int
sbx_mount_new(const char *type, const char *const *options, int flags, struct sbx_err *err)
{
	SBX_AUTO_FD fs = fsopen(type, FSOPEN_CLOEXEC);
	int mount_fd;

	if (fs < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "open a file system of type %s", type);
	for (; options != NULL && *options != NULL; options++) {
		if (set_option(fs, *options) != 0)
			return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "%s: option %s", type,
				*options);
	}
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "make a file system of type %s", type);
	mount_fd = fsmount(fs, FSMOUNT_CLOEXEC, (unsigned)attributes(flags));
	if (mount_fd < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "mount a file system of type %s", type);
	return mount_fd;
}

int
sbx_mount_hang(int mount_fd, int root_fd, const char *path, struct sbx_err *err)
{
	SBX_AUTO_FD place = sbx_path_open_in_root(root_fd, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (place < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "open the mount point %s", path);
	if (move_mount(mount_fd, "", place, "",
		    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "mount on %s", path);
	return 0;
}

int
sbx_mount_restrict(int fd, int flags, struct sbx_err *err)
{
	if (set_attributes(fd, flags, 0) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "restrict a mount");
	return 0;
}

int
sbx_mount_private(struct sbx_err *err)
{
	struct mount_attr attr = { .propagation = MS_PRIVATE };

	if (mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof(attr)) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "make all mounts private");
	return 0;
}

int
sbx_mount_cover_root(int mount_fd, struct sbx_err *err)
{
	if (move_mount(mount_fd, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "mount the new root");
	return 0;
}

int
sbx_mount_pivot(int mount_fd, struct sbx_err *err)
{
	if (fchdir(mount_fd) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "enter the new root");
	if (syscall(SYS_pivot_root, ".", ".") != 0) {
		sbx_fail_sys(err, SBX_E_UNAVAILABLE, "pivot into the new root");
		return sbx_fail_hint(err,
			"EINVAL here means that / is the initial ramfs: "
			"switch_root to a mounted file system first");
	}
	if (umount2(".", MNT_DETACH) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "let go of the old root");
	if (chdir("/") != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "enter the new root");
	return 0;
}
