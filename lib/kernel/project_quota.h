/*
 * Project quotas of ext4 and XFS (quotactl_fd(2), Linux 5.14; FS_IOC_FSSETXATTR): a number on a
 * directory that all made below inherits, and a limit for the sum. Whether a limit acts is told by
 * meeting it: a file system may count and not enforce, and enforce nothing on root.
 */
#ifndef SBX_KERNEL_PROJECT_QUOTA_H
#define SBX_KERNEL_PROJECT_QUOTA_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct sbx_project_use {
	uint64_t bytes, inodes; /* in use */
	uint64_t bytes_max, inodes_max; /* the hard limits; 0: none */
};

/* Whether the file system of fd counts by project now. */
int sbx_project_quota_counts(int fd);

/* Of a directory. 0 is no project. -1 with errno. */
int sbx_project_quota_of(int dir_fd, uint32_t *id) __attribute__((warn_unused_result));
int sbx_project_quota_mark(int dir_fd, uint32_t id) __attribute__((warn_unused_result));

int sbx_project_quota_get(int fd, uint32_t id, struct sbx_project_use *use)
	__attribute__((warn_unused_result));
/* Set both hard limits; 0 takes one away. */
int sbx_project_quota_set(int fd, uint32_t id, uint64_t bytes_max, uint64_t inodes_max)
	__attribute__((warn_unused_result));

/*
 * Meet the limit: as uid and without any right, in a child, allocate more than `bytes` in a nameless
 * file in this directory. 0: it was refused with ENOSPC or EDQUOT; else SBX_E_UNAVAILABLE.
 */
int sbx_project_quota_prove(int dir_fd, uint64_t bytes, uid_t uid, struct sbx_err *err)
	__attribute__((warn_unused_result));

#endif
