/*
 * What bounds the workspace of a native environment (the key `quota` of sbx.yaml(5)):
 *
 *     storage.c           the choice, the record, and the end of all kinds
 *     storage_image.c     an ext4 image on a loop device
 *     storage_template.c  the file system of an image, kept for the next of that size
 *     storage_tmpfs.c     a tmpfs
 *     storage_project.c   a project quota of the file system below
 *     storage_probe.c     each, tried
 *
 * A file system of its own is mounted on env/<id>/workspace in the host's mount namespace, where it
 * survives a restart. One kind is recorded before anything of it is made; what there is, is found
 * from the id alone, since all of it hangs on env/<id>/.
 */
#ifndef SBX_MECH_NATIVE_STORAGE_H
#define SBX_MECH_NATIVE_STORAGE_H

#include "kernel/ext4.h"
#include "mech/mech.h"

#define SBX_STORAGE_IMAGE "workspace.img" /* in env/<id>/ */

/* mech->storage: env/<id>/workspace is an empty directory. Fills the record's quota. */
int sbx_native_storage(const struct sbx_mech_host *host, const struct sbx_env *env,
	struct sbx_env_record *record, struct sbx_err *err) __attribute__((warn_unused_result));
/* Take it down, whatever kind; idempotent. SBX_E_BUSY: somebody holds it, and all of it is kept. */
int sbx_native_storage_drop(const struct sbx_env *env, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* Whether by this record something is mounted on the workspace. */
int sbx_native_storage_is_mount(const struct sbx_env_record *record);
/* SBX_E_UNAVAILABLE where it is not seen here: another mount namespace may not have it. */
int sbx_native_storage_seen(int workspace_fd, struct sbx_err *err)
	__attribute__((warn_unused_result));
void sbx_native_storage_probe(const struct sbx_mech_host *host, struct sbx_probe *probe);

/* ---- the kinds, each made in the empty directory. SBX_E_UNAVAILABLE: this host does not have it. */
int sbx_native_image_make(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record, struct sbx_err *err)
	__attribute__((warn_unused_result));
int sbx_native_image_drop(const struct sbx_env *env, int loop_number, struct sbx_err *err)
	__attribute__((warn_unused_result));
int sbx_native_tmpfs_make(const struct sbx_env *env, const struct sbx_env_record *record,
	struct sbx_err *err) __attribute__((warn_unused_result));
int sbx_native_project_make(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record, struct sbx_err *err)
	__attribute__((warn_unused_result));
int sbx_native_project_drop(const struct sbx_env *env, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* Unmount what is on env/<id>/workspace: 1 something was, 0 nothing, -1. *dev: of the last of it. */
int sbx_native_unmount(const struct sbx_env *env, dev_t *dev, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* ---- the template of a size: the blocks of its file system that are not empty. Owns `text`. */
struct sbx_native_template {
	struct sbx_buf text;
	uint64_t blocks; /* of the whole file system */
	uint64_t count; /* of those that are there */
};
int sbx_native_template_open(const struct sbx_state *state, const struct sbx_ext4_room *room,
	struct sbx_native_template *template, struct sbx_err *err)
	__attribute__((warn_unused_result));
void sbx_native_template_done(struct sbx_native_template *template);
/* Into a file that reads as zeros so far. -1 with errno. */
int sbx_native_template_write(const struct sbx_native_template *template, int fd)
	__attribute__((warn_unused_result));
/* Forget it: it was found to be wrong. */
void sbx_native_template_drop(const struct sbx_state *state, const struct sbx_ext4_room *room);

#endif
