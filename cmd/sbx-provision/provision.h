/*
 * sbx-provision: a spec in, an environment and its record out. The flow: options, delegate, input,
 * claim, build; or probe, dry run or resolve, which build nothing.
 */
#ifndef SBX_PROVISION_H
#define SBX_PROVISION_H

#include "base/err.h"
#include "base/opt.h"
#include "data/spec.h"
#include "mech/mech.h"
#include "mech/tool.h"
#include "state/env.h"

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

/* One provision on its way; borrows the tool and the spec. */
struct provision_job {
	const struct sbx_tool *tool;
	const struct sbx_spec *spec;
	const struct sbx_mech *mech;
	int64_t started_us; /* when main began */
	int64_t now_wall_ms, expires_ms; /* of the environment, should it be made now */
	char id[SBX_ENV_ID_SIZE];
	struct sbx_env env; /* locked from claim on */
	struct sbx_env_record record;
	struct sbx_mech_birth *birth; /* what runs and is not kept yet; NULL */
};

/*
 * delegate.c: as a plain user whose control groups are required but not delegated, run this program
 * again by `systemd-run --user --scope -p Delegate=yes`, if that works here: then this does not
 * return. 0: go on, and let the mechanism say what is missing.
 */
int provision_delegate(const struct sbx_tool *tool, const struct provision_options *options,
	char **argv, struct sbx_err *err) __attribute__((warn_unused_result));

/* input.c: the spec, from the options, a file or stdin. The caller calls sbx_spec_done() always. */
int provision_input(const struct provision_options *options, const struct sbx_config *config,
	struct sbx_spec *spec, struct sbx_err *err) __attribute__((warn_unused_result));

/*
 * claim.c: lock the environment of the job's id. 1: it is ready already and its record filled in;
 * 0: it is ours to make, nothing of it exists but the locked directory. Waits up to 60 s for one
 * that provisions or releases it. SBX_E_CONFLICT, SBX_E_RELEASING, SBX_E_EXPIRED, SBX_E_CANCELLED.
 */
int provision_claim(struct provision_job *job, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* job.c: the mechanism by its rules, the id and the times of the job; its record, not yet written. */
int provision_job_init(const struct sbx_tool *tool, const struct sbx_spec *spec,
	struct provision_job *job, struct sbx_err *err) __attribute__((warn_unused_result));
void provision_job_record(struct provision_job *job);

/* build.c: everything, from the spec to the record on stdout. On failure nothing is left. */
int provision_build(const struct sbx_tool *tool, const struct sbx_spec *spec, int64_t started_us,
	struct sbx_err *err) __attribute__((warn_unused_result));

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
