/*
 * sbx-reap: the end of environments. --env releases one with all that was made for it; --list shows
 * what there is. Needs nothing that runs.
 */
#ifndef SBX_REAP_H
#define SBX_REAP_H

#include "base/err.h"
#include "base/opt.h"
#include "mech/tool.h"

struct reap_options {
	struct sbx_opt_common common;
	const char *env;
	int list, table;
};

extern const struct sbx_tool_about reap_about;

/*
 * release.c: release the environment and print its `reaped` record. SBX_E_NOT_FOUND; *status is the
 * exit status of a release that left something, which its record says.
 */
int reap_release(const struct sbx_tool *tool, const char *id, int *status, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* list.c: all environments, as `env` records or for people. */
int reap_list(const struct sbx_tool *tool, int table, struct sbx_err *err)
	__attribute__((warn_unused_result));

#endif
