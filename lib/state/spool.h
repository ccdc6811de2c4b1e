/*
 * env/<id>/spool/: outputs that were longer than what a result keeps, a file each, named by their
 * age. They go with the environment, and the oldest when there are more bytes than may be.
 */
#ifndef SBX_STATE_SPOOL_H
#define SBX_STATE_SPOOL_H

#include <stdint.h>

#include "base/err.h"
#include "state/env.h"

#define SBX_SPOOL_NAME_SIZE 64

/*
 * A new file for at most most_bytes, made room for by removing the oldest beyond total_bytes: its
 * descriptor and its name, "<16 hex digits of its time>-<8 random>.<kind>". SBX_E_QUOTA if
 * most_bytes is over total_bytes, SBX_E_IO otherwise. kind is "stdout" or "stderr".
 */
int sbx_spool_open(const struct sbx_env *env, const char *kind, uint64_t most_bytes,
	uint64_t total_bytes, char name[SBX_SPOOL_NAME_SIZE], struct sbx_err *err)
	__attribute__((warn_unused_result));

#endif
