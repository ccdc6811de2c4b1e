/* Changes of the workspace as a result tells them; for changes.c alone. */
#ifndef SBX_EXEC_TOLD_H
#define SBX_EXEC_TOLD_H

#include "run.h"

/* Counts, the first changes, and where there are more the name of a file in the spool with all. */
void exec_told_changes(struct exec_told *told, const struct exec_target *target,
	const struct sbx_snap *before, const struct sbx_snap *now);
/* They go to another command, which ends later. */
void exec_told_shared(struct exec_told *told);
/* There is nothing to compare with, or it failed. */
void exec_told_unknown(struct exec_told *told, enum sbx_code why);

#endif
