/*
 * Release of one environment, told part by part as one record.
 */
#include "data/errors.h"
#include "data/json_out.h"
#include "mech/release.h"
#include "reap.h"

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

int
reap_release(const struct sbx_tool *tool, const char *id, int *status, struct sbx_err *err)
{
	struct sbx_release release;

	if (sbx_release(tool, id, &release, err) < 0)
		return -1;
	if (release.stays.code != SBX_OK)
		*status = sbx_code_exit(release.stays.code);
	return print(&release.record, &release.report, release.stays.code == SBX_OK, err);
}
