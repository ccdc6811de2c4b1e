/*
 * Work on the workspace that is ours and nobody asked for: where only the mechanism sees it. For
 * changes.c and watch.c.
 */
#ifndef SBX_EXEC_WALKER_H
#define SBX_EXEC_WALKER_H

#include "run.h"

/*
 * SNAPSHOT or MEASURE of the whole workspace. What comes in is before_fd, taken also on failure; -1:
 * nothing. The answer is put into the sink from the loop, and then over(hold, err) is called, once
 * and last, which frees the walker; err->code is SBX_OK if all of it came.
 */
struct exec_walker *exec_walker_start(struct exec_hold *hold, enum sbx_files_op op, uint32_t flags,
	int before_fd, const struct sbx_snap_sink *sink,
	void (*over)(struct exec_hold *hold, struct sbx_err *err), struct sbx_err *err)
	__attribute__((warn_unused_result));
void exec_walker_free(struct exec_walker *walker); /* ends it; NULL is fine */

#endif
