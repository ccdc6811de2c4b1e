/* sbx-reap(8): release an environment, or list them. */
#include "data/errors.h"
#include "reap.h"

/* Answers the exit status, or -1 with err. */
static int
run(const struct reap_options *options, struct sbx_err *err)
{
	struct sbx_tool tool;
	int status = SBX_EXIT_OK, failed;

	if ((options->env != NULL) + options->list != 1) {
		sbx_fail(err, SBX_E_USAGE, "one of --env ID and --list is needed");
		return sbx_fail_hint(err, "see --help");
	}
	if (sbx_tool_open(&options->common, &tool, err) < 0)
		return -1;
	if (options->list)
		failed = reap_list(&tool, options->table, err);
	else
		failed = reap_release(&tool, options->env, &status, err);
	sbx_tool_close(&tool);
	return failed < 0 ? -1 : status;
}

int
main(int argc, char **argv)
{
	struct reap_options options = { .env = NULL };
	struct sbx_err err = { 0 };
	int first = sbx_tool_begin(&reap_about, argc, argv, &options, &err);
	int status = -1;

	if (first == SBX_TOOL_DONE)
		return SBX_EXIT_OK;
	if (first >= 0 && first < argc)
		sbx_fail(&err, SBX_E_USAGE, "\"%.64s\" is not an option", argv[first]);
	else if (first >= 0)
		status = run(&options, &err);
	if (status < 0)
		status = sbx_tool_fail(&err, NULL);
	/* What came while something was half gone ends us now. */
	sbx_tool_undefer();
	return status;
}
