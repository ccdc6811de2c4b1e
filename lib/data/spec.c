/*
 * A spec: one JSON object from a stranger becomes a struct in which every field is within its range
 * and every limit is resolved. Builds nothing, and says nothing about what a mechanism can do.
 */
#include "data/spec.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/mem.h"
#include "base/scoped.h"
#include "data/cmd_env.h"

#define IMAGE_BYTES_MAX 1024 /* enough to quote a reference that is no digest */

static const char *const storage_names[] = { "disk", "memory", NULL };

/* The spec, and what is read in a second step. */
struct reading {
	struct sbx_spec spec;
	struct sbx_json env, limits;
	int mechanism, egress; /* -1: not given */
};

#define AT(member) offsetof(struct reading, member)
#define ROW(name, type, member) .key = name, .kind = SBX_JSON_F_##type, .offset = AT(member)
#define EXPIRES_RANGE .umin = SBX_CONFIG_LEASE_MIN, .umax = SBX_CONFIG_LEASE_MAX
#define TMP_RANGE .umin = SBX_CONFIG_TMP_MIN, .umax = SBX_CONFIG_TMP_MAX

static const struct sbx_json_field fields[] = {
	{ ROW("tenant", STRING, spec.tenant), .umax = SBX_NAME_MAX },
	{ ROW("run", STRING, spec.run), .required = 1, .umax = SBX_NAME_MAX },
	{ ROW("epoch", I64, spec.epoch), .umax = INT64_MAX },
	{ ROW("mechanism", ENUM, mechanism), .names = sbx_mechanism_names },
	{ ROW("image", STRING, spec.image), .umax = IMAGE_BYTES_MAX },
	{ ROW("storage", ENUM, spec.storage_memory), .names = storage_names },
	{ ROW("proc", ENUM, spec.proc_view), .names = sbx_proc_view_names },
	{ ROW("debug", BOOL, spec.debug) },
	{ ROW("expires_after", DURATION, spec.expires_ms), EXPIRES_RANGE },
	{ ROW("tmp_bytes", SIZE, spec.tmp_bytes), TMP_RANGE },
	{ ROW("env", VALUE, env) },
	{ ROW("fake_script", STRING, spec.fake_script), .umin = 1, .umax = PATH_MAX - 1 },
	{ ROW("limits", VALUE, limits) },
	{ ROW("egress", ENUM, egress), .names = sbx_egress_names },
	{ .key = NULL },
};

int
sbx_spec_check_name(const char *what, const char *text, struct sbx_err *err)
{
	size_t length = strspn(text,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-");

	if (length >= 1 && length <= SBX_NAME_MAX && text[length] == '\0')
		return 0;
	return sbx_fail(err, SBX_E_BAD_REQUEST,
		"%s: must be 1 to %d characters of A-Z a-z 0-9 . _ : -", what, SBX_NAME_MAX);
}

void
sbx_spec_env_id(const char *tenant, const char *run, int64_t epoch, char out[SBX_ENV_ID_SIZE])
{
	uint8_t little[8], hash[16];
	const struct sbx_id_part parts[] = {
		{ tenant, strlen(tenant) },
		{ run, strlen(run) },
		{ little, sizeof(little) },
	};

	for (int i = 0; i < 8; i++)
		little[i] = (uint8_t)((uint64_t)epoch >> (8 * i));
	sbx_id_hash128(parts, sizeof(parts) / sizeof(parts[0]), hash);
	out[0] = 'e';
	sbx_id_base32(hash, out + 1);
}

int
sbx_spec_is_env_id(const char *text)
{
	return text[0] == 'e' && strlen(text) == SBX_ENV_ID_SIZE - 1 &&
		strspn(text + 1, "abcdefghijklmnopqrstuvwxyz234567") == SBX_ENV_ID_SIZE - 2;
}

static int
add_variable(struct sbx_spec *spec, struct sbx_json key, struct sbx_json value, struct sbx_err *err)
{
	SBX_AUTO_FREE char *name = NULL, *text = NULL, *what = NULL;

	if (sbx_json_string(key, "spec.env", SBX_SPEC_MAX, &name, err) < 0)
		return -1;
	if (sbx_cmd_env_check_name(name, err) < 0)
		return sbx_fail_wrap(err, "spec");
	what = sbx_mem_printf("spec.env.%s", name);
	/* With its name, '=' and NUL it must fit the longest string that execve takes. */
	if (sbx_json_string(value, what, SBX_CMD_ENV_ITEM_MAX - 1 - strlen(name), &text, err) < 0)
		return -1;
	spec->env[spec->env_count++] = sbx_mem_printf("%s=%s", name, text);
	return 0;
}

static int
read_env(struct sbx_json object, struct sbx_spec *spec, struct sbx_err *err)
{
	struct sbx_json key, value;
	size_t cursor = 0, count = sbx_json_count(object);

	if (sbx_json_type(object) != SBX_JSON_ABSENT && sbx_json_type(object) != SBX_JSON_OBJECT)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "spec.env: must be an object");
	if (count > SBX_CMD_ENV_MAX)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "spec.env: has %zu variables, at most %d",
			count, SBX_CMD_ENV_MAX);
	spec->env = sbx_mem_alloc(count + 1, sizeof(*spec->env));
	while (sbx_json_each(object, &cursor, &key, &value))
		if (add_variable(spec, key, value, err) < 0)
			return -1;
	return 0;
}

static int
check_image(const char *image, struct sbx_err *err)
{
	if (image == NULL || sbx_config_is_digest(image))
		return 0;
	sbx_fail(err, SBX_E_BAD_REQUEST,
		"spec.image: \"%.80s\" is not sha256: and 64 hexadecimal digits", image);
	return sbx_fail_hint(err, "sbx-provision --resolve REF prints the digest of a reference");
}

static int
take_egress(struct reading *reading, const struct sbx_profile *profile, struct sbx_err *err)
{
	struct sbx_spec *spec = &reading->spec;

	if (reading->egress > profile->maximum.egress)
		return sbx_fail(err, SBX_E_BAD_REQUEST,
			"spec.egress: \"%s\" is over the maximum \"%s\"",
			sbx_egress_names[reading->egress],
			sbx_egress_names[profile->maximum.egress]);
	if (reading->egress >= 0)
		spec->limits.egress = reading->egress;
	spec->egress = spec->limits.egress;
	return 0;
}

static int
finish(struct reading *reading, const struct sbx_config *config, struct sbx_err *err)
{
	struct sbx_spec *spec = &reading->spec;
	const char *mechanism = config->mechanism;

	if (sbx_spec_check_name("spec.tenant", spec->tenant, err) < 0 ||
		sbx_spec_check_name("spec.run", spec->run, err) < 0 ||
		check_image(spec->image, err) < 0 ||
		sbx_limits_resolve(reading->limits, &config->profile, &spec->limits, err) < 0 ||
		take_egress(reading, &config->profile, err) < 0 ||
		read_env(reading->env, spec, err) < 0)
		return -1;
	if (reading->mechanism >= 0) {
		spec->mechanism = sbx_mem_dup(sbx_mechanism_names[reading->mechanism]);
		mechanism = spec->mechanism;
	}
	if (spec->fake_script != NULL && strcmp(mechanism, "fake") != 0)
		return sbx_fail(err, SBX_E_BAD_REQUEST,
			"spec.fake_script: is for the mechanism fake, not for %s", mechanism);
	return 0;
}

int
sbx_spec_read(const char *text, size_t length, const struct sbx_config *config,
	struct sbx_spec *spec, struct sbx_err *err)
{
	struct reading reading = { .spec = { .tenant = NULL }, .mechanism = -1, .egress = -1 };
	SBX_AUTO_BUF canonical = SBX_BUF_INIT(SBX_SPEC_MAX);
	SBX_AUTO_JSON doc = NULL;
	struct sbx_json root;
	int failed;

	memset(spec, 0, sizeof(*spec));
	if (length > SBX_SPEC_MAX)
		return sbx_fail(err, SBX_E_TOO_LARGE, "spec: has %zu bytes, at most %d", length,
			SBX_SPEC_MAX);
	doc = sbx_json_parse(text, length, err);
	if (doc == NULL)
		return sbx_fail_wrap(err, "spec");
	root = sbx_json_root(doc);
	reading.env = reading.limits = (struct sbx_json){ .doc = doc, .token = -1 };
	reading.spec.tenant = sbx_mem_dup("default");
	failed = sbx_json_read(root, "spec", fields, &reading, err) < 0 ||
		finish(&reading, config, err) < 0;
	*spec = reading.spec;
	if (failed || sbx_json_canonical(root, &canonical, err) < 0)
		return -1;
	spec->canonical = sbx_mem_dup_n(sbx_buf_str(&canonical), canonical.length);
	return 0;
}

void
sbx_spec_done(struct sbx_spec *spec)
{
	if (spec == NULL)
		return;
	for (size_t i = 0; i < spec->env_count; i++)
		free(spec->env[i]);
	free(spec->env);
	free(spec->tenant);
	free(spec->run);
	free(spec->mechanism);
	free(spec->image);
	free(spec->fake_script);
	free(spec->canonical);
	memset(spec, 0, sizeof(*spec));
}
