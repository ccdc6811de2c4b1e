/*
 * sbx.yaml through a table: key, type, range, place. What a table cannot say (paths, digests, names
 * of variables, the end of a range) is checked after it, with the line as well. Opens nothing.
 */
#include "data/config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "data/cmd_env.h"
#include "data/yaml_line.h"

#define SPOOL_FACTOR_MAX 1024
#define SPOOL_BYTES_MAX ((uint64_t)1 << 40)
#define KIB ((uint64_t)1024)
#define MIB (1024 * KIB)
#define SECOND ((uint64_t)1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)

/* Below are the host's own users, above it (uid_t)-1 and the overflow of 32 bits. */
#define UID_LOWEST 65536
#define UID_HIGHEST ((uint64_t)4294967293)
#define UID_COUNT_MAX 1048576
#define CGROUP_PARENT_MAX 255 /* what an environment's record holds */
#define IMAGES_MAX 1024
#define RUNTIME_MAX 63
#define PASS_ENV_MAX 256
#define TMP_RANGE .min = SBX_CONFIG_TMP_MIN, .max = SBX_CONFIG_TMP_MAX
#define LEASE_RANGE .min = SBX_CONFIG_LEASE_MIN, .max = SBX_CONFIG_LEASE_MAX

const char *const sbx_deployment_names[] = { "evaluation", "development", "production", NULL };
_Static_assert(sizeof(sbx_deployment_names) / sizeof(char *) == SBX_DEPLOY_PRODUCTION + 2,
	"a name for every deployment");

const char *const sbx_need_names[] = { "required", "best-effort", NULL };
_Static_assert(sizeof(sbx_need_names) / sizeof(char *) == SBX_BEST_EFFORT + 2,
	"a name for every need");

const char *const sbx_proc_view_names[] = { "full", "pid", NULL };
_Static_assert(sizeof(sbx_proc_view_names) / sizeof(char *) == SBX_PROC_PID + 2,
	"a name for every view");

const char *const sbx_user_ids_names[] = { "own", "subuid", NULL };
_Static_assert(sizeof(sbx_user_ids_names) / sizeof(char *) == SBX_USER_IDS_SUBUID + 2,
	"a name for every choice");

const char *const sbx_gvisor_network_names[] = { "sandbox", "host", NULL };
_Static_assert(sizeof(sbx_gvisor_network_names) / sizeof(char *) == SBX_GVISOR_HOST + 2,
	"a name for every network");

const char *const sbx_quota_names[] = { "auto", "project", "image", "tmpfs", "monitor", NULL };
_Static_assert(sizeof(sbx_quota_names) / sizeof(char *) == SBX_QUOTA_MONITOR + 2,
	"a name for every quota");

const char *const sbx_mechanism_names[] = { "native", "bwrap", "docker", "gvisor", "microvm",
	"fake", NULL };

/* The configuration, and what is read as a choice but kept as a name. */
struct reading {
	struct sbx_config config;
	int mechanism;
};

#define AT(member) offsetof(struct reading, member)
#define ROW(name, type, member) .key = name, .kind = SBX_YAML_##type, .offset = AT(member)

static const struct sbx_yaml_key uid_keys[] = {
	{ ROW("first", U64, config.uid_first), .min = UID_LOWEST, .max = UID_HIGHEST },
	{ ROW("count", U64, config.uid_count), .min = 1, .max = UID_COUNT_MAX },
	{ .key = NULL },
};

static const struct sbx_yaml_key gvisor_keys[] = {
	{ ROW("runtime", STRING, config.gvisor_runtime), .min = 1, .max = RUNTIME_MAX },
	{ ROW("network", ENUM, config.gvisor_network), .names = sbx_gvisor_network_names },
	{ .key = NULL },
};

static const struct sbx_yaml_key keys[] = {
	{ ROW("deployment", ENUM, config.deployment), .names = sbx_deployment_names },
	{ ROW("mechanism", ENUM, mechanism), .names = sbx_mechanism_names },
	{ ROW("accept_shared_kernel", BOOL, config.accept_shared_kernel) },
	{ ROW("state", STRING, config.state), .min = 1, .max = PATH_MAX - 1 },
	{ ROW("limits", STRING, config.limits), .min = 1, .max = PATH_MAX - 1 },
	{ ROW("images", PAIRS, config.images), .max = IMAGES_MAX },
	{ ROW("cgroup", ENUM, config.cgroup), .names = sbx_need_names },
	{ ROW("cgroup_parent", STRING, config.cgroup_parent), .min = 2, .max = CGROUP_PARENT_MAX },
	{ ROW("landlock", ENUM, config.landlock), .names = sbx_need_names },
	{ .key = "uids", .kind = SBX_YAML_MAP, .table = uid_keys },
	{ ROW("user_ids", ENUM, config.user_ids), .names = sbx_user_ids_names },
	{ ROW("quota", ENUM, config.quota), .names = sbx_quota_names },
	{ ROW("output_bytes", SIZE, config.output_bytes), .max = SBX_CONFIG_OUTPUT_MAX },
	{ ROW("spool_factor", U64, config.spool_factor), .max = SPOOL_FACTOR_MAX },
	{ ROW("spool_bytes", SIZE, config.spool_bytes), .max = SPOOL_BYTES_MAX },
	{ ROW("tmp_bytes", SIZE, config.tmp_bytes), TMP_RANGE },
	{ ROW("lease", DURATION, config.lease_ms), LEASE_RANGE },
	{ ROW("engine", STRING, config.engine), .min = 1, .max = PATH_MAX - 1 },
	{ ROW("engine_timeout", DURATION, config.engine_timeout_ms), .min = SECOND, .max = MINUTE },
	{ .key = "gvisor", .kind = SBX_YAML_MAP, .table = gvisor_keys },
	{ ROW("pass_env", STRINGS, config.pass_env), .max = PASS_ENV_MAX },
	{ .key = NULL },
};

void
sbx_config_init(struct sbx_config *config)
{
	*config = (struct sbx_config){
		.deployment = SBX_DEPLOY_DEVELOPMENT,
		.mechanism = sbx_mem_dup("native"),
		.cgroup = SBX_REQUIRED,
		.landlock = SBX_REQUIRED,
		.cgroup_parent = sbx_mem_dup("/sbx"),
		.quota = SBX_QUOTA_MONITOR,
		.uid_first = 1880000000,
		.uid_count = 65536,
		.output_bytes = 64 * KIB,
		.spool_factor = 16,
		.spool_bytes = 64 * MIB,
		.tmp_bytes = 64 * MIB,
		.lease_ms = HOUR,
		.engine = sbx_mem_dup("docker"),
		.engine_timeout_ms = MINUTE,
		.gvisor_runtime = sbx_mem_dup("runsc"),
	};
	sbx_profile_init(&config->profile);
}

void
sbx_config_done(struct sbx_config *config)
{
	if (config == NULL)
		return;
	free(config->mechanism);
	free(config->state);
	free(config->limits);
	free(config->cgroup_parent);
	free(config->engine);
	free(config->gvisor_runtime);
	sbx_yaml_pairs_done(&config->images);
	sbx_yaml_strings_done(&config->pass_env);
	memset(config, 0, sizeof(*config));
}

int
sbx_config_is_digest(const char *text)
{
	return strncmp(text, "sha256:", 7) == 0 && strlen(text) == 7 + 64 &&
		strspn(text + 7, "0123456789abcdef") == 64;
}

static int
check(const char *file, const char *text, size_t length, const struct sbx_config *config,
	struct sbx_err *err)
{
	const struct {
		const char *key, *path;
	} paths[] = { { "state", config->state }, { "limits", config->limits },
		{ "cgroup_parent", config->cgroup_parent } };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (paths[i].path != NULL && !sbx_path_is_clean_absolute(paths[i].path))
			return sbx_yaml_fail_at(err, file, text, length, paths[i].key,
				"\"%.100s\" is not an absolute path without \".\", \"..\" and \"//\"",
				paths[i].path);
	for (size_t i = 0; i < config->images.count; i++)
		if (!sbx_config_is_digest(config->images.values[i]))
			return sbx_yaml_fail_at(err, file, text, length, "images",
				"%.64s: \"%.80s\" is not sha256: and 64 hexadecimal digits",
				config->images.keys[i], config->images.values[i]);
	if (config->uid_first + config->uid_count - 1 > UID_HIGHEST)
		return sbx_yaml_fail_at(err, file, text, length, "uids",
			"first and count reach beyond %ju", (uintmax_t)UID_HIGHEST);
	for (size_t i = 0; i < config->pass_env.count; i++) {
		if (sbx_cmd_env_check_pass(config->pass_env.items[i], err) == 0)
			continue;
		if (err != NULL)
			err->code = SBX_E_CONFIG;
		return sbx_fail_wrap(err, "%s:%d: pass_env", file, config->pass_env.lines[i]);
	}
	return 0;
}

int
sbx_config_read(const char *file, const char *text, size_t length, struct sbx_config *config,
	struct sbx_err *err)
{
	struct reading reading = { .config = *config, .mechanism = -1 };
	int failed = sbx_yaml_read(file, text, length, keys, &reading, err);

	/* Also on failure: the reader has replaced strings that *config owned. */
	*config = reading.config;
	if (failed)
		return -1;
	if (reading.mechanism >= 0) {
		free(config->mechanism);
		config->mechanism = sbx_mem_dup(sbx_mechanism_names[reading.mechanism]);
	}
	return check(file, text, length, config, err);
}
