/*
 * Directories made, entries renamed and removed. Each works on a name in a directory that is held by
 * its descriptor: nothing follows a link, and the kernel keeps mount points from being renamed or
 * removed. Never touches the workspace itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/scoped.h"
#include "base/walk.h"
#include "workspace/impl.h"

/* A name in a directory; owns it. */
struct place {
	int dir;
	uint64_t dev;
	char name[SBX_FILES_NAME_SIZE];
};

static void
place_close(struct place *place)
{
	sbx_scoped_close(&place->dir);
}

#define AUTO_PLACE __attribute__((cleanup(place_close))) struct place

static enum sbx_files_failure
result(int rc)
{
	return rc == 0 ? SBX_FILES_OK : sbx_workspace_failure(errno);
}

/* The place of what may be changed, and what is there now. */
static enum sbx_files_failure
find(int workspace_fd, const char *path, struct place *place, struct stat *st)
{
	enum sbx_files_failure failure = sbx_workspace_walk(workspace_fd, path, &place->dev,
		&place->dir, place->name);

	if (failure != SBX_FILES_OK)
		return failure;
	if (place->name[0] == '\0')
		return SBX_FILES_OUTSIDE;
	if (fstatat(place->dir, place->name, st, AT_SYMLINK_NOFOLLOW) != 0)
		return sbx_workspace_failure(errno);
	return st->st_dev == place->dev ? SBX_FILES_OK : SBX_FILES_OUTSIDE;
}

static enum sbx_files_failure
make_directory(int workspace_fd, const struct sbx_files_want *want)
{
	AUTO_PLACE place = { .dir = -1 };
	mode_t mode = want->mode == SBX_FILES_MODE_KEPT ? 0755 : want->mode & 0777;
	int parents = (want->flags & SBX_FILES_PARENTS) != 0;
	enum sbx_files_failure failure;
	struct stat st;

	failure = sbx_workspace_walk_make(workspace_fd, want->path, parents, &place.dev, &place.dir,
		place.name);
	if (failure != SBX_FILES_OK)
		return failure;
	if (place.name[0] == '\0')
		return parents ? SBX_FILES_OK : SBX_FILES_OUTSIDE;
	if (mkdirat(place.dir, place.name, mode) == 0)
		return SBX_FILES_OK;
	if (errno != EEXIST || !parents ||
		fstatat(place.dir, place.name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return sbx_workspace_failure(errno);
	return sbx_workspace_judge(&st, 1, place.dev);
}

/*
 * Without RENAME_NOREPLACE a directory takes the place of an empty one that we made, anything else
 * gets a second name before it loses its first.
 */
static int
rename_new_old_kernel(int from_dir, const char *from, int to_dir, const char *to)
{
	struct stat st;
	int saved;

	if (fstatat(from_dir, from, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return -1;
	if (!S_ISDIR(st.st_mode))
		return linkat(from_dir, from, to_dir, to, 0) == 0 ? unlinkat(from_dir, from, 0) :
								    -1;
	if (mkdirat(to_dir, to, 0700) != 0)
		return -1;
	if (renameat(from_dir, from, to_dir, to) == 0)
		return 0;
	saved = errno;
	unlinkat(to_dir, to, AT_REMOVEDIR);
	errno = saved;
	return -1;
}

int
sbx_workspace_rename_new(int from_dir, const char *from, int to_dir, const char *to)
{
	if (syscall(SYS_renameat2, from_dir, from, to_dir, to, RENAME_NOREPLACE) == 0)
		return 0;
	/* EINVAL: the file system has not got it, or a directory is to go below itself. */
	if (errno != ENOSYS && errno != EINVAL)
		return -1;
	return rename_new_old_kernel(from_dir, from, to_dir, to);
}

static enum sbx_files_failure
rename_entry(int workspace_fd, const struct sbx_files_want *want)
{
	AUTO_PLACE from = { .dir = -1 };
	AUTO_PLACE to = { .dir = -1 };
	enum sbx_files_failure failure;
	struct stat st;
	int rc;

	failure = find(workspace_fd, want->path, &from, &st);
	if (failure != SBX_FILES_OK)
		return failure;
	failure = find(workspace_fd, want->to, &to, &st);
	if (failure != SBX_FILES_OK && (failure != SBX_FILES_NOT_FOUND || to.dir < 0))
		return failure;
	if (want->flags & SBX_FILES_NEW)
		rc = sbx_workspace_rename_new(from.dir, from.name, to.dir, to.name);
	else
		rc = renameat(from.dir, from.name, to.dir, to.name);
	if (rc == 0)
		return SBX_FILES_OK;
	if (errno == EINVAL)
		return SBX_FILES_OUTSIDE;
	/* Some file systems say EEXIST of a directory that is not empty. */
	if (errno == EEXIST && (want->flags & SBX_FILES_NEW) == 0)
		return SBX_FILES_NOT_EMPTY;
	return sbx_workspace_failure(errno);
}

static enum sbx_files_failure
remove_tree(const struct place *place)
{
	struct sbx_err err = { .code = SBX_OK };

	if (sbx_walk_remove(place->dir, place->name, &err) == 0)
		return SBX_FILES_OK;
	/* CONFLICT: the tree is moved while it is removed. */
	return err.code == SBX_E_CONFLICT || err.sys == 0 ? SBX_FILES_IO :
							    sbx_workspace_failure(err.sys);
}

static enum sbx_files_failure
remove_entry(int workspace_fd, const struct sbx_files_want *want)
{
	AUTO_PLACE place = { .dir = -1 };
	enum sbx_files_failure failure;
	struct stat st;

	failure = find(workspace_fd, want->path, &place, &st);
	if (failure != SBX_FILES_OK)
		return failure;
	if (!S_ISDIR(st.st_mode))
		return result(unlinkat(place.dir, place.name, 0));
	if (want->flags & SBX_FILES_RECURSIVE)
		return remove_tree(&place);
	if (unlinkat(place.dir, place.name, AT_REMOVEDIR) != 0)
		return errno == EEXIST ? SBX_FILES_NOT_EMPTY : sbx_workspace_failure(errno);
	return SBX_FILES_OK;
}

enum sbx_files_failure
sbx_workspace_change(int workspace_fd, const struct sbx_files_want *want)
{
	if (want->op == SBX_FILES_MKDIR)
		return make_directory(workspace_fd, want);
	if (want->op == SBX_FILES_RENAME)
		return rename_entry(workspace_fd, want);
	return remove_entry(workspace_fd, want);
}
