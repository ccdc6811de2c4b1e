/* The end of an environment, whoever asks for it: a release, a sweep, a provision that failed. */
#ifndef SBX_MECH_TEARDOWN_H
#define SBX_MECH_TEARDOWN_H

#include <stddef.h>

#include "base/err.h"
#include "mech/mech.h"
#include "state/env.h"

struct sbx_teardown_part {
	const char *name; /* static: "mechanism", "workspace", "slot", "directory" */
	int gone;
	struct sbx_err err; /* why it is not */
};

/* What became of each part, in the order in which they were tried. */
struct sbx_teardown {
	struct sbx_teardown_part parts[4];
	size_t count;
};

/*
 * Take down all that the record names: what the mechanism made, the workspace, the slot, and last
 * the directory with the record itself. A failing part does not stop the others, but what depends
 * on it stays: a slot is freed only when nothing of its uid can be left, and the record goes only
 * when all else is gone. Otherwise it is written again in state `failed`, the reason is added to
 * log.ndjson, and -1 returned with the first error.
 *
 * env is locked; on success its descriptors are closed, on failure the caller closes.
 */
int sbx_teardown(const struct sbx_mech_host *host, const struct sbx_mech *mech, struct sbx_env *env,
	struct sbx_env_record *record, struct sbx_teardown *report, struct sbx_err *err)
	__attribute__((warn_unused_result));

#endif
