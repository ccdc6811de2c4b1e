/*
 * Release of one environment: whoever builds it is waited for, then it refuses new work, and then
 * every part goes. What cannot go keeps its record for the next try.
 */
#include "mech/release.h"

#include <string.h>

#include "base/log.h"

#define WAIT_MS 60000

/*
 * The record, or what has to be assumed without one. Nothing is made before state.json, so where it
 * is missing there is only a directory; where it is damaged, the configured mechanism finds its own
 * objects by the id, and so does the slot.
 */
static int
read_record(const struct sbx_env *env, struct sbx_env_record *record, struct sbx_err *err)
{
	struct sbx_err damaged = { 0 };

	if (sbx_env_read(env, record, &damaged) == 0)
		return 0;
	if (damaged.code != SBX_E_NOT_FOUND && damaged.code != SBX_E_CORRUPT) {
		*err = damaged;
		return -1;
	}
	sbx_log_err(&damaged);
	memset(record, 0, sizeof(*record));
	memcpy(record->id, env->id, sizeof(env->id));
	record->slot = record->uid = record->gid = -1;
	return 0;
}

/* The lock is held, and signals are. */
static int
release_locked(const struct sbx_tool *tool, struct sbx_env *env, struct sbx_release *release,
	struct sbx_err *err)
{
	const char *name = tool->config.mechanism;
	struct sbx_env_record *record = &release->record;
	const struct sbx_mech *mech;
	struct sbx_err unwritten = { 0 };

	if (read_record(env, record, err) < 0)
		return -1;
	if (record->mechanism[0] != '\0')
		name = record->mechanism;
	mech = sbx_mech_find(name, err);
	if (mech == NULL)
		return -1;
	/*
	 * From here on new commands are refused, and a crash is a release to be finished. A disk that
	 * is full must not keep what fills it.
	 */
	record->state = SBX_ENV_RELEASING;
	if (record->mechanism[0] != '\0' && sbx_env_write(env, record, &unwritten) < 0)
		sbx_log_err(&unwritten);
	if (sbx_teardown(&tool->host, mech, env, record, &release->report, &release->stays) < 0)
		sbx_log_err(&release->stays);
	return 0;
}

int
sbx_release(const struct sbx_tool *tool, const char *id, struct sbx_release *release,
	struct sbx_err *err)
{
	struct sbx_env env;
	int failed, no_record;

	memset(release, 0, sizeof(*release));
	if (sbx_env_sweep_remnant(&tool->state, id, err) < 0 ||
		sbx_env_lock(&tool->state, id, 0, WAIT_MS, &env, &no_record, err) < 0)
		return -1;
	sbx_tool_defer();
	failed = release_locked(tool, &env, release, err);
	sbx_env_close(&env);
	return failed;
}
