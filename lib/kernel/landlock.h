/*
 * Landlock (landlock(7)): what may be written, and that a command cannot signal, trace or reach the
 * abstract sockets of anything outside its own domain. Reads are governed by what is mounted, so
 * read rights are not handled and cost nothing.
 */
#ifndef SBX_KERNEL_LANDLOCK_H
#define SBX_KERNEL_LANDLOCK_H

#include <stddef.h>

#include "base/err.h"

int sbx_landlock_abi(void); /* 0 if the kernel has none or it is not enabled */

/*
 * A ruleset for commands: every write right that this kernel's ABI knows is handled, and allowed
 * only beneath `trees` (open directories; all write rights) and on `files` (open files or devices:
 * write, truncate and device ioctl). Scopes (signals, abstract sockets) where the ABI has them (6).
 * The descriptors are borrowed. Answers the ruleset's descriptor (close-on-exec), owned by the
 * caller; SBX_E_UNAVAILABLE below ABI 2.
 */
int sbx_landlock_make(const int *trees, size_t tree_count, const int *files, size_t file_count,
	struct sbx_err *err) __attribute__((warn_unused_result));

/* Enter a new domain made of this ruleset: 0, or -1 with errno. Needs no_new_privs. */
int sbx_landlock_enter(int ruleset_fd) __attribute__((warn_unused_result));

/* What the newest ABI of this kernel adds, for `enforced`: "landlock:7". Static text. */
const char *sbx_landlock_name(void);
const char *sbx_landlock_name_of(int abi); /* of an ABI that another kernel or process told */

#endif
