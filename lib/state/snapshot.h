/*
 * env/<id>/snapshot: what the workspace was when the last command ended, replaced by rename; and
 * env/<id>/commands, whose lock tells who runs commands: shared while one does, exclusive while the
 * tree stands still for a snapshot. Neither is durable: both are of this boot.
 */
#ifndef SBX_STATE_SNAPSHOT_H
#define SBX_STATE_SNAPSHOT_H

#include "base/buf.h"
#include "base/err.h"
#include "data/json_out.h"
#include "state/env.h"
#include "workspace/snap.h"

/*
 * The snapshot that is there: mapped, checked. SBX_E_NOT_FOUND if none was ever taken; a damaged one
 * is SBX_E_CORRUPT and named. The caller closes it.
 */
int sbx_snapshot_read(const struct sbx_env *env, struct sbx_snap *snap, struct sbx_err *err)
	__attribute__((warn_unused_result));

int sbx_snapshot_open(const struct sbx_env *env); /* its file, for reading; -1 with errno */

/* What its foot says, unproved; left as they are if there is none. */
void sbx_snapshot_usage(const struct sbx_env *env, uint64_t *bytes, uint64_t *inodes);

/* One that is being written: the sink of a sbx_snap_take. Small ones stay in memory until keep(). */
struct sbx_snapshot_write {
	const struct sbx_env *env;
	int fd; /* snapshot.new; -1: all of it is in `held` */
	struct sbx_buf held;
};
void sbx_snapshot_begin(const struct sbx_env *env, struct sbx_snapshot_write *write,
	struct sbx_snap_sink *sink);
/*
 * All was put: 1 and `now` is it, mapped, in the place of the old one; 0 if it says what `before`
 * (may be NULL) says, which stays. The caller closes `now`.
 */
int sbx_snapshot_keep(struct sbx_snapshot_write *write, const struct sbx_snap *before,
	struct sbx_snap *now, struct sbx_err *err) __attribute__((warn_unused_result));
void sbx_snapshot_end(struct sbx_snapshot_write *write); /* idempotent */

/* What happened to one path, as members of the object that is open: change, path or path_b64, and of what is there now (or was,
 * if it is gone) kind, size, mode, digest; `was` has the same of what was there before. */
void sbx_snapshot_change_out(struct sbx_json_out *out,
	const struct sbx_snap_difference *difference);

/* The lock's file, made if it is missing. The caller closes it. */
int sbx_snapshot_lock_open(const struct sbx_env *env, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* A command begins: waits while somebody takes a snapshot. */
int sbx_snapshot_lock_shared(int fd, struct sbx_err *err) __attribute__((warn_unused_result));
/* Ours ended: 1 the tree stands still until unlock(), 0 others run commands. Ours is let go. */
int sbx_snapshot_lock_alone(int fd);
void sbx_snapshot_unlock(int fd);

#endif
