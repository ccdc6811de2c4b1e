/*
 * The walk of tree.h. A stack of levels, one a directory that we are in, replaces recursion; only
 * the deepest WINDOW hold a descriptor, the others are come back to by "..", which must be the
 * directory that was left: else somebody moved the tree, and the walk fails. Such a level reads on from
 * where it was when it went into a directory; the others have kept their names. Never changes
 * anything.
 */
#include "workspace/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/scoped.h"

#define WINDOW 32
#define NAMES_BYTES 32768

static void
drop_names(struct sbx_tree *tree, struct sbx_tree_level *level)
{
	if (tree->spare == NULL)
		tree->spare = sbx_take_ptr(level->names);
	free(sbx_take_ptr(level->names));
	level->filled = level->at = 0;
}

static void
push(struct sbx_tree *tree, int fd, uint64_t ino, size_t path_bytes)
{
	if (tree->depth == tree->room) {
		tree->room = tree->room == 0 ? WINDOW : tree->room * 2;
		tree->levels = sbx_mem_grow(tree->levels, tree->room, sizeof(*tree->levels));
	}
	tree->levels[tree->depth++] =
		(struct sbx_tree_level){ .fd = fd, .ino = ino, .path_bytes = path_bytes };
	if (tree->depth - tree->oldest > WINDOW) {
		struct sbx_tree_level *level = &tree->levels[tree->oldest++];

		sbx_scoped_close(&level->fd);
		level->fd = -1;
		drop_names(tree, level);
	}
}

enum sbx_files_failure
sbx_tree_open(struct sbx_tree *tree, int dir, char *path)
{
	SBX_AUTO_FD fd = dir;
	struct stat st;

	*tree = (struct sbx_tree){ .path = path, .dir = -1 };
	if (fstat(fd, &st) != 0)
		return SBX_FILES_IO;
	tree->dev = st.st_dev;
	push(tree, sbx_take_fd(&fd), st.st_ino, 0);
	return SBX_FILES_OK;
}

/* The descriptor of the deepest level, by ".." of the one below it, and its place there. -1 with errno. */
static int
come_back(struct sbx_tree *tree, int below)
{
	struct sbx_tree_level *level = &tree->levels[tree->depth - 1];
	struct stat st;

	level->fd = openat(below, "..", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (level->fd < 0 || fstat(level->fd, &st) != 0)
		return -1;
	tree->oldest = tree->depth - 1;
	if (st.st_dev != tree->dev || st.st_ino != level->ino) {
		errno = EIO;
		return -1;
	}
	/* ext4 knows no place in a directory that was removed; reading on there is an end. */
	return lseek(level->fd, level->offset, SEEK_SET) >= 0 || st.st_nlink == 0 ? 0 : -1;
}

/* The deepest level is read to its end: go on in the one above. -1 with errno. */
static int
leave(struct sbx_tree *tree)
{
	struct sbx_tree_level *left = &tree->levels[--tree->depth];
	SBX_AUTO_FD below = left->fd;

	drop_names(tree, left);
	if (tree->depth == 0 || tree->levels[tree->depth - 1].fd >= 0)
		return 0;
	return come_back(tree, below);
}

/* More of the deepest level, or else the level above. -1 with errno. */
static int
read_on(struct sbx_tree *tree)
{
	struct sbx_tree_level *level = &tree->levels[tree->depth - 1];
	ssize_t n;

	if (level->names == NULL)
		level->names = tree->spare != NULL ? sbx_take_ptr(tree->spare) :
						     sbx_mem_grow(NULL, 1, NAMES_BYTES);
	n = getdents64(level->fd, (void *)level->names, NAMES_BYTES);
	level->at = 0;
	level->filled = n > 0 ? (size_t)n : 0;
	if (n > 0)
		return 0;
	/* ENOENT: somebody removed this very directory. */
	return n < 0 && errno != ENOENT ? -1 : leave(tree);
}

int
sbx_tree_next(struct sbx_tree *tree)
{
	while (tree->depth > 0) {
		struct sbx_tree_level *level = &tree->levels[tree->depth - 1];
		const struct dirent64 *entry = (const void *)(level->names + level->at);
		size_t length;

		if (level->at >= level->filled) {
			if (read_on(tree) != 0)
				return -1;
			continue;
		}
		level->at += entry->d_reclen;
		length = strlen(entry->d_name);
		/* A longer name is none of a file system of ours, and no path can have it. */
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
			length > NAME_MAX)
			continue;
		tree->dir = level->fd;
		tree->name = entry->d_name;
		tree->type = entry->d_type;
		tree->behind = entry->d_off;
		if (tree->path != NULL)
			memcpy(tree->path + level->path_bytes, entry->d_name, length + 1);
		return 1;
	}
	return 0;
}

/* Nothing but a directory is opened by this, so it need not be looked at before. */
static enum sbx_files_failure
open_directory(const struct sbx_tree *tree, int *fd, struct stat *st)
{
	enum sbx_files_failure failure;
	SBX_AUTO_FD opened = openat(tree->dir, tree->name,
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (opened < 0 || fstat(opened, st) != 0)
		return sbx_workspace_failure(errno);
	failure = st->st_dev == tree->dev ? SBX_FILES_OK : SBX_FILES_OUTSIDE;
	if (failure == SBX_FILES_OK)
		*fd = sbx_take_fd(&opened);
	return failure;
}

enum sbx_files_failure
sbx_tree_enter(struct sbx_tree *tree)
{
	struct sbx_tree_level *above = &tree->levels[tree->depth - 1];
	size_t path_bytes = above->path_bytes + strlen(tree->name) + 1;
	enum sbx_files_failure failure;
	struct stat st = { 0 };
	int fd = -1;

	/* Whatever it holds, there is room for that path. */
	if (tree->path != NULL &&
		(tree->depth >= SBX_TREE_LEVELS || path_bytes + NAME_MAX >= SBX_FILES_PATH_MAX))
		return SBX_FILES_TOO_LARGE;
	failure = open_directory(tree, &fd, &st);
	if (failure != SBX_FILES_OK)
		return failure;
	above->offset = tree->behind;
	if (tree->path != NULL)
		tree->path[path_bytes - 1] = '/';
	push(tree, fd, st.st_ino, path_bytes);
	return SBX_FILES_OK;
}

void
sbx_tree_done(struct sbx_tree *tree)
{
	while (tree->depth > 0) {
		struct sbx_tree_level *level = &tree->levels[--tree->depth];

		sbx_scoped_close(&level->fd);
		free(level->names);
	}
	free(sbx_take_ptr(tree->spare));
	free(sbx_take_ptr(tree->levels));
}
