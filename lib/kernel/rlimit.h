/* Resource limits of commands (getrlimit(2)): a second fence beside the control groups. */
#ifndef SBX_KERNEL_RLIMIT_H
#define SBX_KERNEL_RLIMIT_H

#include <stdint.h>

struct sbx_rlimits {
	/* Each: 0 is unchanged. */
	uint64_t nproc; /* in an own user namespace it counts that namespace (Linux 5.14) */
	uint64_t fsize_bytes; /* of memfds and shared memory too */
	uint64_t nofile;
};

/*
 * Set soft and hard: NPROC, FSIZE, NOFILE as given; CORE exactly 1 (a pipe in core_pattern ignores
 * 0, but the kernel skips a piped dump at 1); MEMLOCK, MSGQUEUE, NICE, RTPRIO 0; SIGPENDING 1,024.
 * Never RLIMIT_AS: Node, Go and Java reserve address space. Where a hard limit is lower already and
 * the process may not raise it, the lower one stays, without an error. 0, or -1 with errno.
 */
int sbx_rlimit_apply(const struct sbx_rlimits *limits) __attribute__((warn_unused_result));

#endif
