/*
 * The nine fields of the profile in one table, with their widest ranges, and values as people write
 * them. Reads nothing: profile.c and limits.c do, through this table.
 */
#include "data/limits_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KIB ((uint64_t)1024)
#define MIB (1024 * KIB)
#define TIB (1024 * 1024 * MIB)
#define MINUTE ((uint64_t)60 * 1000)
#define DAY (24 * 60 * MINUTE)

const char *const sbx_egress_names[] = { "none", "allowlist", "open", "host", NULL };
_Static_assert(sizeof(sbx_egress_names) / sizeof(sbx_egress_names[0]) == SBX_EGRESS_HOST + 2,
	"a name for every kind of egress");

#define AT(member) offsetof(struct sbx_limits, member)

/* In the order of limits.yaml(5). The least values are the smallest that something can run with. */
const struct sbx_limits_field sbx_limits_fields[SBX_LIMITS_FIELDS] = {
	{ "cpu", "cpu_milli", SBX_LIMITS_MILLI, AT(cpu_milli), 10, 1024 * 1000, 1 },
	{ "memory", "memory_bytes", SBX_LIMITS_SIZE, AT(memory_bytes), 4 * MIB, 16 * TIB, 1 },
	{ "pids", "pids", SBX_LIMITS_COUNT, AT(pids), 1, 4194304, 1 },
	{ "wall_time", "wall_ms", SBX_LIMITS_DURATION, AT(wall_ms), 1, DAY, 1 },
	{ "workspace_bytes", "workspace_bytes", SBX_LIMITS_SIZE, AT(workspace_bytes), 64 * KIB,
		64 * TIB, 1 },
	{ "workspace_inodes", "workspace_inodes", SBX_LIMITS_COUNT, AT(workspace_inodes), 16,
		(uint64_t)1 << 32, 1 },
	{ "egress", "egress", SBX_LIMITS_EGRESS, AT(egress), 0, SBX_EGRESS_HOST, 0 },
	{ "artifact_retention", "artifact_retention_ms", SBX_LIMITS_DURATION, AT(retention_ms),
		MINUTE, 3650 * DAY, 0 },
	{ "artifact_max_size", "artifact_max_bytes", SBX_LIMITS_SIZE, AT(artifact_max_bytes), KIB,
		16 * TIB, 0 },
};

uint64_t
sbx_limits_get(const struct sbx_limits *limits, const struct sbx_limits_field *field)
{
	const char *at = (const char *)limits + field->offset;
	uint64_t number;
	int choice;

	if (field->kind == SBX_LIMITS_EGRESS) {
		memcpy(&choice, at, sizeof(choice));
		return (uint64_t)choice;
	}
	memcpy(&number, at, sizeof(number));
	return number;
}

void
sbx_limits_set(struct sbx_limits *limits, const struct sbx_limits_field *field, uint64_t value)
{
	char *at = (char *)limits + field->offset;
	int choice = (int)value;

	if (field->kind == SBX_LIMITS_EGRESS)
		memcpy(at, &choice, sizeof(choice));
	else
		memcpy(at, &value, sizeof(value));
}

/* The largest unit that divides the value, so that the text reads back as the same number. */
static void
format_units(uint64_t value, const uint64_t *units, const char *const *names, char out[32])
{
	size_t i = 0;

	while (value == 0 || value % units[i] != 0)
		if (units[++i] == 1)
			break;
	snprintf(out, 32, "%" PRIu64 "%s", value / units[i], names[i]);
}

static void
format_milli(uint64_t milli, char out[32])
{
	size_t length;

	snprintf(out, 32, "%" PRIu64 ".%03" PRIu64, milli / 1000, milli % 1000);
	length = strlen(out);
	while (out[length - 1] == '0')
		out[--length] = '\0';
	if (out[length - 1] == '.')
		out[length - 1] = '\0';
}

void
sbx_limits_format(const struct sbx_limits_field *field, uint64_t value, char out[32])
{
	static const uint64_t sizes[] = { TIB, 1024 * MIB, MIB, KIB, 1 };
	static const char *const size_names[] = { "TiB", "GiB", "MiB", "KiB", "" };
	static const uint64_t times[] = { DAY, 60 * MINUTE, MINUTE, 1000, 1 };
	static const char *const time_names[] = { "d", "h", "m", "s", "ms" };

	switch (field->kind) {
	case SBX_LIMITS_MILLI:
		format_milli(value, out);
		break;
	case SBX_LIMITS_SIZE:
		format_units(value, sizes, size_names, out);
		break;
	case SBX_LIMITS_DURATION:
		format_units(value, times, time_names, out);
		break;
	case SBX_LIMITS_COUNT:
		snprintf(out, 32, "%" PRIu64, value);
		break;
	case SBX_LIMITS_EGRESS:
		snprintf(out, 32, "%s", sbx_egress_names[value]);
		break;
	}
}
