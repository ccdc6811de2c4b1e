/*
 * Release of one environment: whoever builds it is waited for, then it refuses new work, and then
 * every part goes. What cannot go keeps its record for the next try.
 */
#include <string.h>

#include "base/log.h"
#include "data/errors.h"
#include "data/json_out.h"
#include "mech/teardown.h"
#include "reap.h"

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

static int
print(const struct sbx_env_record *record, const struct sbx_teardown *report, int ok,
	struct sbx_err *err)
{
	SBX_AUTO_BUF line = SBX_BUF_INIT(16 * 1024);
	struct sbx_json_out json;

	sbx_json_out_init(&json, &line);
	sbx_json_out_object(&json, NULL);
	sbx_json_out_string(&json, "type", "reaped");
	sbx_json_out_string(&json, "env", record->id);
	sbx_json_out_string(&json, "tenant", record->tenant);
	sbx_json_out_string(&json, "run", record->run);
	sbx_json_out_i64(&json, "epoch", record->epoch);
	sbx_json_out_string(&json, "mechanism", record->mechanism);
	sbx_json_out_string(&json, "reason", "released");
	sbx_json_out_array(&json, "parts");
	for (size_t i = 0; i < report->count; i++) {
		const struct sbx_teardown_part *part = &report->parts[i];

		sbx_json_out_object(&json, NULL);
		sbx_json_out_string(&json, "part", part->name);
		sbx_json_out_bool(&json, "gone", part->gone);
		if (!part->gone)
			sbx_json_out_string(&json, "error", part->err.msg);
		sbx_json_out_end(&json);
	}
	sbx_json_out_end(&json);
	sbx_json_out_bool(&json, "ok", ok);
	sbx_json_out_end(&json);
	if (sbx_json_out_line(&json, "reaped record", err) < 0)
		return -1;
	return sbx_tool_print(&line, err);
}

/* The lock is held, and signals are. */
static int
release(const struct sbx_tool *tool, struct sbx_env *env, int *status, struct sbx_err *err)
{
	const char *name = tool->config.mechanism;
	const struct sbx_mech *mech;
	struct sbx_env_record record;
	struct sbx_teardown report;
	struct sbx_err stays = { 0 }, unwritten = { 0 };

	if (read_record(env, &record, err) < 0)
		return -1;
	if (record.mechanism[0] != '\0')
		name = record.mechanism;
	mech = sbx_mech_find(name, err);
	if (mech == NULL)
		return -1;
	/*
	 * From here on new commands are refused, and a crash is a release to be finished. A disk that
	 * is full must not keep what fills it.
	 */
	record.state = SBX_ENV_RELEASING;
	if (record.mechanism[0] != '\0' && sbx_env_write(env, &record, &unwritten) < 0)
		sbx_log_err(&unwritten);
	if (sbx_teardown(&tool->host, mech, env, &record, &report, &stays) < 0) {
		sbx_log_err(&stays);
		*status = sbx_code_exit(stays.code);
	}
	return print(&record, &report, stays.code == SBX_OK, err);
}

int
reap_release(const struct sbx_tool *tool, const char *id, int *status, struct sbx_err *err)
{
	struct sbx_env env;
	int failed, no_record;

	if (sbx_env_sweep_remnant(&tool->state, id, err) < 0 ||
		sbx_env_lock(&tool->state, id, 0, WAIT_MS, &env, &no_record, err) < 0)
		return -1;
	sbx_tool_defer();
	failed = release(tool, &env, status, err);
	sbx_env_close(&env);
	return failed;
}
