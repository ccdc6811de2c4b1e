/*
 * What mechanism native makes on the host's side before the first process, for native.c only: the
 * ids, the groups, the socket, the trees, and from them the plan of the launch.
 */
#ifndef SBX_MECH_NATIVE_PARTS_H
#define SBX_MECH_NATIVE_PARTS_H

#include "mech/native/native.h"

/* The descriptors of a launch, all owned. */
struct sbx_native_parts {
	struct sbx_cgroup_host host;
	struct sbx_cgroup groups;
	int has_host, has_groups;
	int group_fd, listen_fd, init_fd, workspace_fd, image_fd;
	struct sbx_native_plan plan;
};

/*
 * Make them; fills the record's uid, gid, slot, cgroup_* and enforced. Also after failure the caller
 * calls done(), which closes but takes nothing back: native's destroy() does, from the record.
 */
int sbx_native_parts_make(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_spec *spec, struct sbx_env_record *record, struct sbx_native_parts *parts,
	struct sbx_err *err) __attribute__((warn_unused_result));
void sbx_native_parts_done(struct sbx_native_parts *parts);

/* ids.c: fills slot, uid and gid of the record. */
int sbx_native_choose_ids(const struct sbx_mech_host *host, const struct sbx_env *env,
	struct sbx_env_record *record, struct sbx_err *err) __attribute__((warn_unused_result));
/* The workspace and its marker to that uid. */
int sbx_native_give_workspace(const struct sbx_env *env, const struct sbx_env_record *record,
	struct sbx_err *err) __attribute__((warn_unused_result));
/* Remove the workspace if it belongs to a subordinate uid: later nobody could. */
int sbx_native_take_workspace(const struct sbx_env *env, const struct sbx_env_record *record,
	struct sbx_err *err) __attribute__((warn_unused_result));

/*
 * Where root's groups are: below the configured parent in a directory of this state directory's, so
 * that the same tuple in two states on one host is two environments.
 */
int sbx_native_cgroup_parent(const struct sbx_mech_host *host, char out[SBX_CGROUP_PARENT_SIZE],
	struct sbx_err *err) __attribute__((warn_unused_result));

#endif
