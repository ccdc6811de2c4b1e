/* What the files of this room share and nobody else includes. */
#ifndef SBX_WORKSPACE_IMPL_H
#define SBX_WORKSPACE_IMPL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "workspace/workspace.h"

/* path.c */

/* What an entry on device `dev` has to be: a directory, or else a regular file. */
enum sbx_files_failure sbx_workspace_judge(const struct stat *st, int directory, uint64_t dev);

/* sbx_workspace_walk(), which with `make` makes the directories that are missing, 0755. */
enum sbx_files_failure sbx_workspace_walk_make(int workspace_fd, const char *path, int make,
	uint64_t *dev, int *dir, char name[SBX_FILES_NAME_SIZE]);

/* serve.c */
void sbx_workspace_describe(const struct stat *st, size_t name_bytes,
	struct sbx_files_entry *entry);
enum sbx_files_failure sbx_workspace_send(int out, const void *bytes, size_t length);

/* measure.c, list.c: take fd. */
enum sbx_files_failure sbx_workspace_measure(int fd, int out);

enum sbx_files_failure sbx_workspace_list(int fd, const struct sbx_files_want *want, int out);

/* write.c; `came` (may be NULL) is how many bytes the file was sent. */
enum sbx_files_failure sbx_workspace_write(int workspace_fd, const struct sbx_files_want *want,
	int in, uint64_t *came);
/* All `length` bytes: 0, or -1 at the end of what comes in. */
int sbx_workspace_take(int in, void *bytes, size_t length);

/* export.c: takes fd. import.c */
enum sbx_files_failure sbx_workspace_export(int fd, const struct sbx_files_want *want, int out);
enum sbx_files_failure sbx_workspace_import(int workspace_fd, const struct sbx_files_want *want,
	int in, int out);

/* snap_serve.c */
enum sbx_files_failure sbx_workspace_snapshot(int workspace_fd, const struct sbx_files_want *want,
	int in, int out);

/* change.c: MKDIR, RENAME, REMOVE */
enum sbx_files_failure sbx_workspace_change(int workspace_fd, const struct sbx_files_want *want);

/* rename(2), but EEXIST instead of replacing, on any kernel. -1 with errno. */
int sbx_workspace_rename_new(int from_dir, const char *from, int to_dir, const char *to);

#endif
