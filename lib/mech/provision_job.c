/*
 * What a provision sets out from: which mechanism, whether the rules let it run here, the id, the
 * times, and the record as it is before anything is made. Touches nothing.
 */
#include "mech/provision.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/path.h"
#include "base/scoped.h"

/* Every text of a spec fits its place in the record: their bounds are the same. */
#define PUT(place, text) snprintf(place, sizeof(place), "%s", text)

void
sbx_provision_record(struct sbx_provision *job)
{
	const struct sbx_spec *spec = job->spec;
	struct sbx_env_record *record = &job->record;

	*record = (struct sbx_env_record){
		.state = SBX_ENV_PROVISIONING,
		.epoch = spec->epoch,
		.created_wall_ms = job->now_wall_ms,
		.created_boot_ms = sbx_clock_boot_ms(),
		.limits = spec->limits,
		.tmp_bytes = spec->tmp_bytes != 0 ? spec->tmp_bytes : job->tool->config.tmp_bytes,
		.storage_memory = spec->storage_memory,
		.slot = -1,
		.uid = -1,
		.gid = -1,
	};
	record->expires_wall_ms = record->created_wall_ms + job->expires_ms;
	record->expires_boot_ms = record->created_boot_ms + job->expires_ms;
	PUT(record->id, job->id);
	PUT(record->tenant, spec->tenant);
	PUT(record->run, spec->run);
	PUT(record->mechanism, job->mech->name);
	PUT(record->boot_id, sbx_clock_boot_id());
	PUT(record->image, spec->image != NULL ? spec->image : "");
}

/* Which mechanism, and whether it may run here: before anything is touched. */
static int
choose(struct sbx_provision *job, struct sbx_err *err)
{
	const struct sbx_config *config = &job->tool->config;
	const char *name = job->spec->mechanism != NULL ? job->spec->mechanism : config->mechanism;
	const char *warning;

	if (sbx_mech_rules_by_name(name, config, job->spec->storage_memory, &warning, err) < 0)
		return -1;
	job->mech = sbx_mech_find(name, err);
	if (job->mech == NULL)
		return -1;
	if (warning != NULL)
		sbx_log(SBX_LOG_WARN, "%s", warning);
	return 0;
}

/* Nothing is begun that could not be removed again: trees are only walked by openat2. */
static int
can_remove(const struct sbx_tool *tool, struct sbx_err *err)
{
	SBX_AUTO_FD fd = sbx_path_open_beneath(tool->state.root_fd, "env", O_PATH | O_DIRECTORY, 0);

	if (fd >= 0)
		return 0;
	sbx_fail_sys(err, SBX_E_UNAVAILABLE, "openat2: open the state directory");
	return sbx_fail_hint(err,
		"it came with Linux 5.6; a container's seccomp filter may hide it");
}

int
sbx_provision_init(const struct sbx_tool *tool, const struct sbx_spec *spec,
	struct sbx_provision *job, struct sbx_err *err)
{
	*job = (struct sbx_provision){ .tool = tool, .spec = spec };
	if (choose(job, err) < 0 || can_remove(tool, err) < 0)
		return -1;
	sbx_spec_env_id(spec->tenant, spec->run, spec->epoch, job->id);
	job->now_wall_ms = sbx_clock_wall_ms();
	job->expires_ms = (int64_t)tool->config.lease_ms;
	if (spec->expires_ms != 0)
		job->expires_ms = (int64_t)spec->expires_ms;
	return 0;
}
