/*
 * The sandbox profile (limits.yaml(5)): exactly nine operator fields, each with a default and a
 * maximum. A spec may ask for less than the maximum and never for more.
 */
#ifndef SBX_DATA_LIMITS_H
#define SBX_DATA_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "data/json.h"
#include "data/json_out.h"

/* In rising order of what they open; the maximum of the profile bounds them like a number. */
enum sbx_egress { SBX_EGRESS_NONE = 0, SBX_EGRESS_ALLOWLIST, SBX_EGRESS_OPEN, SBX_EGRESS_HOST };
extern const char *const sbx_egress_names[]; /* NULL-terminated */

/* One environment's resolved limits. Never 0: there is no "unlimited". */
struct sbx_limits {
	uint64_t cpu_milli; /* thousandths of one processor */
	uint64_t memory_bytes; /* tmpfs counted, as the kernel counts it */
	uint64_t pids; /* tasks; pid 1 not counted */
	uint64_t wall_ms; /* of one command */
	uint64_t workspace_bytes;
	uint64_t workspace_inodes;
	int egress; /* enum sbx_egress */
	uint64_t retention_ms; /* of artifacts */
	uint64_t artifact_max_bytes;
};

struct sbx_profile {
	struct sbx_limits defaults, maximum;
};

/* The built-in profile (what etc/limits.yaml says). */
void sbx_profile_init(struct sbx_profile *profile);

/* Read limits.yaml over the built-in values; a default over its maximum is an error by name. */
int sbx_profile_read(const char *file, const char *text, size_t length, struct sbx_profile *profile,
	struct sbx_err *err) __attribute__((warn_unused_result));

/*
 * A spec's `limits` object (cpu, memory, pids, wall_time, workspace_bytes, workspace_inodes) over
 * the defaults: 0, negative, fractional and over-the-maximum values are SBX_E_BAD_REQUEST that name
 * the field, the value and the maximum. An absent object gives the defaults.
 */
int sbx_limits_resolve(struct sbx_json object, const struct sbx_profile *profile,
	struct sbx_limits *out, struct sbx_err *err) __attribute__((warn_unused_result));

/* One field by its name and text ("memory", "64MiB"), for the tools' options. */
int sbx_limits_check_text(const char *field, const char *text, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* As the object `key`, and back (state records; all fields required). */
void sbx_limits_out(const struct sbx_limits *limits, struct sbx_json_out *out, const char *key);
int sbx_limits_in(struct sbx_json object, struct sbx_limits *limits, struct sbx_err *err)
	__attribute__((warn_unused_result));

#endif
