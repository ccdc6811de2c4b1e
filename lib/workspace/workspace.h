/*
 * Workspace access: a path is walked by component from the workspace's descriptor, nothing that is
 * a link is followed, no other file system entered, and nothing but regular files and directories
 * opened. Reading needs no permission of the files; what is changed is changed as their owner, who
 * may do inside whatever that is. The same in every mechanism: on the host for native, by our
 * static helper in a container. It runs in a process of its own that the code in the environment
 * can neither signal nor trace. Musl-clean: it is part of sbx-init.
 */
#ifndef SBX_WORKSPACE_WORKSPACE_H
#define SBX_WORKSPACE_WORKSPACE_H

#include <stdint.h>

#define SBX_FILES_PATH_MAX 65536 /* bytes with the NUL: trees may be deeper than PATH_MAX */
#define SBX_FILES_PAGE_MAX ((uint64_t)96 * 1024)
#define SBX_FILES_MARKER ".agent-initialized" /* in a fresh workspace: an empty file */
#define SBX_FILES_MARKER_MODE 0600
#define SBX_FILES_NAME_SIZE 256 /* a component with its NUL */

enum sbx_files_op {
	SBX_FILES_MEASURE = 1, /* struct sbx_files_measured */
	SBX_FILES_STAT, /* struct sbx_files_entry, without a name */
	SBX_FILES_LIST, /* for each name in the directory an entry and its name, from the offset-th on,
			 * at most limit of them, in the directory's own order */
	SBX_FILES_READ, /* the bytes of a regular file, from offset, at most limit */
	SBX_FILES_EXPORT, /* a directory and all below it as workspace/pack.h has it, at most limit bytes
			   * of files: TOO_LARGE */
	SBX_FILES_SNAPSHOT, /* of the whole workspace, as snap.h has it; an earlier one comes in as WRITE's
			     * bytes do, or nothing */
	/* those that change something */
	SBX_FILES_WRITE, /* a regular file out of what comes in: whole, or not at all */
	SBX_FILES_MKDIR,
	SBX_FILES_RENAME, /* path becomes `to`, which is replaced as rename(2) does */
	SBX_FILES_IMPORT, /* what comes in, as workspace/pack.h has it, into a directory: at most limit bytes
			   * of files; what failed is named by its path */
	SBX_FILES_REMOVE, /* the entry itself, whatever it is; a directory must be empty */
};

enum sbx_files_flag {
	SBX_FILES_RECURSIVE = 1, /* LIST: what directories hold too, right behind each, by paths
				  * relative to the first; REMOVE: a directory with all it holds */
	SBX_FILES_PARENTS = 2, /* WRITE, MKDIR: make directories that are missing above; MKDIR: and
				* one that is there already is fine */
	SBX_FILES_NEW = 4, /* WRITE, RENAME: EXISTS instead of replacing */
	SBX_FILES_PAGED =
		16, /* LIST: an answer of more than SBX_FILES_PAGE_MAX bytes is TOO_LARGE, too */
	SBX_FILES_QUIET = 32, /* SNAPSHOT: nobody writes meanwhile */
	SBX_FILES_APPEND = 8, /* WRITE: after what is there; not whole or nothing */
};

enum sbx_files_failure {
	SBX_FILES_OK = 0,
	SBX_FILES_NOT_FOUND,
	SBX_FILES_NOT_A_DIRECTORY,
	SBX_FILES_IS_A_DIRECTORY,
	SBX_FILES_SYMLINK,
	SBX_FILES_SPECIAL, /* device, fifo, socket */
	SBX_FILES_OUTSIDE, /* "..", absolute, another file system or a mount point; to be changed:
			    * the workspace itself; RENAME: a directory to below itself */
	SBX_FILES_TOO_LARGE, /* there is more than limit, which was sent */
	SBX_FILES_IO, /* also: the tree was moved meanwhile, uid:gid could not be taken over */
	SBX_FILES_EXISTS,
	SBX_FILES_NOT_EMPTY,
	SBX_FILES_DENIED, /* its owner may not */
	SBX_FILES_NO_SPACE, /* a full disk, a quota, a file of more than limit bytes */
	SBX_FILES_BROKEN, /* what comes in ended in the middle */
	SBX_FILES_FAILURES
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

#define SBX_FILES_MODE_KEPT UINT32_MAX

struct sbx_files_want {
	enum sbx_files_op op;
	uint32_t flags; /* enum sbx_files_flag */
	uint32_t mode; /* WRITE, MKDIR: permissions, at most 0777; KEPT: as it has them, a new file
			* 0644, a new directory 0755 */
	const char *path, *to; /* relative to the workspace, "" is the workspace; borrowed */
	uint64_t offset, limit; /* WRITE: limit is of the file's bytes */
	int64_t uid, gid; /* whose the workspace is; -1: ours */
};

/*
 * Do what is asked and write the answer to `out`: bytes of one machine's own order. Blocks as long
 * as `in` and `out` do and the tree is large; a tree that is moved meanwhile is an error, never
 * another tree. An op that changes something takes over the identity uid:gid, where we are
 * effectively root, and the umask 0, both for good (effective ids and no supplementary groups): for
 * a process of its own.
 *
 * WRITE takes its bytes from `in` as chunks, each a uint32_t and so many bytes; one of 0 bytes is
 * the end. An end of file before it leaves the file as it was. A failure may be answered before all
 * came in. Until it is whole the file is ".sbx-write-" and 16 hex digits beside its name, which
 * stays if we are killed. What is replaced must be a regular file, which need not be writable: its
 * directory must. Other ops do not read `in`.
 *
 * A recursive LIST goes into no mount point, no directory that may not be read, and none so deep
 * that paths were SBX_FILES_PATH_MAX bytes or had more than 1,024 components: those are only
 * listed. Each call walks from the beginning. A recursive REMOVE ends at a mount point (OUTSIDE)
 * and at what the owner may not remove (DENIED); what came before is gone.
 */
enum sbx_files_failure sbx_workspace_serve(int workspace_fd, const struct sbx_files_want *want,
	int in, int out);

/* Of an errno of these calls. */
enum sbx_files_failure sbx_workspace_failure(int error);

/*
 * To the directory that holds the last component, opened as *dir, which the caller closes; the
 * component is left in `name` ("": the workspace itself), the file system in *dev.
 */
enum sbx_files_failure sbx_workspace_walk(int workspace_fd, const char *path, uint64_t *dev,
	int *dir, char name[SBX_FILES_NAME_SIZE]);

/* An entry beneath `dir` that is no link and on device `dev`, opened for reading. */
struct stat;
enum sbx_files_failure sbx_workspace_open(int dir, const char *name, int directory, uint64_t dev,
	int *fd, struct stat *st);

#endif
