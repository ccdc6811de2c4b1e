/*
 * What a tree takes up, in steps: blocks allocated (a file of several names once) and names. Opens
 * nothing but directories, enters no mount, follows no link. Musl-clean: it is part of sbx-init.
 */
#ifndef SBX_WORKSPACE_MEASURE_H
#define SBX_WORKSPACE_MEASURE_H

#include "base/err.h"
#include "workspace/workspace.h"

struct sbx_measure;
/* `dir` stays the caller's. NULL with err. */
struct sbx_measure *sbx_measure_begin(int dir, struct sbx_err *err)
	__attribute__((warn_unused_result));
/*
 * Go on for about budget_us: 1 there is more, 0 all was counted that may be, -1: the tree was moved
 * under us, or a disk failed. May be asked for what was counted so far after each step: that
 * much is there at least, if nobody writes.
 */
int sbx_measure_step(struct sbx_measure *measure, int64_t budget_us, struct sbx_err *err)
	__attribute__((warn_unused_result));
const struct sbx_files_measured *sbx_measure_total(const struct sbx_measure *measure);
/* A directory may not be read: what it holds is missing, and all else is counted. */
int sbx_measure_is_partial(const struct sbx_measure *measure);
void sbx_measure_end(struct sbx_measure *measure); /* NULL is fine */

#endif
