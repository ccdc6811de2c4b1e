/*
 * How a command will be run: a function of what was asked and of the environment's record.
 * Opens nothing.
 */
#include "exec.h"

#include <inttypes.h>
#include <string.h>

#define STRINGS_MAX (1024 * 1024) /* argv and variables together, each with its NUL */

static int
plan_time(const struct exec_wish *wish, const struct exec_target *target, struct exec_plan *plan,
	struct sbx_err *err)
{
	uint64_t most_ms = target->record.limits.wall_ms;
	int64_t left_ms = sbx_env_left_ms(&target->record);

	if (left_ms <= 0)
		return sbx_fail(err, SBX_E_EXPIRED, "%s is past its expiry", target->record.id);
	if (wish->timeout_ms > most_ms) {
		sbx_fail(err, SBX_E_BAD_REQUEST,
			"%s: %" PRIu64 " ms is over the environment's wall_time limit of %" PRIu64
			" ms",
			wish->timeout_name, wish->timeout_ms, most_ms);
		return sbx_fail_hint(err, "limits.wall_time of the spec sets it");
	}
	plan->limit_ms = wish->timeout_ms != 0 ? wish->timeout_ms : most_ms;
	plan->overrun = SBX_REASON_TIMEOUT;
	if ((uint64_t)left_ms < plan->limit_ms) {
		plan->limit_ms = (uint64_t)left_ms;
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
exec_plan_make(const struct exec_wish *wish, const struct exec_target *target, char *const *caller,
	struct exec_plan *plan, struct sbx_err *err)
{
	const struct sbx_config *config = &target->tool.config;
	size_t bytes = 0;

	if (plan_time(wish, target, plan, err) < 0)
		return -1;
	plan->output_bytes = (size_t)(wish->output_bytes != 0 ? wish->output_bytes :
								config->output_bytes);
	if (sbx_cmd_env_build(caller, &config->pass_env, target->variables, wish->env,
		    &plan->variables, err) < 0)
		return -1;
	if (wish->files == NULL)
		bytes = strings_bytes(wish->argv) + strings_bytes(plan->variables.items);
	if (bytes > STRINGS_MAX)
		return sbx_fail(err, SBX_E_BAD_REQUEST,
			"the command and its variables have %zu bytes, at most %d", bytes,
			STRINGS_MAX);
	return 0;
}
