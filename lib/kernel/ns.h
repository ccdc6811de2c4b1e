/* Namespaces: made in one clone3(2), mapped by their maker. */
#ifndef SBX_KERNEL_NS_H
#define SBX_KERNEL_NS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Everything an environment has of its own. The cgroup namespace comes later: sbx_ns_own_cgroup(). */
#define SBX_NS_ALL                                                                                 \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET)

/*
 * clone3(2) without shared memory: 0 in the child, the pid in the parent, -1 with errno. With
 * cgroup_fd >= 0 the child begins in that v2 group (Linux 5.7). *pidfd is close-on-exec, owned by
 * the caller.
 */
pid_t sbx_ns_clone(uint64_t flags, int cgroup_fd, int *pidfd) __attribute__((warn_unused_result));

struct sbx_ns_map {
	uid_t inside_uid, outside_uid;
	gid_t inside_gid, outside_gid;
	int by_helper; /* through newuidmap(1) and newgidmap(1), for subordinate ids of a plain user */
};

/*
 * Write the maps of a child (pid), or of the caller itself (pid 0, not by_helper), one id each.
 * setgroups(2) is denied, but by_helper leaves it allowed: drop the groups inside.
 * user_namespaces(7): mapping an id other than one's own needs CAP_SETUID/CAP_SETGID outside.
 */
int sbx_ns_map(pid_t pid, const struct sbx_ns_map *map, struct sbx_err *err)
	__attribute__((warn_unused_result));

/*
 * ns_helper.c: several lines by the helpers, which check them against subuid(5) and subgid(5).
 * SBX_E_UNAVAILABLE that says what a helper said, or that it is not installed.
 */
int sbx_ns_map_by_helper(pid_t pid, const struct sbx_ns_map *lines, size_t count,
	struct sbx_err *err) __attribute__((warn_unused_result));

/*
 * Call work(arg, err) in a child that has all capabilities over files of the plain user who calls
 * this (0 inside) and of one subordinate id (1 inside), and wait for it. 0, or -1 with work's error.
 */
int sbx_ns_as_owner(uid_t uid, gid_t gid, int (*work)(void *arg, struct sbx_err *err), void *arg,
	struct sbx_err *err) __attribute__((warn_unused_result));

/*
 * No further user namespace below the caller's (its own user.max_user_namespaces = 0). proc_fd is a
 * procfs with /proc/sys in it, best a fresh one: an old one has an entry of that name cached for
 * each user namespace of the host and looks through all of them. Needs CAP_SYS_RESOURCE inside.
 */
int sbx_ns_forbid_nested(int proc_fd, struct sbx_err *err) __attribute__((warn_unused_result));

/* A cgroup namespace rooted where the caller is now, so that /proc/self/cgroup tells nothing. */
int sbx_ns_own_cgroup(struct sbx_err *err) __attribute__((warn_unused_result));

/* Bring the loopback interface of the caller's network namespace up. */
int sbx_ns_loopback_up(struct sbx_err *err) __attribute__((warn_unused_result));

/*
 * Why user namespaces do not work here, found out by doing, for a person: a chroot, AppArmor's
 * restriction, a limit of 0, no support. Fills err with SBX_E_UNAVAILABLE and a hint; returns -1.
 * `error` is what clone answered.
 */
int sbx_ns_explain(int error, struct sbx_err *err);

#endif
