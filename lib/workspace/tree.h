/*
 * One walk for all that read a tree which somebody hostile filled: name after name, depth first, a
 * directory before what it holds. Never follows, never leaves the file system, never opens anything
 * but directories, and those only when asked. Musl-clean: it is part of sbx-init.
 */
#ifndef SBX_WORKSPACE_TREE_H
#define SBX_WORKSPACE_TREE_H

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "workspace/workspace.h"

#define SBX_TREE_LEVELS 1024 /* with paths: as many components at most */

struct sbx_tree_level {
	uint64_t ino;
	off_t offset; /* past the entry that was entered */
	size_t path_bytes; /* of this directory, with its '/' */
	int fd; /* -1 outside the window, and then it holds no names either */
	char *names; /* as getdents64(2) gave them; NULL: none yet */
	size_t filled, at;
};

/* The caller's. Fields up to `type` may be read. */
struct sbx_tree {
	uint64_t dev;
	int dir; /* the directory of the present entry; the tree's */
	const char *name; /* the present entry, until the next call */
	char *path; /* its path below the first directory; NULL if none was asked for */
	unsigned char type; /* DT_, may be DT_UNKNOWN */
	struct sbx_tree_level *levels;
	size_t depth, room, oldest; /* oldest: the first that holds its descriptor */
	off_t behind; /* where the directory goes on after the present entry */
	char *spare; /* room for the names of one level */
};

/*
 * Begin in `dir`, which is taken, also on failure. `path` is NULL or room for SBX_FILES_PATH_MAX
 * bytes, the caller's until done(). Without paths a tree may be of any depth: 64 bytes a level.
 */
enum sbx_files_failure sbx_tree_open(struct sbx_tree *tree, int dir, char *path)
	__attribute__((warn_unused_result));

/*
 * 1: an entry, of which nothing but its name is known, 0: no more, -1 with errno: a directory that
 * cannot be read, or the tree was moved. Blocks as disks do. `depth` is 1 for what the first
 * directory holds.
 */
int sbx_tree_next(struct sbx_tree *tree) __attribute__((warn_unused_result));

/*
 * Go into the present entry: what it holds comes next. Else why not, and the walk goes on behind it:
 * NOT_FOUND, NOT_A_DIRECTORY, SYMLINK (it is another by now), OUTSIDE (a mount point), TOO_LARGE
 * (beyond SBX_TREE_LEVELS or a path's length), DENIED, IO.
 */
enum sbx_files_failure sbx_tree_enter(struct sbx_tree *tree) __attribute__((warn_unused_result));

void sbx_tree_done(struct sbx_tree *tree);

#endif
