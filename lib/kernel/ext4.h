/*
 * An ext4 file system in a file of ours, of an exact size: what bounds a workspace where the file
 * system below cannot. It is made by mkfs.ext4 (e2fsprogs), without a journal: after an unclean stop
 * it is thrown away, never repaired and never mounted again.
 */
#ifndef SBX_KERNEL_EXT4_H
#define SBX_KERNEL_EXT4_H

#include <stdint.h>

#include "base/err.h"
#include "kernel/loopdev.h"

#define SBX_EXT4_BLOCK 4096
#define SBX_EXT4_TREE "tree" /* the directory in it that is handed on: it has no lost+found */

struct sbx_ext4_room {
	uint64_t blocks, inodes; /* free, for anybody */
};

/*
 * Make one in the empty regular file fd, which becomes as long as it has to be, and leave exactly
 * this room in it: what mkfs rounded up is filled with files beside the tree. Blocks for some tens of
 * milliseconds; `stop` may end that (SBX_E_CANCELLED). SBX_E_UNAVAILABLE where mkfs.ext4, loop devices
 * or ext4 are missing; SBX_E_QUOTA where the disk is too full.
 */
int sbx_ext4_make(int fd, const struct sbx_ext4_room *room, int (*stop)(void), struct sbx_err *err)
	__attribute__((warn_unused_result));

/* ext4_mkfs.c, for sbx_ext4_make(): the step that is mkfs, into a file that is sized here. */
struct sbx_ext4_geometry {
	uint64_t blocks, inodes, group_blocks;
};
int sbx_ext4_mkfs(int fd, const struct sbx_ext4_geometry *geometry, int (*stop)(void),
	struct sbx_err *err) __attribute__((warn_unused_result));

/* Mount it, nowhere yet: a descriptor as sbx_mount_new() has it. nosuid, nodev. */
int sbx_ext4_mount(const struct sbx_loopdev *loop, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* What is free in the file system of this descriptor now; -1 with errno. */
int sbx_ext4_free(int fd, struct sbx_ext4_room *room) __attribute__((warn_unused_result));

#endif
