/*
 * Namespaces: thin steps around clone3(2), the id maps, and the refusals in words. Never decides
 * which namespaces an environment needs; the mechanism does.
 */
#include "kernel/ns.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/scoped.h"

pid_t
sbx_ns_clone(uint64_t flags, int cgroup_fd, int *pidfd)
{
	int fd = -1;
	struct clone_args args = {
		.flags = flags | CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&fd,
		.exit_signal = SIGCHLD,
	};
	long pid;

	if (cgroup_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (unsigned)cgroup_fd;
	}
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid > 0)
		*pidfd = fd;
	return (pid_t)pid;
}

static int
write_map(int proc_fd, const char *name, unsigned inside, unsigned outside, struct sbx_err *err)
{
	char line[64];

	snprintf(line, sizeof(line), "%u %u 1\n", inside, outside);
	if (sbx_io_write_attr(proc_fd, name, line) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "write %s (%u is %u outside)", name,
			inside, outside);
	return 0;
}

int
sbx_ns_map(pid_t pid, const struct sbx_ns_map *map, struct sbx_err *err)
{
	char path[32];
	SBX_AUTO_FD proc_fd = -1;

	if (map->by_helper)
		return sbx_ns_map_by_helper(pid, map, 1, err);
	if (pid == 0)
		snprintf(path, sizeof(path), "/proc/self");
	else
		snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "open %s", path);
	if (sbx_io_write_attr(proc_fd, "setgroups", "deny") != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "write %s/setgroups", path);
	if (write_map(proc_fd, "gid_map", map->inside_gid, map->outside_gid, err) != 0)
		return -1;
	return write_map(proc_fd, "uid_map", map->inside_uid, map->outside_uid, err);
}

int
sbx_ns_forbid_nested(int proc_fd, struct sbx_err *err)
{
	if (sbx_io_write_attr(proc_fd, "sys/user/max_user_namespaces", "0") != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "write user.max_user_namespaces");
	return 0;
}

int
sbx_ns_own_cgroup(struct sbx_err *err)
{
	if (unshare(CLONE_NEWCGROUP) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "unshare a cgroup namespace");
	return 0;
}

int
sbx_ns_loopback_up(struct sbx_err *err)
{
	struct ifreq request = { .ifr_name = "lo" };
	SBX_AUTO_FD sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (sock < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE,
			"open a socket for the loopback interface");
	request.ifr_flags = IFF_UP | IFF_RUNNING;
	if (ioctl(sock, SIOCSIFFLAGS, &request) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "bring the loopback interface up");
	return 0;
}

/* In a chroot our root is not the root of our mount namespace (user_namespaces(7), EPERM). */
static int
is_chroot(void)
{
	struct stat mine, of_init;

	return stat("/", &mine) == 0 && stat("/proc/1/root/.", &of_init) == 0 &&
		(mine.st_dev != of_init.st_dev || mine.st_ino != of_init.st_ino);
}

static int
reads_as(const char *path, char wanted)
{
	char text[16];

	return sbx_io_read_attr(AT_FDCWD, path, text, sizeof(text)) > 0 && text[0] == wanted;
}

int
sbx_ns_explain(int error, struct sbx_err *err)
{
	errno = error;
	sbx_fail_sys(err, SBX_E_UNAVAILABLE, "user namespaces are not to be had here");
	if (reads_as("/proc/sys/user/max_user_namespaces", '0'))
		return sbx_fail_hint(err, "sysctl user.max_user_namespaces is 0: raise it");
	/* A security module may answer either. */
	if ((error == EPERM || error == EACCES) &&
		reads_as("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1'))
		return sbx_fail_hint(err,
			"AppArmor restricts them: install a profile for "
			"sbx-provision with `userns,`, or set "
			"kernel.apparmor_restrict_unprivileged_userns=0");
	if (error == EPERM && reads_as("/proc/sys/kernel/unprivileged_userns_clone", '0'))
		return sbx_fail_hint(err,
			"sysctl kernel.unprivileged_userns_clone is 0: set it to 1");
	if (error == EPERM && is_chroot())
		return sbx_fail_hint(err,
			"this is a chroot, where the kernel refuses them: enter the "
			"tree by pivot_root (systemd-nspawn, unshare -m)");
	if (error == EPERM || error == EACCES)
		return sbx_fail_hint(err,
			"a chroot, a seccomp filter of a container or a security "
			"module forbids them: run outside of it");
	if (error == ENOSYS)
		return sbx_fail_hint(err,
			"it takes clone3 of Linux 5.3, which a container's seccomp filter may hide");
	if (error == ENOSPC)
		return sbx_fail_hint(err,
			"nested too deep, or user.max_user_namespaces is reached");
	return sbx_fail_hint(err, "the kernel needs CONFIG_USER_NS");
}
