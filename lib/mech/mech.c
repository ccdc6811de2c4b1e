/*
 * The mechanisms by name, and the one table of what may run where. Decides before anything is
 * built; builds nothing and knows no mechanism's insides.
 */
#include "mech/mech.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum verdict {
	YES,
	NO,
	ACCEPT, /* only with accept_shared_kernel, and with a warning */
	SETUP, /* has to be configured first, and this version has nothing to configure it with */
};

/* Which storage a mechanism offers: results in memory only make sense where nothing runs. */
enum storage { DISK, DISK_OR_MEMORY };

struct rule {
	const char *name;
	const struct sbx_mech *mech; /* NULL: known, but not part of this version */
	enum verdict verdicts[3]; /* by enum sbx_deployment */
	enum storage storage;
};

static const struct rule rules[] = {
	/* name, mechanism, { evaluation, development, production }, storage */
	{ "native", &sbx_mech_native, { YES, YES, ACCEPT }, DISK },
	{ "bwrap", NULL, { YES, YES, ACCEPT }, DISK },
	{ "docker", &sbx_mech_docker, { YES, YES, NO }, DISK },
	{ "gvisor", &sbx_mech_gvisor, { YES, YES, YES }, DISK },
	{ "microvm", NULL, { SETUP, SETUP, SETUP }, DISK },
	{ "fake", &sbx_mech_fake, { YES, NO, NO }, DISK_OR_MEMORY },
};
#define RULE_COUNT (sizeof(rules) / sizeof(rules[0]))

_Static_assert(SBX_DEPLOY_PRODUCTION + 1 == sizeof(rules[0].verdicts) / sizeof(enum verdict),
	"a verdict for each deployment");

static const char shared_kernel_warning[] =
	"hostile code shares this host's kernel (accept_shared_kernel in production)";

static const struct rule *
find(const char *name, struct sbx_err *err)
{
	for (size_t i = 0; i < RULE_COUNT; i++)
		if (strcmp(rules[i].name, name) == 0)
			return &rules[i];
	sbx_fail(err, SBX_E_BAD_REQUEST, "there is no mechanism \"%.32s\"", name);
	sbx_fail_hint(err, "native, bwrap, docker, gvisor, microvm or fake");
	return NULL;
}

static int
unconfigured(const char *name, struct sbx_err *err)
{
	sbx_fail(err, SBX_E_UNCONFIGURED, "mechanism %s is not configured", name);
	return sbx_fail_hint(err,
		"it takes a virtual machine monitor, a guest kernel and access to "
		"/dev/kvm; this version has no configuration for them");
}

const struct sbx_mech *
sbx_mech_find(const char *name, struct sbx_err *err)
{
	const struct rule *rule = find(name, err);

	if (rule == NULL)
		return NULL;
	if (rule->mech != NULL)
		return rule->mech;
	if (rule->verdicts[0] == SETUP)
		unconfigured(name, err);
	else
		sbx_fail(err, SBX_E_UNAVAILABLE, "mechanism %s is not part of this version", name);
	return NULL;
}

const char *
sbx_mech_name(size_t index)
{
	return index < RULE_COUNT ? rules[index].name : NULL;
}

static int
judge(const struct rule *rule, const struct sbx_config *config, const char **warning,
	struct sbx_err *err)
{
	const char *deployment = sbx_deployment_names[config->deployment];

	switch (rule->verdicts[config->deployment]) {
	case YES:
		return 0;
	case NO:
		return sbx_fail(err, SBX_E_DENIED, "mechanism %s is not allowed in deployment %s",
			rule->name, deployment);
	case ACCEPT:
		if (config->accept_shared_kernel) {
			*warning = shared_kernel_warning;
			return 0;
		}
		sbx_fail(err, SBX_E_DENIED,
			"mechanism %s shares the host's kernel: deployment %s has to accept that",
			rule->name, deployment);
		return sbx_fail_hint(err, "set accept_shared_kernel: true in sbx.yaml");
	case SETUP:
		return unconfigured(rule->name, err);
	}
	assert(!"a verdict outside its enum");
	return -1;
}

int
sbx_mech_rules_by_name(const char *name, const struct sbx_config *config, int storage_memory,
	const char **warning, struct sbx_err *err)
{
	const struct rule *rule = find(name, err);

	*warning = NULL;
	if (rule == NULL || judge(rule, config, warning, err) < 0)
		return -1;
	if (storage_memory && rule->storage != DISK_OR_MEMORY)
		return sbx_fail(err, SBX_E_DENIED,
			"storage memory is only for mechanism fake, not for %s", name);
	return 0;
}

int
sbx_mech_rules(const struct sbx_mech *mech, const struct sbx_config *config, int storage_memory,
	const char **warning, struct sbx_err *err)
{
	return sbx_mech_rules_by_name(mech->name, config, storage_memory, warning, err);
}

void
sbx_probe_add(struct sbx_probe *probe, const char *name, int works, int required,
	const char *detail, const char *fix)
{
	struct sbx_probe_item *item = &probe->items[probe->count];

	assert(probe->count < SBX_PROBE_MAX);
	probe->count++;
	item->works = works;
	item->required = required;
	snprintf(item->name, sizeof(item->name), "%s", name);
	snprintf(item->detail, sizeof(item->detail), "%s", detail);
	snprintf(item->fix, sizeof(item->fix), "%s", works ? "" : fix);
}

void
sbx_mech_enforced(struct sbx_env_record *record, const char *layer)
{
	char *slot = record->enforced[record->enforced_count];
	int length;

	assert(record->enforced_count < SBX_ENV_LAYERS_MAX);
	length = snprintf(slot, sizeof(record->enforced[0]), "%s", layer);
	assert(length > 0 && (size_t)length < sizeof(record->enforced[0]));
	(void)length; /* under NDEBUG */
	record->enforced_count++;
}
