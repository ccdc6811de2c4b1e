/*
 * --dry-run: the spec is read and the rules are asked as for a provision, then the mechanism tells
 * which commands it would run. Runs none of them, makes nothing.
 */
#include "base/scoped.h"
#include "data/json_out.h"
#include "provision.h"

#define LINES_MAX ((size_t)4 * 1024 * 1024)

static void
add_call(void *arg, char *const *argv)
{
	struct sbx_json_out json;

	sbx_json_out_init(&json, arg);
	sbx_json_out_object(&json, NULL);
	sbx_json_out_string(&json, "type", "call");
	sbx_json_out_array(&json, "argv");
	for (; *argv != NULL; argv++)
		sbx_json_out_string(&json, NULL, *argv);
	sbx_json_out_end(&json);
	sbx_json_out_end(&json);
	if (sbx_json_out_line(&json, "call record", NULL) < 0)
		return; /* the buffer keeps that in mind, and is asked at the end */
}

int
provision_dry_run(const struct sbx_tool *tool, const struct sbx_spec *spec, struct sbx_err *err)
{
	SBX_AUTO_BUF lines = SBX_BUF_INIT(LINES_MAX);
	struct sbx_provision job;

	if (sbx_provision_init(tool, spec, &job, err) < 0)
		return -1;
	if (job.mech->dry_run == NULL)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "mechanism %s runs no commands",
			job.mech->name);
	sbx_provision_record(&job);
	if (job.mech->dry_run(&tool->host, spec, &job.record, add_call, &lines, err) < 0 ||
		sbx_buf_check(&lines, "the calls", err) < 0)
		return -1;
	return sbx_tool_print(&lines, err);
}
