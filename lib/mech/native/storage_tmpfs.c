/*
 * A workspace on a tmpfs of its own: the quickest, and lost with the host's power. Its pages count as
 * memory of the environment, which is why nobody gets it without asking. A size or a number of inodes
 * of 0 would be no limit at all: limits.yaml(5) has none.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/scoped.h"
#include "kernel/mount.h"
#include "mech/native/storage.h"

int
sbx_native_tmpfs_make(const struct sbx_env *env, const struct sbx_env_record *record,
	struct sbx_err *err)
{
	char size[40], inodes[40];
	/* Whole pages, not more than the limit; the root takes one inode. */
	uint64_t bytes = record->limits.workspace_bytes / 4096 * 4096;
	const char *const options[] = { size, inodes, "mode=0700", NULL };
	SBX_AUTO_FD fd = -1;

	snprintf(size, sizeof(size), "size=%" PRIu64, bytes);
	snprintf(inodes, sizeof(inodes), "nr_inodes=%" PRIu64, record->limits.workspace_inodes + 1);
	fd = sbx_mount_new("tmpfs", options, SBX_MOUNT_NODEV, err);
	if (fd < 0)
		return sbx_fail_hint(err, "it takes CAP_SYS_ADMIN");
	return sbx_mount_hang(fd, env->dir_fd, "workspace", err);
}
