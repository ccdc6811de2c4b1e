/* sbx-provision(8): make an environment from a spec, or say what would be done. */
#include "base/clock.h"
#include "base/scoped.h"
#include "data/errors.h"
#include "provision.h"

/* Its record is its answer: an environment that nobody heard of is taken down again. */
static int
print(void *arg, const struct sbx_env_record *record, int created, struct sbx_err *err)
{
	const int64_t *started_us = arg;
	SBX_AUTO_BUF line = SBX_BUF_INIT(64 * 1024);

	if (sbx_env_record_line(record, created, sbx_clock_mono_us() - *started_us, &line, err) < 0)
		return -1;
	return sbx_tool_print(&line, err);
}

/* Answers the exit status, or -1 with err. */
static int
run(const struct provision_options *options, char **argv, int64_t started_us, struct sbx_err *err)
{
	struct sbx_tool tool;
	struct sbx_spec spec;
	int status, works = 0;

	if (sbx_tool_open(&options->common, &tool, err) < 0)
		return -1;
	if (sbx_delegate(&tool, options->mechanism, argv, err) < 0) {
		status = -1;
	} else if (options->probe) {
		status = provision_probe(&tool, options->table, &works, err);
		if (status == 0 && !works)
			status = SBX_EXIT_UNAVAILABLE;
	} else if (options->resolve != NULL) {
		status = provision_resolve(&tool, options->resolve, options->mechanism, err);
	} else {
		status = provision_input(options, &tool.config, &spec, err);
		if (status == 0)
			status = options->dry_run ?
				provision_dry_run(&tool, &spec, err) :
				sbx_provision(&tool, &spec, print, &started_us, err);
		sbx_spec_done(&spec);
	}
	sbx_tool_close(&tool);
	return status;
}

int
main(int argc, char **argv)
{
	int64_t started_us = sbx_clock_mono_us();
	struct provision_options options = { .spec = NULL };
	struct sbx_err err = { 0 };
	int first = sbx_tool_begin(&provision_about, argc, argv, &options, &err);
	int status = -1;

	if (first == SBX_TOOL_DONE)
		return SBX_EXIT_OK;
	if (first >= 0 && first < argc)
		sbx_fail(&err, SBX_E_USAGE, "\"%.64s\" is not an option", argv[first]);
	else if (first >= 0)
		status = run(&options, argv, started_us, &err);
	if (status < 0)
		status = sbx_tool_fail(&err, NULL);
	/* What came while something was half made ends us now. */
	sbx_tool_undefer();
	return status;
}
