/*
 * Where there are no control groups (cgroup: best-effort), memory is watched from outside: every
 * 100 ms the resident memory of all processes of the environment is added up. It reports what it
 * saw; between two looks anything may happen, which is why it is an explicit choice.
 */
#ifndef SBX_MECH_NATIVE_MONITOR_H
#define SBX_MECH_NATIVE_MONITOR_H

#include <stdint.h>

#include "base/err.h"

struct sbx_native_monitor;

/* Watch the descendants of init_pid. NULL with err on failure. */
struct sbx_native_monitor *sbx_native_monitor_make(int64_t init_pid, uint64_t limit_bytes,
	struct sbx_err *err) __attribute__((warn_unused_result));
void sbx_native_monitor_free(struct sbx_native_monitor *monitor); /* NULL is fine */
int sbx_native_monitor_fd(const struct sbx_native_monitor *monitor); /* readable: time to check */
int sbx_native_monitor_check(struct sbx_native_monitor *monitor); /* 1: over the limit */
uint64_t sbx_native_monitor_peak(const struct sbx_native_monitor *monitor);

#endif
