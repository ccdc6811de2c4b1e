/*
 * Capabilities are dropped from every set and for good. As a plain user the children begin in a
 * user namespace of their own, where they have all of them.
 */
#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <linux/capability.h>
#include <linux/securebits.h>

#include "child.h"
#include "kernel/caps.h"
#include "tap.h"

enum { NO_RIGHTS = 254 };

static int
gain(void)
{
	return geteuid() == 0 || unshare(CLONE_NEWUSER) == 0;
}

static int
set_effective(unsigned low)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2] = { 0 };

	if (syscall(SYS_capget, &header, sets) != 0)
		return -1;
	sets[0].effective = low;
	sets[1].effective = 0;
	return (int)syscall(SYS_capset, &header, sets);
}

/* Make one capability ambient, so that there is something in that set to lose. */
static int
make_ambient(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2] = { 0 };

	if (syscall(SYS_capget, &header, sets) != 0)
		return -1;
	sets[0].inheritable = 1U << CAP_KILL;
	if (syscall(SYS_capset, &header, sets) != 0)
		return -1;
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, (unsigned long)CAP_KILL, 0UL, 0UL);
}

static int
is_ambient(void)
{
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, (unsigned long)CAP_KILL, 0UL, 0UL);
}

static int
has_some(const void *arg)
{
	(void)arg;
	if (!gain())
		return NO_RIGHTS;
	return sbx_caps_have(CAP_SETPCAP) == 1 && sbx_caps_have(CAP_KILL) == 1 &&
			sbx_caps_have(64) == 0 && sbx_caps_are_empty() == 0 ?
		0 :
		1;
}

static int
drops_all(const void *arg)
{
	const int locked = SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED |
		SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	(void)arg;
	if (!gain() || make_ambient() != 0 || is_ambient() != 1)
		return NO_RIGHTS;
	if (sbx_caps_drop_all() != 0)
		return 1;
	if (sbx_caps_are_empty() != 1 || sbx_caps_have(CAP_SETPCAP) != 0 || is_ambient() != 0)
		return 2;
	if ((prctl(PR_GET_SECUREBITS) & locked) != locked)
		return 3;
	return sbx_caps_drop_all() == 0 ? 0 : 4; /* all is empty and locked: nothing to do */
}

static int
stays_empty_over_exec(const void *arg)
{
	(void)arg;
	if (!gain())
		return NO_RIGHTS;
	if (sbx_caps_drop_all() != 0)
		return 1;
	execl("/bin/grep", "grep", "-q", "^CapEff:.0000000000000000$", "/proc/self/status", NULL);
	return 2;
}

/* Bounding set and securebits are done, the rest is still there: pid 1. */
static int
seals(const void *arg)
{
	(void)arg;
	if (!gain())
		return NO_RIGHTS;
	if (sbx_caps_seal() != 0 || sbx_caps_have(CAP_SETUID) != 1)
		return 1;
	if (prctl(PR_CAPBSET_READ, (unsigned long)CAP_KILL, 0UL, 0UL, 0UL) != 0)
		return 2;
	/* Without CAP_SETPCAP the rest can still be dropped, since nothing needs it any more. */
	if (set_effective(0) != 0 || sbx_caps_drop_all() != 0)
		return 3;
	return sbx_caps_are_empty() == 1 ? 0 : 4;
}

static int
needs_setpcap(const void *arg)
{
	(void)arg;
	if (!gain() || set_effective(1U << CAP_KILL) != 0)
		return NO_RIGHTS;
	return sbx_caps_drop_all() == -1 ? errno : 0;
}

int
main(void)
{
	if (in_child(has_some, NULL) == NO_RIGHTS) {
		skip(5, "neither root nor a user namespace");
		return done();
	}
	is_int(in_child(has_some, NULL), 0, "what there is is seen");
	is_int(in_child(drops_all, NULL), 0, "every set is emptied and locked, twice is once");
	is_int(in_child(stays_empty_over_exec, NULL), 0, "exec gives nothing back to uid 0");
	is_int(in_child(seals, NULL), 0, "sealing keeps what is effective");
	is_int(in_child(needs_setpcap, NULL), EPERM, "a full bounding set needs CAP_SETPCAP");
	return done();
}
