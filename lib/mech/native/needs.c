/*
 * Steps that need something of the kernel, with the words for one that lacks it: which layer, and
 * the way out. Shared by the launch and by the probe, so that both say the same.
 */
#include <linux/close_range.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/landlock.h"
#include "mech/native/native.h"

int
sbx_native_map(pid_t pid, const struct sbx_ns_map *map, struct sbx_err *err)
{
	if (sbx_ns_map(pid, map, err) == 0)
		return 0;
	/* The helpers' own words say enough. */
	return map->by_helper ? -1 : sbx_fail_wrap(err, "user namespace");
}

void
sbx_native_advise(struct sbx_err *err)
{
	if (err->code != SBX_E_UNAVAILABLE || err->hint[0] != '\0')
		return;
	if (err->sys == ENOSYS)
		sbx_fail_hint(err,
			"it takes Linux 5.19 or later, and no seccomp filter around us "
			"(of a container) that hides the call");
	else if (err->sys == EPERM || err->sys == EACCES)
		sbx_fail_hint(err,
			"a container's seccomp filter or a security module may forbid it (AppArmor: "
			"kernel.apparmor_restrict_unprivileged_userns)");
}

int
sbx_native_mark_descriptors(struct sbx_err *err)
{
	if (syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
		return 0;
	sbx_fail_sys(err, SBX_E_UNAVAILABLE, "close_range: mark descriptors");
	if (err->sys == EINVAL)
		sbx_fail_hint(err, "CLOSE_RANGE_CLOEXEC came with Linux 5.11");
	return -1;
}

int
sbx_native_check_landlock(struct sbx_err *err)
{
	int abi = sbx_landlock_abi();

	if (abi >= 2)
		return 0;
	if (abi == 1) {
		sbx_fail(err, SBX_E_UNAVAILABLE, "Landlock is older than ABI 2 (Linux 5.19)");
		return sbx_fail_hint(err,
			"run a newer kernel, or configure `landlock: best-effort`");
	}
	sbx_fail(err, SBX_E_UNAVAILABLE, "Landlock is missing or older than ABI 2 (Linux 5.19)");
	return sbx_fail_hint(err,
		"boot with lsm=landlock,... or configure `landlock: best-effort`");
}
