/*
 * The operator's profile: built-in values, and limits.yaml over them. The YAML table is made from
 * the table of fields, so that a range stands in one place.
 */
#include "data/limits_table.h"

#include "data/yaml.h"
#include "data/yaml_line.h"

#define MIB ((uint64_t)1024 * 1024)
#define GIB (1024 * MIB)
#define MINUTE ((uint64_t)60 * 1000)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static const enum sbx_yaml_kind yaml_kinds[] = {
	[SBX_LIMITS_MILLI] = SBX_YAML_MILLI,
	[SBX_LIMITS_SIZE] = SBX_YAML_SIZE,
	[SBX_LIMITS_COUNT] = SBX_YAML_U64,
	[SBX_LIMITS_DURATION] = SBX_YAML_DURATION,
	[SBX_LIMITS_EGRESS] = SBX_YAML_ENUM,
};

/* Ends with its NULL key. */
struct pair_table {
	struct sbx_yaml_key keys[3];
};

void
sbx_profile_init(struct sbx_profile *profile)
{
	profile->defaults = (struct sbx_limits){
		.cpu_milli = 1000,
		.memory_bytes = 512 * MIB,
		.pids = 128,
		.wall_ms = MINUTE,
		.workspace_bytes = GIB,
		.workspace_inodes = 100000,
		.egress = SBX_EGRESS_NONE,
		.retention_ms = 7 * DAY,
		.artifact_max_bytes = 256 * MIB,
	};
	profile->maximum = (struct sbx_limits){
		.cpu_milli = 8000,
		.memory_bytes = 8 * GIB,
		.pids = 4096,
		.wall_ms = HOUR,
		.workspace_bytes = 16 * GIB,
		.workspace_inodes = 2000000,
		.egress = SBX_EGRESS_ALLOWLIST,
		.retention_ms = 90 * DAY,
		.artifact_max_bytes = 4 * GIB,
	};
}

/* `memory: {default: 512MiB, max: 8GiB}` */
static struct pair_table
pair(const struct sbx_limits_field *field)
{
	struct sbx_yaml_key one = {
		.kind = yaml_kinds[field->kind],
		.min = field->min,
		.max = field->max,
		.names = field->kind == SBX_LIMITS_EGRESS ? sbx_egress_names : NULL,
	};
	struct pair_table out = { .keys = { one, one } };

	out.keys[0].key = "default";
	out.keys[0].offset = offsetof(struct sbx_profile, defaults) + field->offset;
	out.keys[1].key = "max";
	out.keys[1].offset = offsetof(struct sbx_profile, maximum) + field->offset;
	return out;
}

int
sbx_profile_read(const char *file, const char *text, size_t length, struct sbx_profile *profile,
	struct sbx_err *err)
{
	struct sbx_profile read = *profile;
	struct pair_table pairs[SBX_LIMITS_FIELDS];
	struct sbx_yaml_key table[SBX_LIMITS_FIELDS + 1] = { { .key = NULL } };

	for (size_t i = 0; i < SBX_LIMITS_FIELDS; i++) {
		pairs[i] = pair(&sbx_limits_fields[i]);
		table[i].key = sbx_limits_fields[i].name;
		table[i].kind = SBX_YAML_MAP;
		table[i].table = pairs[i].keys;
	}
	if (sbx_yaml_read(file, text, length, table, &read, err) < 0)
		return -1;
	for (size_t i = 0; i < SBX_LIMITS_FIELDS; i++) {
		const struct sbx_limits_field *field = &sbx_limits_fields[i];
		uint64_t preset = sbx_limits_get(&read.defaults, field);
		uint64_t most = sbx_limits_get(&read.maximum, field);
		char have[32], may[32];

		if (preset <= most)
			continue;
		sbx_limits_format(field, preset, have);
		sbx_limits_format(field, most, may);
		return sbx_yaml_fail_at(err, file, text, length, field->name,
			"the default %s is over the maximum %s", have, may);
	}
	*profile = read;
	return 0;
}
