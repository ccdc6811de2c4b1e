/*
 * The stream of pack.h into a directory of the workspace, entry by entry, each by the same
 * operations that make one file, directory or link: no path leads through a link or out. What has
 * come in stays when a later entry fails, whose path is the answer then.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "workspace/pack.h"
#include "workspace/impl.h"

struct import {
	int dir; /* of the workspace, into which it goes */
	int in;
	uint64_t left; /* bytes of files that may still come */
	struct sbx_pack_entry entry;
	char path[SBX_FILES_PATH_MAX], target[SBX_FILES_PATH_MAX];
};

/* Text of a stranger: of the length that was said, and without a NUL in it. */
static int
take_text(int in, uint32_t length, char text[SBX_FILES_PATH_MAX])
{
	if (length >= SBX_FILES_PATH_MAX || sbx_workspace_take(in, text, length) != 0)
		return -1;
	text[length] = '\0';
	return strlen(text) == length ? 0 : -1;
}

static int
take_entry(struct import *import)
{
	struct sbx_pack_entry *entry = &import->entry;

	if (sbx_workspace_take(import->in, entry, sizeof(*entry)) != 0 ||
		entry->magic != SBX_PACK_MAGIC || entry->kind > SBX_PACK_SKIPPED)
		return -1;
	return take_text(import->in, entry->path_bytes, import->path) != 0 ||
			take_text(import->in, entry->target_bytes, import->target) != 0 ?
		-1 :
		0;
}

static enum sbx_files_failure
place(const struct import *import, const char *path, int make, uint64_t *dev, int *dir,
	char name[SBX_FILES_NAME_SIZE])
{
	enum sbx_files_failure failure = sbx_workspace_walk_make(import->dir, path, make, dev, dir,
		name);

	return failure == SBX_FILES_OK && name[0] == '\0' ? SBX_FILES_OUTSIDE : failure;
}

/* What is there gives way, unless it is a directory. */
static enum sbx_files_failure
make_room(int dir, const char *name)
{
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return SBX_FILES_OK;
	return errno == EISDIR || errno == EPERM ? SBX_FILES_IS_A_DIRECTORY :
						   sbx_workspace_failure(errno);
}

static enum sbx_files_failure
make_symlink(const struct import *import)
{
	char name[SBX_FILES_NAME_SIZE];
	SBX_AUTO_FD dir = -1;
	enum sbx_files_failure failure;
	uint64_t dev;

	failure = place(import, import->path, 1, &dev, &dir, name);
	if (failure != SBX_FILES_OK)
		return failure;
	if (symlinkat(import->target, dir, name) == 0)
		return SBX_FILES_OK;
	if (errno != EEXIST)
		return sbx_workspace_failure(errno);
	failure = make_room(dir, name);
	if (failure == SBX_FILES_OK && symlinkat(import->target, dir, name) != 0)
		failure = sbx_workspace_failure(errno);
	return failure;
}

static enum sbx_files_failure
make_hardlink(const struct import *import)
{
	char name[SBX_FILES_NAME_SIZE], from[SBX_FILES_NAME_SIZE];
	SBX_AUTO_FD dir = -1;
	SBX_AUTO_FD from_dir = -1;
	enum sbx_files_failure failure;
	struct stat st;
	uint64_t dev;

	failure = place(import, import->target, 0, &dev, &from_dir, from);
	if (failure == SBX_FILES_OK && fstatat(from_dir, from, &st, AT_SYMLINK_NOFOLLOW) != 0)
		failure = sbx_workspace_failure(errno);
	if (failure == SBX_FILES_OK)
		failure = sbx_workspace_judge(&st, 0, dev);
	if (failure == SBX_FILES_OK)
		failure = place(import, import->path, 1, &dev, &dir, name);
	if (failure != SBX_FILES_OK)
		return failure;
	if (linkat(from_dir, from, dir, name, 0) == 0)
		return SBX_FILES_OK;
	if (errno != EEXIST)
		return sbx_workspace_failure(errno);
	failure = make_room(dir, name);
	if (failure == SBX_FILES_OK && linkat(from_dir, from, dir, name, 0) != 0)
		failure = sbx_workspace_failure(errno);
	return failure;
}

/* The time that it had; of a link the link's own. Best effort: a file is no worse for its age. */
static void
set_time(const struct import *import)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
		{ .tv_sec = import->entry.mtime_sec,
			.tv_nsec = import->entry.mtime_nsec < 1000000000 ?
				(long)import->entry.mtime_nsec :
				0 } };
	char name[SBX_FILES_NAME_SIZE];
	SBX_AUTO_FD dir = -1;
	uint64_t dev;

	if (place(import, import->path, 0, &dev, &dir, name) == SBX_FILES_OK)
		(void)utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW);
}

static enum sbx_files_failure
make_file(struct import *import, const struct sbx_files_want *want)
{
	uint64_t came = 0;
	enum sbx_files_failure failure = sbx_workspace_write(import->dir, want, import->in, &came);

	import->left -= came;
	return failure;
}

static enum sbx_files_failure
make_one(struct import *import)
{
	struct sbx_files_want want = { .op = SBX_FILES_WRITE,
		.flags = SBX_FILES_PARENTS,
		.mode = import->entry.mode & 0777,
		.path = import->path,
		.limit = import->left };
	enum sbx_files_failure failure = SBX_FILES_BROKEN;

	switch ((enum sbx_pack_kind)import->entry.kind) {
	case SBX_PACK_DIRECTORY:
		want.op = SBX_FILES_MKDIR;
		failure = sbx_workspace_change(import->dir, &want);
		break;
	case SBX_PACK_FILE:
		failure = make_file(import, &want);
		break;
	case SBX_PACK_SYMLINK:
		failure = make_symlink(import);
		break;
	case SBX_PACK_HARDLINK:
		return make_hardlink(import);
	case SBX_PACK_SKIPPED:
		return SBX_FILES_OK;
	case SBX_PACK_END:
		break;
	}
	if (failure == SBX_FILES_OK)
		set_time(import);
	return failure;
}

/* `dir` of `want`, with the owner's rights. */
static enum sbx_files_failure
open_dir(int workspace_fd, const struct sbx_files_want *want, int *fd)
{
	char name[SBX_FILES_NAME_SIZE];
	SBX_AUTO_FD dir = -1;
	enum sbx_files_failure failure;
	struct stat st;
	uint64_t dev;

	failure = sbx_workspace_walk(workspace_fd, want->path, &dev, &dir, name);
	if (failure != SBX_FILES_OK)
		return failure;
	if (name[0] != '\0')
		return sbx_workspace_open(dir, name, 1, dev, fd, &st);
	*fd = sbx_take_fd(&dir);
	return SBX_FILES_OK;
}

enum sbx_files_failure
sbx_workspace_import(int workspace_fd, const struct sbx_files_want *want, int in, int out)
{
	static struct import import;
	SBX_AUTO_FD dir = -1;
	enum sbx_files_failure failure = open_dir(workspace_fd, want, &dir);

	import.dir = dir;
	import.in = in;
	import.left = want->limit;
	while (failure == SBX_FILES_OK) {
		import.path[0] = '\0';
		if (take_entry(&import) != 0)
			return SBX_FILES_BROKEN;
		if (import.entry.kind == SBX_PACK_END)
			return SBX_FILES_OK;
		failure = make_one(&import);
	}
	if (import.path[0] != '\0')
		(void)sbx_workspace_send(out, import.path, strlen(import.path));
	return failure;
}
