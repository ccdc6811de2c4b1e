/*
 * The environment that the command runs in: found in the state directory by its id, ready, not
 * expired, its mechanism known; or, of a spec, provisioned when it is first needed. Changes nothing
 * of one that is there.
 */
#include "exec.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/scoped.h"
#include "data/json.h"
#include "mech/provision.h"

static int
check_state(const struct exec_target *target, struct sbx_err *err)
{
	const struct sbx_env_record *record = &target->record;

	switch ((enum sbx_env_state)record->state) {
	case SBX_ENV_PROVISIONING:
		return sbx_fail(err, SBX_E_BUSY, "%s is still being provisioned", record->id);
	case SBX_ENV_RELEASING:
		return sbx_fail(err, SBX_E_RELEASING, "%s is being released", record->id);
	case SBX_ENV_FAILED:
		sbx_fail(err, SBX_E_UNAVAILABLE, "%s could not be provisioned", record->id);
		return sbx_fail_hint(err, "sbx-reap --env %s removes what is left of it",
			record->id);
	case SBX_ENV_READY:
		break;
	}
	if (sbx_env_left_ms(record) <= 0)
		return sbx_fail(err, SBX_E_EXPIRED, "%s is past its expiry", record->id);
	return 0;
}

/*
 * The variables out of spec.json. Only these: the rest was resolved when it was provisioned, and a
 * configuration that changed since must not judge it again.
 */
static int
read_variables(struct exec_target *target, struct sbx_err *err)
{
	SBX_AUTO_BUF spec = SBX_BUF_INIT(SBX_SPEC_MAX);
	SBX_AUTO_JSON doc = NULL;
	struct sbx_json object, key, value;
	size_t cursor = 0, count = 0;

	if (sbx_env_read_spec(&target->env, &spec, err) < 0)
		return -1;
	doc = sbx_json_parse(sbx_buf_str(&spec), spec.length, err);
	if (doc == NULL)
		return sbx_fail_wrap(err, "spec.json of %s", target->record.id);
	object = sbx_json_get(sbx_json_root(doc), "env");
	target->variables = sbx_mem_alloc(sbx_json_count(object) + 1, sizeof(char *));
	while (sbx_json_each(object, &cursor, &key, &value)) {
		SBX_AUTO_FREE char *name = NULL, *text = NULL;

		if (sbx_json_string(key, "spec.env", SBX_SPEC_MAX, &name, err) < 0 ||
			sbx_json_string(value, "spec.env", SBX_SPEC_MAX, &text, err) < 0)
			return -1;
		target->variables[count++] = sbx_mem_printf("%s=%s", name, text);
	}
	return 0;
}

/*
 * From here on nothing that we execute gains a right; but a plain user's environment with a subordinate
 * uid needs newuidmap(1) for whatever is done to its workspace.
 */
static void
lock_rights(const struct exec_target *target)
{
	int64_t uid = target->record.uid;

	if (geteuid() == 0 || uid < 0 || (uid_t)uid == geteuid())
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static int
open_env(struct exec_target *target, const char *env_id, struct sbx_err *err)
{
	if (sbx_env_open(&target->tool.state, env_id, &target->env, err) < 0)
		return -1;
	target->env_open = 1;
	if (sbx_env_read(&target->env, &target->record, err) < 0)
		return -1;
	if (check_state(target, err) < 0 || read_variables(target, err) < 0)
		return -1;
	target->mech = sbx_mech_find(target->record.mechanism, err);
	if (target->mech == NULL)
		return -1;
	lock_rights(target);
	return 0;
}

static void
close_env(struct exec_target *target)
{
	for (char **item = target->variables; item != NULL && *item != NULL; item++)
		free(*item);
	free(target->variables);
	target->variables = NULL;
	if (target->env_open)
		sbx_env_close(&target->env);
	target->env_open = 0;
}

int
exec_target_open(const struct exec_options *options, const char *env_id, char **argv,
	struct exec_target *target, struct sbx_err *err)
{
	if (sbx_tool_open(&options->common, &target->tool, err) < 0)
		return -1;
	target->tool_open = 1;
	if (options->spec == NULL)
		return open_env(target, env_id, err);
	if (sbx_provision_read_spec(options->spec, &target->tool.config, &target->spec, err) < 0)
		return -1;
	return sbx_delegate(&target->tool, target->spec.mechanism, argv, err);
}

int
exec_target_ready(struct exec_target *target, struct sbx_err *err)
{
	char id[SBX_ENV_ID_SIZE];

	if (target->env_open)
		return 0;
	sbx_spec_env_id(target->spec.tenant, target->spec.run, target->spec.epoch, id);
	if (sbx_provision(&target->tool, &target->spec, NULL, NULL, err) == 0 &&
		open_env(target, id, err) == 0)
		return 0;
	close_env(target);
	return -1;
}

void
exec_target_close(struct exec_target *target)
{
	close_env(target);
	sbx_spec_done(&target->spec);
	if (target->tool_open)
		sbx_tool_close(&target->tool);
}
