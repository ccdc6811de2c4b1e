/*
 * Project quotas through the generic calls, which ext4 and XFS both answer. Allocates no numbers and
 * keeps none: who does that is above.
 */
#include "kernel/project_quota.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scoped.h"

#ifndef __NR_quotactl_fd
#define __NR_quotactl_fd 443 /* Linux 5.14 */
#endif
#define COMMAND(op) QCMD((unsigned)(op), PRJQUOTA)
#define QUOTA_BLOCK 1024 /* of a limit, whatever the file system's own are */

static int
quota_call(int fd, unsigned command, uint32_t id, void *arg)
{
	return (int)syscall(__NR_quotactl_fd, fd, command, id, arg);
}

int
sbx_project_quota_counts(int fd)
{
	struct if_dqinfo info;

	return quota_call(fd, COMMAND(Q_GETINFO), 0, &info) == 0;
}

int
sbx_project_quota_of(int dir_fd, uint32_t *id)
{
	struct fsxattr attr;

	if (ioctl(dir_fd, FS_IOC_FSGETXATTR, &attr) < 0)
		return -1;
	*id = attr.fsx_projid;
	return 0;
}

int
sbx_project_quota_mark(int dir_fd, uint32_t id)
{
	struct fsxattr attr;

	if (ioctl(dir_fd, FS_IOC_FSGETXATTR, &attr) < 0)
		return -1;
	attr.fsx_projid = id;
	attr.fsx_xflags |= FS_XFLAG_PROJINHERIT;
	return ioctl(dir_fd, FS_IOC_FSSETXATTR, &attr);
}

int
sbx_project_quota_get(int fd, uint32_t id, struct sbx_project_use *use)
{
	struct if_dqblk block = { 0 };

	*use = (struct sbx_project_use){ 0 };
	if (quota_call(fd, COMMAND(Q_GETQUOTA), id, &block) < 0)
		return errno == ENOENT ? 0 : -1; /* XFS: nobody has had it */
	use->bytes = block.dqb_curspace;
	use->inodes = block.dqb_curinodes;
	use->bytes_max = block.dqb_bhardlimit * QUOTA_BLOCK;
	use->inodes_max = block.dqb_ihardlimit;
	return 0;
}

int
sbx_project_quota_set(int fd, uint32_t id, uint64_t bytes_max, uint64_t inodes_max)
{
	struct if_dqblk block = {
		.dqb_bhardlimit = bytes_max / QUOTA_BLOCK,
		.dqb_ihardlimit = inodes_max,
		.dqb_valid = QIF_LIMITS,
	};

	return quota_call(fd, COMMAND(Q_SETQUOTA), id, &block);
}

/* Its rights go with its uid; what it writes is gone with its descriptor. */
__attribute__((noreturn)) static void
meet(int dir_fd, uint64_t bytes, uid_t uid)
{
	int fd;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || setgroups(0, NULL) != 0 ||
		setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0)
		_exit(3);
	fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		_exit(2);
	if (fallocate(fd, 0, 0, (off_t)(bytes + 65536)) == 0)
		_exit(1);
	_exit(errno == ENOSPC || errno == EDQUOT ? 0 : 2);
}

int
sbx_project_quota_prove(int dir_fd, uint64_t bytes, uid_t uid, struct sbx_err *err)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		meet(dir_fd, bytes, uid);
	if (pid < 0)
		return sbx_fail_sys(err, SBX_E_INTERNAL, "start a trial of the quota");
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return sbx_fail_sys(err, SBX_E_INTERNAL, "wait for a trial of the quota");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
		sbx_fail(err, SBX_E_UNAVAILABLE,
			"project quotas are counted here and not enforced");
	else
		sbx_fail(err, SBX_E_UNAVAILABLE, "the limit of a project could not be tried");
	return sbx_fail_hint(err, "mount the state directory's file system with prjquota");
}
