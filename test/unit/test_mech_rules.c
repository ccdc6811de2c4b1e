/*
 * The rules of deployment, a test a cell: each mechanism in each deployment with each storage, and
 * whether the shared kernel was accepted. What is right is written out here once more, on purpose.
 */
#include "tap.h"

#include "data/config.h"
#include "mech/mech.h"

#define ALLOWED NULL
#define MEMORY "storage memory is only for mechanism fake, not for %s"
#define BANNED "mechanism %s is not allowed in deployment %s"
#define SHARED "mechanism %s shares the host's kernel: deployment %s has to accept that"
#define MISSING "mechanism %s is not configured"

/* What is said in each deployment (evaluation, development, production) with storage on disk, and
 * then with storage in memory; the last pair is production that accepts the shared kernel. */
struct row {
	const char *name;
	const char *disk[3], *memory[3];
	const char *accepted_disk, *accepted_memory;
	int warns; /* production that accepts is told so */
};

static const struct row rows[] = {
	{ "native", { ALLOWED, ALLOWED, SHARED }, { MEMORY, MEMORY, SHARED }, ALLOWED, MEMORY, 1 },
	{ "bwrap", { ALLOWED, ALLOWED, SHARED }, { MEMORY, MEMORY, SHARED }, ALLOWED, MEMORY, 1 },
	{ "docker", { ALLOWED, ALLOWED, BANNED }, { MEMORY, MEMORY, BANNED }, BANNED, BANNED, 0 },
	{ "gvisor", { ALLOWED, ALLOWED, ALLOWED }, { MEMORY, MEMORY, MEMORY }, ALLOWED, MEMORY, 0 },
	{ "microvm", { MISSING, MISSING, MISSING }, { MISSING, MISSING, MISSING }, MISSING, MISSING,
		0 },
	{ "fake", { ALLOWED, BANNED, BANNED }, { ALLOWED, BANNED, BANNED }, BANNED, BANNED, 0 },
};

static void
cell(const struct row *row, int deployment, int memory, int accept, const char *want, int warns)
{
	struct sbx_config config;
	struct sbx_err err = { 0 };
	const char *warning = "untouched";
	const char *where = sbx_deployment_names[deployment];
	char name[128], message[256];
	enum sbx_code code = SBX_OK;
	int got;

	if (want != ALLOWED)
		code = strcmp(want, MISSING) == 0 ? SBX_E_UNCONFIGURED : SBX_E_DENIED;
	snprintf(name, sizeof(name), "%s in %s with storage %s%s", row->name, where,
		memory ? "memory" : "disk", accept ? ", shared kernel accepted" : "");
	sbx_config_init(&config);
	config.deployment = deployment;
	config.accept_shared_kernel = accept;
	got = sbx_mech_rules_by_name(row->name, &config, memory, &warning, &err);
	is_int(got, want == ALLOWED ? 0 : -1, "%s: %s", name, want == ALLOWED ? "yes" : "no");
	is_int(err.code, code, "%s: the code", name);
	message[0] = '\0';
	if (want != ALLOWED) {
		/* Each text above takes at most these two. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(message, sizeof(message), want, row->name, where);
#pragma GCC diagnostic pop
	}
	is_str(err.msg, message, "%s: the message", name);
	if (want == ALLOWED)
		ok((warning != NULL) == (warns != 0), "%s: %s", name,
			warns ? "warns" : "does not warn");
	sbx_config_done(&config);
}

static void
every_cell(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];

		is_str(sbx_mech_name(i), row->name, "the table's row %zu is %s", i, row->name);
		for (int deployment = 0; deployment < 3; deployment++) {
			cell(row, deployment, 0, 0, row->disk[deployment], 0);
			cell(row, deployment, 1, 0, row->memory[deployment], 0);
		}
		cell(row, SBX_DEPLOY_PRODUCTION, 0, 1, row->accepted_disk, row->warns);
		cell(row, SBX_DEPLOY_PRODUCTION, 1, 1, row->accepted_memory, row->warns);
	}
	ok(sbx_mech_name(sizeof(rows) / sizeof(rows[0])) == NULL, "the table has no row more");
}

static void
find_by_name(void)
{
	static const char *const later[] = { "bwrap" };
	struct sbx_err err = { 0 };
	char message[128];

	ok(sbx_mech_find("native", &err) == &sbx_mech_native, "native is found");
	ok(sbx_mech_find("docker", &err) == &sbx_mech_docker, "docker is found");
	ok(sbx_mech_find("gvisor", &err) == &sbx_mech_gvisor, "gvisor is found");
	ok(sbx_mech_find("fake", &err) == &sbx_mech_fake, "fake is found");
	for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
		err = (struct sbx_err){ 0 };
		ok(sbx_mech_find(later[i], &err) == NULL, "%s is not built", later[i]);
		is_int(err.code, SBX_E_UNAVAILABLE, "%s is unavailable", later[i]);
		snprintf(message, sizeof(message), "mechanism %s is not part of this version",
			later[i]);
		is_str(err.msg, message, "%s says why", later[i]);
	}
	err = (struct sbx_err){ 0 };
	ok(sbx_mech_find("microvm", &err) == NULL, "microvm is not found");
	is_int(err.code, SBX_E_UNCONFIGURED, "microvm is unconfigured");
	ok(strstr(err.hint, "/dev/kvm") != NULL, "microvm names what configuring takes");
	err = (struct sbx_err){ 0 };
	ok(sbx_mech_find("jail", &err) == NULL, "nobody has jail");
	is_int(err.code, SBX_E_BAD_REQUEST, "an unknown name is a bad request");
	is_str(err.msg, "there is no mechanism \"jail\"", "it is named");
}

int
main(void)
{
	every_cell();
	find_by_name();
	return done();
}
