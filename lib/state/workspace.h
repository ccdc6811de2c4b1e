/*
 * Workspace access: a path is walked by component from the workspace's descriptor, nothing that is a
 * link is followed, no other file system entered, nothing but regular files and directories opened,
 * and nothing written. The same in every mechanism: on the host for native, by our static helper in a
 * container. It runs in a process of its own that the code in the environment can neither signal nor
 * trace. Musl-clean: it is part of sbx-init.
 */
#ifndef SBX_STATE_WORKSPACE_H
#define SBX_STATE_WORKSPACE_H

#include <stdint.h>

#define SBX_FILES_PATH_MAX 65536 /* bytes with the NUL: trees may be deeper than PATH_MAX */

enum sbx_files_op {
	SBX_FILES_MEASURE = 1, /* struct sbx_files_measured */
	SBX_FILES_STAT, /* struct sbx_files_entry, without a name */
	SBX_FILES_LIST, /* for each name in the directory an entry and its name, from the offset-th on,
			 * at most limit of them, in the directory's own order */
	SBX_FILES_READ, /* the bytes of a regular file, from offset, at most limit */
};

enum sbx_files_failure {
	SBX_FILES_OK = 0,
	SBX_FILES_NOT_FOUND,
	SBX_FILES_NOT_A_DIRECTORY,
	SBX_FILES_IS_A_DIRECTORY,
	SBX_FILES_SYMLINK,
	SBX_FILES_SPECIAL, /* device, fifo, socket */
	SBX_FILES_OUTSIDE, /* "..", absolute, another file system */
	SBX_FILES_TOO_LARGE, /* there is more than limit, which was sent */
	SBX_FILES_IO,
};

struct sbx_files_measured {
	uint64_t bytes; /* blocks allocated, hard links once */
	uint64_t inodes; /* all names, the directory itself not */
};

struct sbx_files_entry {
	uint32_t mode, nlink; /* mode with its type, as stat(2) */
	uint64_t size, blocks; /* blocks of 512 bytes */
	int64_t mtime_sec, mtime_nsec;
	uint32_t name_bytes; /* follow, without a NUL */
	uint32_t reserved;
};

/*
 * Do what is asked and write the answer to `out`: bytes of one machine's own order. The path is relative
 * to the workspace, "" is the workspace. Blocks as long as `out` does and the tree is large; a tree that
 * is moved meanwhile is an error, never another tree.
 */
enum sbx_files_failure sbx_workspace_serve(int workspace_fd, enum sbx_files_op op, const char *path,
	uint64_t offset, uint64_t limit, int out);

/* Of an errno of these calls. */
enum sbx_files_failure sbx_workspace_failure(int error);

/* An entry beneath `dir` that is no link and on device `dev`, opened for reading. */
struct stat;
enum sbx_files_failure sbx_workspace_open(int dir, const char *name, int directory, uint64_t dev,
	int *fd, struct stat *st);
/* workspace_measure.c: takes fd. */
enum sbx_files_failure sbx_workspace_measure(int fd, struct sbx_files_measured *measured);

#endif
