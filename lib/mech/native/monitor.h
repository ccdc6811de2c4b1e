/*
 * Memory that no control group bounds is watched from outside, every 100 ms; between two looks
 * anything may happen. Without groups (cgroup: best-effort, which is why it is an explicit choice)
 * the resident memory of all processes of the environment is added up. With v1 groups it is what TCP
 * buffers hold: the kernel counts them apart from all other memory and lets them pass their limit.
 */
#ifndef SBX_MECH_NATIVE_MONITOR_H
#define SBX_MECH_NATIVE_MONITOR_H

#include <stdint.h>

#include "base/err.h"

struct sbx_native_monitor;

/* Watch the descendants of init_pid. NULL with err on failure. */
struct sbx_native_monitor *sbx_native_monitor_make(int64_t init_pid, uint64_t limit_bytes,
	struct sbx_err *err) __attribute__((warn_unused_result));
/* Watch a v1 memory group (borrowed); NULL without err->code where the kernel does not count TCP. */
struct sbx_native_monitor *sbx_native_monitor_make_v1(int group_fd, uint64_t limit_bytes,
	struct sbx_err *err) __attribute__((warn_unused_result));
void sbx_native_monitor_free(struct sbx_native_monitor *monitor); /* NULL is fine */
int sbx_native_monitor_fd(const struct sbx_native_monitor *monitor); /* readable: time to check */
int sbx_native_monitor_check(struct sbx_native_monitor *monitor); /* 1: over the limit */
uint64_t sbx_native_monitor_peak(const struct sbx_native_monitor *monitor);

#endif
