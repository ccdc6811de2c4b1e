/*
 * sbx-provision: a spec in, an environment and its record out. The flow: options, input, and then
 * the library's provision; or probe, dry run or resolve, which build nothing.
 */
#ifndef SBX_PROVISION_H
#define SBX_PROVISION_H

#include "base/err.h"
#include "base/opt.h"
#include "data/spec.h"
#include "mech/provision.h"

struct provision_options {
	struct sbx_opt_common common;
	int probe, table, dry_run;
	const char *resolve; /* a reference of an image */
	const char *spec; /* a file, "-": stdin */
	/* The spec by options; texts, since one reader checks them all. NULL: not given. */
	const char *tenant, *run, *epoch, *mechanism, *image, *storage, *proc, *expires, *tmp_bytes,
		*fake_script;
	const char *memory, *cpus, *pids, *timeout, *workspace_bytes, *workspace_inodes;
	int debug;
	struct sbx_opt_list env;
};

extern const struct sbx_tool_about provision_about;

/* input.c: the spec, from the options, a file or stdin. The caller calls sbx_spec_done() always. */
int provision_input(const struct provision_options *options, const struct sbx_config *config,
	struct sbx_spec *spec, struct sbx_err *err) __attribute__((warn_unused_result));

/* probe.c: try every mechanism; *works says whether the configured one can be used. */
int provision_probe(const struct sbx_tool *tool, int table, int *works, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* dry_run.c: the command lines that a provision of this spec would run, a record each. */
int provision_dry_run(const struct sbx_tool *tool, const struct sbx_spec *spec, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* resolve.c: the digest of a local image; mechanism NULL: the configured one. */
int provision_resolve(const struct sbx_tool *tool, const char *reference, const char *mechanism,
	struct sbx_err *err) __attribute__((warn_unused_result));

#endif
