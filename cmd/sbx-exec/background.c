/*
 * What background commands left in an environment: told and ended, for a stream of requests and for
 * a command line.
 */
#include "exec.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/scoped.h"
#include "data/json.h"
#include "data/json_out.h"
#include "run.h"

int
exec_background_parse(const char *name, const char *what, int *number, struct sbx_err *err)
{
	uint64_t value = 0;

	if (name[0] != 'b' ||
		sbx_num_u64(name + 1, 0, SBX_MECH_BACKGROUND_MAX - 1, what, &value, NULL) < 0)
		return sbx_fail(err, SBX_E_BAD_REQUEST,
			"%s: \"%.32s\" is not a background command (b0 to b%d)", what, name,
			SBX_MECH_BACKGROUND_MAX - 1);
	*number = (int)value;
	return 0;
}

static int
check(const struct exec_hold *hold, struct sbx_err *err)
{
	if (exec_target_ready(hold->target, err) < 0)
		return -1;
	if (hold->target->mech->background != NULL)
		return 0;
	return sbx_fail(err, SBX_E_UNAVAILABLE, "mechanism %s keeps no process beyond its command",
		hold->target->mech->name);
}

int
exec_background_list(struct exec_hold *hold, const char *id, struct sbx_buf *line,
	struct sbx_err *err)
{
	struct sbx_mech_background list[SBX_MECH_BACKGROUND_MAX];
	struct sbx_json_out out;
	char name[16];
	int count;

	if (check(hold, err) < 0 || exec_hold_session(hold, err) < 0)
		return -1;
	count = hold->target->mech->background(hold->session, list, err);
	if (count < 0)
		return -1;
	sbx_json_out_init(&out, line);
	sbx_json_out_object(&out, NULL);
	sbx_json_out_string(&out, "type", "background");
	if (id != NULL)
		sbx_json_out_raw(&out, "id", id, strlen(id));
	else
		sbx_json_out_null(&out, "id");
	sbx_json_out_string(&out, "env", hold->target->record.id);
	sbx_json_out_array(&out, "commands");
	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "b%d", list[i].number);
		sbx_json_out_object(&out, NULL);
		sbx_json_out_string(&out, "background", name);
		sbx_json_out_u64(&out, "processes", list[i].processes);
		sbx_json_out_u64(&out, "cpu_ms", list[i].cpu_us / 1000);
		sbx_json_out_end(&out);
	}
	sbx_json_out_end(&out);
	sbx_json_out_end(&out);
	return sbx_json_out_line(&out, "list", err);
}

int
exec_background_end(struct exec_hold *hold, int number, struct sbx_err *err)
{
	if (check(hold, err) < 0 || exec_hold_session(hold, err) < 0)
		return -1;
	return hold->target->mech->end_background(hold->session, number, err);
}

int
exec_background(const struct exec_options *options, struct exec_hold *hold, struct sbx_err *err)
{
	SBX_AUTO_BUF line = SBX_BUF_INIT(SBX_JSON_LINE_MAX);
	int number = 0;

	if (options->end_background != NULL &&
		(exec_background_parse(options->end_background, "--end-background", &number, err) <
				0 ||
			exec_background_end(hold, number, err) < 0))
		return -1;
	/* What is left is the answer in both cases. */
	if (exec_background_list(hold, NULL, &line, err) < 0)
		return -1;
	return sbx_tool_print(&line, err);
}
