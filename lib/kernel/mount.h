/*
 * Mounts through descriptors (open_tree, fsopen, move_mount, mount_setattr; Linux 5.2 to 5.12): a
 * tree is cut out, made harmless, and hung up at a place that was resolved inside the new root, so
 * that no name is ever looked up twice.
 */
#ifndef SBX_KERNEL_MOUNT_H
#define SBX_KERNEL_MOUNT_H

#include <stdint.h>

#include "base/err.h"

enum sbx_mount_flag {
	SBX_MOUNT_RDONLY = 1,
	SBX_MOUNT_NODEV = 2,
	SBX_MOUNT_NOEXEC = 4,
	SBX_MOUNT_OPTIONAL = 8, /* a missing source is not an error */
	/* nosuid and private propagation are always on */
};

/*
 * Cut out a private copy of what is mounted at `path` (looked up from dir_fd, a link at the end not
 * followed), with everything below it, and set its flags. A detached mount owned by the caller; -1
 * with SBX_E_NOT_FOUND if there is no such path. Needs CAP_SYS_ADMIN over the mount namespace.
 */
int sbx_mount_cut(int dir_fd, const char *path, int flags, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* A new file system that is nowhere mounted yet. Options are "key=value" or "key", NULL-ended. */
int sbx_mount_new(const char *type, const char *const *options, int flags, struct sbx_err *err)
	__attribute__((warn_unused_result));

/*
 * Hang `mount_fd` up at `path` as root_fd sees it: resolved by RESOLVE_IN_ROOT without a link at the
 * end. The place must exist and be of the same kind (directory or not).
 */
int sbx_mount_hang(int mount_fd, int root_fd, const char *path, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* Change the flags of what is mounted at fd (this mount only). */
int sbx_mount_restrict(int fd, int flags, struct sbx_err *err) __attribute__((warn_unused_result));

/* Make everything in the caller's mount namespace private. */
int sbx_mount_private(struct sbx_err *err) __attribute__((warn_unused_result));

/*
 * Put a detached mount over "/" of this namespace; it may be built upon through its descriptor,
 * while names still resolve in the old root. Then pivot: the new one becomes "/", the old one is
 * gone for good.
 */
int sbx_mount_cover_root(int mount_fd, struct sbx_err *err) __attribute__((warn_unused_result));
int sbx_mount_pivot(int mount_fd, struct sbx_err *err) __attribute__((warn_unused_result));

#endif
