/* sbx-spec(5): what an environment is asked to be. */
#ifndef SBX_DATA_SPEC_H
#define SBX_DATA_SPEC_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "data/config.h"
#include "data/json.h"
#include "data/limits.h"

#define SBX_SPEC_MAX (1024 * 1024)
#define SBX_NAME_MAX 128 /* tenant and run: 1 to 128 bytes of [A-Za-z0-9._:-] */
#define SBX_ENV_ID_SIZE 28 /* 'e', 26 characters, NUL */

struct sbx_spec {
	char *tenant; /* default "default" */
	char *run; /* required */
	int64_t epoch; /* 0 to 2^63-1; default 0 */
	char *mechanism; /* NULL: the configured one */
	char *image; /* "sha256:<64 hex>", NULL: the host surface */
	int storage_memory; /* "storage":"memory" */
	int proc_view; /* enum sbx_proc_view */
	int debug; /* ptrace and process_vm_* allowed inside */
	uint64_t expires_ms; /* from provisioning; 0: the configured lease */
	uint64_t tmp_bytes; /* 0: configured */
	char **env; /* "NAME=value", NULL-terminated */
	size_t env_count;
	char *fake_script; /* mechanism fake only: path of the canned results */
	struct sbx_limits limits; /* resolved against the profile */
	int egress; /* = limits.egress */
	char *canonical; /* as given: keys sorted, no white space */
};

/*
 * Read a spec: unknown or duplicate keys, wrong types and ranges are refused by name; limits are
 * resolved against config->profile; the images of config translate nothing here (a spec accepts
 * only a digest: a tag is SBX_E_BAD_REQUEST with the hint to resolve it). Names of `env` that look
 * like credentials are SBX_E_DENIED. The caller owns *spec and calls done.
 */
int sbx_spec_read(const char *text, size_t length, const struct sbx_config *config,
	struct sbx_spec *spec, struct sbx_err *err) __attribute__((warn_unused_result));
void sbx_spec_done(struct sbx_spec *spec);

/* The environment's id of a tuple: 'e' and base32 of BLAKE2b-128 over the length-prefixed tuple. */
void sbx_spec_env_id(const char *tenant, const char *run, int64_t epoch, char out[SBX_ENV_ID_SIZE]);
int sbx_spec_is_env_id(const char *text); /* lexical */
int sbx_spec_check_name(const char *what, const char *text, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* Any JSON value in canonical form: members sorted by key bytes, no white space, shortest escapes. */
int sbx_json_canonical(struct sbx_json v, struct sbx_buf *out, struct sbx_err *err)
	__attribute__((warn_unused_result));

#endif
