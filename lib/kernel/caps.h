/* Capabilities (capabilities(7)), by raw system calls: this also runs in the static pid 1. */
#ifndef SBX_KERNEL_CAPS_H
#define SBX_KERNEL_CAPS_H

#include <stdint.h>

/*
 * Leave no capability anywhere: bounding set emptied, ambient cleared, permitted, effective and
 * inheritable 0, securebits NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE locked. Needs
 * CAP_SETPCAP in the own user namespace for the bounding set and securebits, which are skipped
 * when they are empty and locked already. 0, or -1 with errno. Async-signal-safe.
 */
int sbx_caps_drop_all(void) __attribute__((warn_unused_result));

/*
 * The first half alone: bounding set and securebits, the other sets kept. pid 1 does this once, so
 * that each command inherits it: emptying the bounding set takes a system call a capability, 60 us
 * together. 0, or -1 with errno.
 */
int sbx_caps_seal(void) __attribute__((warn_unused_result));

/*
 * Permitted and effective become these (a bit for each capability; never more than was permitted),
 * inheritable and ambient are emptied; bounding set and securebits stay. 0, or -1 with errno.
 */
int sbx_caps_set(uint64_t permitted, uint64_t effective) __attribute__((warn_unused_result));

/* 1 if the process has none in any set, the bounding set included; 0 if it has; -1 with errno. */
int sbx_caps_are_empty(void);

int sbx_caps_have(unsigned capability); /* effective: 1 or 0 */

#endif
