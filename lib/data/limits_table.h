/* The nine fields as a table, shared by limits.c and profile.c and by nobody else. */
#ifndef SBX_DATA_LIMITS_TABLE_H
#define SBX_DATA_LIMITS_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "data/limits.h"

enum sbx_limits_kind {
	SBX_LIMITS_MILLI, /* thousandths */
	SBX_LIMITS_SIZE, /* bytes */
	SBX_LIMITS_COUNT,
	SBX_LIMITS_DURATION, /* milliseconds */
	SBX_LIMITS_EGRESS, /* enum sbx_egress, an int; all others are uint64_t */
};

struct sbx_limits_field {
	const char *name; /* in limits.yaml and in a spec */
	const char *record; /* in records, where units are spelt out */
	enum sbx_limits_kind kind;
	size_t offset; /* in struct sbx_limits */
	uint64_t min, max; /* the widest range; a profile chooses within it */
	int in_spec; /* a member of a spec's `limits` object */
};

#define SBX_LIMITS_FIELDS 9
extern const struct sbx_limits_field sbx_limits_fields[SBX_LIMITS_FIELDS];

uint64_t sbx_limits_get(const struct sbx_limits *limits, const struct sbx_limits_field *field);
void sbx_limits_set(struct sbx_limits *limits, const struct sbx_limits_field *field,
	uint64_t value);

/* A value of the field as people write it: "512MiB", "0.5", "60s", "allowlist". */
void sbx_limits_format(const struct sbx_limits_field *field, uint64_t value, char out[32]);

#endif
