/*
 * Capability sets of the calling process by capget(2), capset(2) and prctl(2). Only ever takes
 * away. Runs between fork and exec, in pid 1 too: no heap, no libcap.
 */
#include "kernel/caps.h"

#include <errno.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/securebits.h>

/* exec gives uid 0 nothing, a change of uid gives nothing back, nothing becomes ambient: for good. */
#define SECUREBITS                                                                                 \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |                           \
		SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |                      \
		SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

enum { CAPABILITY_MAX = 64 }; /* what the sets have room for */

struct sets {
	struct __user_cap_data_struct half[_LINUX_CAPABILITY_U32S_3];
};

static int
get_sets(struct sets *sets)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return (int)syscall(SYS_capget, &header, sets->half);
}

static int
set_sets(const struct sets *sets)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return (int)syscall(SYS_capset, &header, sets->half);
}

/* 1 if it is in the bounding set, 0 if not, -1 where this kernel's capabilities end. */
static int
is_bounding(unsigned capability)
{
	return prctl(PR_CAPBSET_READ, (unsigned long)capability, 0UL, 0UL, 0UL);
}

static int
empty_bounding(void)
{
	for (unsigned capability = 0; capability < CAPABILITY_MAX; capability++) {
		int has = is_bounding(capability);

		if (has < 0)
			break;
		if (has && prctl(PR_CAPBSET_DROP, (unsigned long)capability, 0UL, 0UL, 0UL) != 0)
			return -1;
	}
	return 0;
}

static int
lock_securebits(void)
{
	int bits = prctl(PR_GET_SECUREBITS, 0UL, 0UL, 0UL, 0UL);

	if (bits < 0)
		return -1;
	if ((bits & SECUREBITS) == SECUREBITS)
		return 0;
	return prctl(PR_SET_SECUREBITS, (unsigned long)(bits | SECUREBITS), 0UL, 0UL, 0UL);
}

int
sbx_caps_seal(void)
{
	return empty_bounding() != 0 ? -1 : lock_securebits();
}

int
sbx_caps_drop_all(void)
{
	static const struct sets none;

	/* First what needs a capability. */
	if (sbx_caps_seal() != 0)
		return -1;
	if (prctl(PR_CAP_AMBIENT, (unsigned long)PR_CAP_AMBIENT_CLEAR_ALL, 0UL, 0UL, 0UL) != 0)
		return -1;
	return set_sets(&none);
}

/* What is not inheritable cannot be ambient (Linux 4.3). */
int
sbx_caps_set(uint64_t permitted, uint64_t effective)
{
	struct sets sets = { .half = {
				     { .permitted = (uint32_t)permitted,
					     .effective = (uint32_t)effective },
				     { .permitted = (uint32_t)(permitted >> 32),
					     .effective = (uint32_t)(effective >> 32) },
			     } };

	return set_sets(&sets);
}

int
sbx_caps_are_empty(void)
{
	struct sets sets;

	if (get_sets(&sets) != 0)
		return -1;
	/* Ambient ones are always permitted and inheritable too. */
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		if ((sets.half[i].permitted | sets.half[i].effective | sets.half[i].inheritable) !=
			0)
			return 0;
	for (unsigned capability = 0; capability < CAPABILITY_MAX; capability++) {
		int has = is_bounding(capability);

		if (has < 0)
			break;
		if (has)
			return 0;
	}
	return 1;
}

int
sbx_caps_have(unsigned capability)
{
	struct sets sets;

	if (capability >= CAPABILITY_MAX || get_sets(&sets) != 0)
		return 0;
	return (sets.half[capability / 32].effective >> (capability % 32)) & 1;
}
