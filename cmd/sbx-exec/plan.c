/*
 * How the command will be run: a function of the request, the environment's record and the options.
 * Opens nothing and reads no clock.
 */
#include "exec.h"

#include <inttypes.h>
#include <string.h>

#define STRINGS_MAX (1024 * 1024) /* argv and variables together, each with its NUL */

static int
plan_time(const struct exec_options *options, const struct exec_target *target,
	struct exec_plan *plan, struct sbx_err *err)
{
	uint64_t most_ms = target->record.limits.wall_ms;

	if (options->timeout_ms > most_ms) {
		sbx_fail(err, SBX_E_BAD_REQUEST,
			"--timeout: %" PRIu64
			" ms is over the environment's wall_time limit of %" PRIu64 " ms",
			options->timeout_ms, most_ms);
		return sbx_fail_hint(err, "limits.wall_time of the spec sets it");
	}
	plan->limit_ms = options->timeout_ms != 0 ? options->timeout_ms : most_ms;
	plan->overrun = SBX_REASON_TIMEOUT;
	if ((uint64_t)target->left_ms < plan->limit_ms) {
		plan->limit_ms = (uint64_t)target->left_ms;
		plan->overrun = SBX_REASON_EXPIRED;
	}
	return 0;
}

static size_t
strings_bytes(char *const *strings)
{
	size_t bytes = 0;

	for (; *strings != NULL; strings++)
		bytes += strlen(*strings) + 1;
	return bytes;
}

int
exec_plan_make(const struct exec_options *options, const struct exec_request *request,
	const struct exec_target *target, char *const *caller, struct exec_plan *plan,
	struct sbx_err *err)
{
	char *asked[sizeof(options->env.items) / sizeof(options->env.items[0]) + 1] = { NULL };
	const struct sbx_config *config = &target->tool.config;
	size_t bytes;

	if (plan_time(options, target, plan, err) < 0)
		return -1;
	plan->output_bytes = (size_t)(options->output_bytes != 0 ? options->output_bytes :
								   config->output_bytes);
	/* The list is of const strings and the builder's parameter is shaped like execve's. */
	memcpy(asked, options->env.items, options->env.count * sizeof(asked[0]));
	if (sbx_cmd_env_build(caller, &config->pass_env, target->variables, asked, &plan->variables,
		    err) < 0)
		return -1;
	bytes = strings_bytes(request->argv) + strings_bytes(plan->variables.items);
	if (bytes > STRINGS_MAX)
		return sbx_fail(err, SBX_E_BAD_REQUEST,
			"the command and its variables have %zu bytes, at most %d", bytes,
			STRINGS_MAX);
	return 0;
}
