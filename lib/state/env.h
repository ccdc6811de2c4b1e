/*
 * One environment on disk, env/<id>/: spec.json (canonical, as provisioned), state.json (what it is
 * and what was made for it, replaced by rename), lock, init.sock, log.ndjson, workspace/.
 */
#ifndef SBX_STATE_ENV_H
#define SBX_STATE_ENV_H

#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "data/limits.h"
#include "data/spec.h"
#include "state/root.h"

#define SBX_ENV_VERSION 1
#define SBX_ENV_LAYERS_MAX 24

enum sbx_env_state { SBX_ENV_PROVISIONING = 0, SBX_ENV_READY, SBX_ENV_RELEASING, SBX_ENV_FAILED };
extern const char *const sbx_env_state_names[];

/* state.json */
struct sbx_env_record {
	char id[SBX_ENV_ID_SIZE];
	int state; /* enum sbx_env_state */
	char tenant[SBX_NAME_MAX + 1], run[SBX_NAME_MAX + 1];
	int64_t epoch;
	char mechanism[16];
	int64_t created_wall_ms, expires_wall_ms; /* wall: for people, and after a reboot */
	int64_t created_boot_ms, expires_boot_ms; /* BOOTTIME: decides while boot_id is the same */
	char boot_id[40];
	struct sbx_limits limits;
	uint64_t tmp_bytes;
	int cgroup_layout; /* enum sbx_cgroup_layout; 0: best effort without groups */
	char cgroup_parent[2112]; /* as sbx_cgroup_host_open() takes it */
	int64_t slot; /* -1: none */
	int64_t uid, gid; /* host ids of its processes; -1 before they are known */
	int64_t init_pid, init_start; /* pid 1 as the host sees it, its start in ticks; 0: none */
	char enforced[SBX_ENV_LAYERS_MAX][32]; /* the layers that are on, e.g. "seccomp:strict" */
	size_t enforced_count;
	char quota
		[16]; /* what bounds its workspace: a name of `quota` in sbx.yaml(5); "": nothing */
	char image[80]; /* digest, or "" */
	int64_t storage_memory; /* 1: the state is on a tmpfs, by request */
};

/* An open environment. dir_fd and lock_fd are owned; lock_fd is -1 while not locked. */
struct sbx_env {
	char id[SBX_ENV_ID_SIZE];
	int dir_fd, lock_fd;
};

/*
 * Create env/<id>/ or open the one that is there, and take its lock exclusively (waits up to
 * wait_ms; SBX_E_BUSY then). *created (may be NULL) is 1 if nothing is recorded there yet: the
 * caller is the first to build it, or the first after one that died before it had made anything.
 * Without `create` a missing one is SBX_E_NOT_FOUND. The lock dies with the descriptor.
 */
int sbx_env_lock(const struct sbx_state *state, const char *id, int create, int64_t wait_ms,
	struct sbx_env *env, int *created, struct sbx_err *err) __attribute__((warn_unused_result));
/* Open without the lock, for reading and for running commands. SBX_E_NOT_FOUND. */
int sbx_env_open(const struct sbx_state *state, const char *id, struct sbx_env *env,
	struct sbx_err *err) __attribute__((warn_unused_result));
void sbx_env_close(struct sbx_env *env); /* releases the lock; NULL is fine */

/* spec.json: the canonical text. SBX_E_NOT_FOUND if it was never written. */
int sbx_env_read_spec(const struct sbx_env *env, struct sbx_buf *out, struct sbx_err *err)
	__attribute__((warn_unused_result));
int sbx_env_write_spec(const struct sbx_env *env, const char *canonical, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* state.json. A damaged one is SBX_E_CORRUPT; of a newer version SBX_E_UNAVAILABLE. */
int sbx_env_read(const struct sbx_env *env, struct sbx_env_record *record, struct sbx_err *err)
	__attribute__((warn_unused_result));
int sbx_env_write(const struct sbx_env *env, const struct sbx_env_record *record,
	struct sbx_err *err) __attribute__((warn_unused_result));

/* Milliseconds left until it expires (negative: over), by BOOTTIME in this boot, else wall time. */
int64_t sbx_env_left_ms(const struct sbx_env_record *record);

/* 1 if the recorded pid 1 lives: same boot, same pid, same start time. */
int sbx_env_init_alive(const struct sbx_env_record *record);

/* The start time of a process in clock ticks since boot (field 22 of proc_pid_stat(5)); 0 if there
 * is no such process or it is a zombie. */
int64_t sbx_env_start_time(int64_t pid);

/* Remove env/<id>/ with all it holds; the lock is held by the caller and freed. */
int sbx_env_remove(const struct sbx_state *state, struct sbx_env *env, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* The `env` record of sbx-provision as one line: type, env, created, state, tenant, run, epoch,
 * mechanism, image, expires_at, limits, enforced, storage, timing_us when total_us is not 0. */
int sbx_env_record_line(const struct sbx_env_record *record, int created, int64_t total_us,
	struct sbx_buf *out, struct sbx_err *err) __attribute__((warn_unused_result));

/* Remove what a killed sbx_env_remove() left, of one id or of all; environments are not touched. */
int sbx_env_sweep_remnant(const struct sbx_state *state, const char *id, struct sbx_err *err)
	__attribute__((warn_unused_result));
int sbx_env_sweep_remnants(const struct sbx_state *state, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* Iterate over ids in env/ (a snapshot of names, sorted). The caller frees the array, which is one
 * block. */
int sbx_env_list(const struct sbx_state *state, char (**ids)[SBX_ENV_ID_SIZE], size_t *count,
	struct sbx_err *err) __attribute__((warn_unused_result));

#endif
