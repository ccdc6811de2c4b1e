/*
 * From a spec to a live environment, for whoever needs one: its steps are the rules and the id
 * (provision_job.c), the claim (provision_claim.c), and the making (provision.c).
 */
#ifndef SBX_MECH_PROVISION_H
#define SBX_MECH_PROVISION_H

#include "data/spec.h"
#include "mech/mech.h"
#include "mech/tool.h"
#include "state/env.h"

/* One provision on its way; borrows the tool and the spec. */
struct sbx_provision {
	const struct sbx_tool *tool;
	const struct sbx_spec *spec;
	const struct sbx_mech *mech;
	int64_t now_wall_ms, expires_ms; /* of the environment, should it be made now */
	char id[SBX_ENV_ID_SIZE];
	struct sbx_env env; /* locked from claim on */
	struct sbx_env_record record;
	struct sbx_mech_birth *birth; /* what runs and is not kept yet; NULL */
};

/* Hear of an environment, whose lock is held; -1 undoes one that was just made. */
typedef int sbx_provision_fn(void *arg, const struct sbx_env_record *record, int created,
	struct sbx_err *err);

/*
 * The environment of this spec: the one that is there, or a new one, in which two that race agree.
 * `tell` (may be NULL) hears of it before it counts. On failure nothing of ours is left, or what is
 * left is named in the hint. Holds back the signals that would end the process (sbx_tool_defer())
 * and leaves them so; one that comes meanwhile is SBX_E_CANCELLED. Waits up to a minute for another
 * who provisions or releases it. SBX_E_CONFLICT: it exists with another spec; SBX_E_STALE_EPOCH,
 * SBX_E_EXPIRED, SBX_E_RELEASING, SBX_E_UNAVAILABLE and what the rules say.
 */
int sbx_provision(const struct sbx_tool *tool, const struct sbx_spec *spec, sbx_provision_fn *tell,
	void *arg, struct sbx_err *err) __attribute__((warn_unused_result));

/* A spec out of a file, whatever can be read to its end. The caller calls sbx_spec_done() always. */
int sbx_provision_read_spec(const char *path, const struct sbx_config *config,
	struct sbx_spec *spec, struct sbx_err *err) __attribute__((warn_unused_result));

/* ---- the steps */
/* The mechanism by its rules, the id and the times; touches nothing. */
int sbx_provision_init(const struct sbx_tool *tool, const struct sbx_spec *spec,
	struct sbx_provision *job, struct sbx_err *err) __attribute__((warn_unused_result));
void sbx_provision_record(struct sbx_provision *job); /* as it is before anything is made */
/*
 * Lock the environment of the id. 1: it is ready already and its record filled in; 0: it is ours to
 * make, nothing of it exists but the locked directory. SBX_E_CONFLICT, SBX_E_RELEASING,
 * SBX_E_EXPIRED, SBX_E_CANCELLED.
 */
int sbx_provision_claim(struct sbx_provision *job, struct sbx_err *err)
	__attribute__((warn_unused_result));

/*
 * delegate.c: as a plain user whose control groups are required but not delegated, run this program
 * again by `systemd-run --user --scope -p Delegate=yes`, if that works here: then this does not
 * return. 0: go on, and let the mechanism say what is missing. mechanism NULL: the configured one.
 */
int sbx_delegate(const struct sbx_tool *tool, const char *mechanism, char **argv,
	struct sbx_err *err) __attribute__((warn_unused_result));

#endif
