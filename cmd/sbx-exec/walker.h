/* A snapshot that the mechanism takes; for changes.c alone. */
#ifndef SBX_EXEC_WALKER_H
#define SBX_EXEC_WALKER_H

#include "run.h"

/*
 * before_fd is the earlier snapshot's file, taken also on failure; -1: there is none. The new one is
 * put into the sink from the loop, and then over(hold, err) is called, once and last, which frees
 * the walker; err->code is SBX_OK if all of it came.
 */
struct exec_walker *exec_walker_start(struct exec_hold *hold, int before_fd, int quiet,
	const struct sbx_snap_sink *sink, void (*over)(struct exec_hold *hold, struct sbx_err *err),
	struct sbx_err *err) __attribute__((warn_unused_result));
void exec_walker_free(struct exec_walker *walker); /* ends it; NULL is fine */

#endif
