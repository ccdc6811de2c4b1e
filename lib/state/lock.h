/* Waiting for a lock that the kernel frees when its holder dies. */
#ifndef SBX_STATE_LOCK_H
#define SBX_STATE_LOCK_H

#include <stdint.h>

/*
 * flock(2) exclusively, waiting until deadline_mono_ms of sbx_clock_mono_ms() at most. 0, or -1 with
 * errno: EWOULDBLOCK when another holds it still.
 */
int sbx_lock_wait(int fd, int64_t deadline_mono_ms) __attribute__((warn_unused_result));

/*
 * 1 if fd is what `name` beneath dir_fd stands for now: a lock on something that was renamed away or
 * removed while we waited protects nothing.
 */
int sbx_lock_is_current(int fd, int dir_fd, const char *name);

#endif
