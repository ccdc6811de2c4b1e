/* sbx.yaml(5): how this host runs environments. Built-in defaults where there is no file. */
#ifndef SBX_DATA_CONFIG_H
#define SBX_DATA_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "data/limits.h"
#include "data/yaml.h"

enum sbx_deployment { SBX_DEPLOY_EVALUATION = 0, SBX_DEPLOY_DEVELOPMENT, SBX_DEPLOY_PRODUCTION };
extern const char *const sbx_deployment_names[];

/* Whether a layer that this host lacks is a failure (the default) or is left out and said so. */
enum sbx_need { SBX_REQUIRED = 0, SBX_BEST_EFFORT };
extern const char *const sbx_need_names[]; /* "required", "best-effort" */

enum sbx_proc_view { SBX_PROC_FULL = 0, SBX_PROC_PID };
extern const char *const sbx_proc_view_names[]; /* "full", "pid" */

/* Whose host uid environments get when a plain user makes them. */
enum sbx_user_ids { SBX_USER_IDS_OWN = 0, SBX_USER_IDS_SUBUID };
extern const char *const sbx_user_ids_names[]; /* "own", "subuid" */

/* What a gVisor runtime may do with the container's network: its own stack, or the host kernel's. */
enum sbx_gvisor_network { SBX_GVISOR_SANDBOX = 0, SBX_GVISOR_HOST };
extern const char *const sbx_gvisor_network_names[]; /* "sandbox", "host" */

/* What bounds the workspace of a native environment: the kernel, or only a look now and then. */
enum sbx_quota {
	SBX_QUOTA_AUTO = 0,
	SBX_QUOTA_PROJECT,
	SBX_QUOTA_IMAGE,
	SBX_QUOTA_TMPFS,
	SBX_QUOTA_MONITOR
};
extern const char *const sbx_quota_names[];

extern const char *const sbx_mechanism_names[]; /* what `mechanism` may say, NULL-terminated */

/* Ranges that a spec and the options share with the file: bytes and milliseconds. */
#define SBX_CONFIG_OUTPUT_MAX ((uint64_t)256 * 1024)
#define SBX_CONFIG_TMP_MIN ((uint64_t)64 * 1024)
#define SBX_CONFIG_TMP_MAX ((uint64_t)64 * 1024 * 1024 * 1024)
#define SBX_CONFIG_LEASE_MIN ((uint64_t)1000)
#define SBX_CONFIG_LEASE_MAX ((uint64_t)365 * 24 * 3600 * 1000)

struct sbx_config {
	int deployment; /* enum sbx_deployment; default development */
	char *mechanism; /* default "native" */
	int accept_shared_kernel; /* default 0; only asked for in production */
	char *state; /* NULL: by $SBX_STATE or the user */
	char *limits; /* path of limits.yaml; NULL: beside sbx.yaml */
	struct sbx_yaml_pairs images; /* local reference -> "sha256:..." */
	int cgroup, landlock; /* enum sbx_need */
	char *cgroup_parent; /* default "/sbx" */
	int quota; /* enum sbx_quota; default monitor */
	uint64_t uid_first, uid_count; /* host uids of environments when root; 1880000000, 65536 */
	int user_ids; /* enum sbx_user_ids; of a plain user, default own */
	/* Kept of each stream in a result; default 64 KiB, at most 256: a record holds two of them. */
	uint64_t output_bytes;
	/* Of an output that is longer, so many times that is spooled (default 16, 0: none), of all
	 * outputs of an environment so many bytes (64 MiB). */
	uint64_t spool_factor, spool_bytes;
	uint64_t tmp_bytes; /* size of /tmp; default 64 MiB */
	uint64_t lease_ms; /* of an environment without a lease from outside; default 1 h */
	char *engine; /* command of the container engine, by PATH or absolute; default "docker" */
	uint64_t engine_timeout_ms; /* of each call to it; default 60 s, which is also the most */
	char *gvisor_runtime; /* as the engine knows it; default "runsc" */
	int gvisor_network; /* enum sbx_gvisor_network: what production accepts; default sandbox */
	struct sbx_yaml_strings pass_env; /* the caller's variables that commands may see */
	struct sbx_profile profile;
};

void sbx_config_init(struct sbx_config *config);
void sbx_config_done(struct sbx_config *config);

int sbx_config_is_digest(const char *text); /* "sha256:" and 64 hexadecimal digits, lower case */

/* Text of sbx.yaml over the defaults. SBX_E_CONFIG with file and line. Opens nothing. */
int sbx_config_read(const char *file, const char *text, size_t length, struct sbx_config *config,
	struct sbx_err *err) __attribute__((warn_unused_result));

#endif
