/*
 * A program of the host that we start and talk to: its three standard descriptors are ours to give,
 * nothing else is inherited, it is in a session of its own so that a terminal's signals reach us
 * alone, its signal mask and dispositions are the default ones.
 */
#ifndef SBX_BASE_CHILD_H
#define SBX_BASE_CHILD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

struct sbx_child_plan {
	char *const *argv; /* argv[0] is found by PATH */
	int stdio[3]; /* borrowed; -1: /dev/null */
	int keep_fd; /* one more that it inherits under its own number (a lock); -1: none */
	int dies_with_us; /* SIGKILL when we end (PR_SET_PDEATHSIG) */
};

/*
 * Start it: 0 and *pid, or -1 with SBX_E_NOT_FOUND (no such program), SBX_E_DENIED, SBX_E_INTERNAL.
 * Whether it could be executed is known on return. The caller waits for it.
 */
int sbx_child_start(const struct sbx_child_plan *plan, pid_t *pid, struct sbx_err *err)
	__attribute__((warn_unused_result));

struct sbx_child_talk {
	const char *input; /* to its stdin; NULL: /dev/null */
	size_t input_bytes;
	struct sbx_buf *out, *said; /* stdout and stderr, up to their caps; NULL: dropped */
	int64_t timeout_ms;
	int keep_fd; /* as above */
	int (*stop)(
		void); /* asked at least every 250 ms; NULL: nobody. 1: kill it, SBX_E_CANCELLED */
};

/*
 * Start it, feed it, collect what it says, wait for it: its status as wait(2) in *status, or -1 as
 * above, with SBX_E_TIMEOUT when it was killed at the deadline, SBX_E_CANCELLED by stop(),
 * SBX_E_TOO_LARGE when `out` met its cap (`said` is cut silently). In each case it has been waited
 * for. A child of its that keeps the pipes does not keep us; one that was killed takes its children
 * along. SIGPIPE has to be ignored where there is input.
 */
int sbx_child_talk(char *const *argv, const struct sbx_child_talk *talk, int *status,
	struct sbx_err *err) __attribute__((warn_unused_result));

#endif
