/*
 * The way to an entry of the workspace. Every step looks at an entry before it opens it, since to
 * open is to act on some, and after, since it may be another by then. Never follows a link, never
 * leaves the file system; makes directories only where that is asked.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "workspace/impl.h"

enum sbx_files_failure
sbx_workspace_failure(int error)
{
	switch (error) {
	case ENOENT:
	case ENAMETOOLONG:
		return SBX_FILES_NOT_FOUND;
	case ENOTDIR:
		return SBX_FILES_NOT_A_DIRECTORY;
	case EISDIR:
		return SBX_FILES_IS_A_DIRECTORY;
	case ELOOP:
		return SBX_FILES_SYMLINK;
	case ENXIO:
		return SBX_FILES_SPECIAL;
	case EXDEV:
	case EBUSY: /* a mount point */
		return SBX_FILES_OUTSIDE;
	case EEXIST:
		return SBX_FILES_EXISTS;
	case ENOTEMPTY:
		return SBX_FILES_NOT_EMPTY;
	case EACCES:
	case EPERM:
	case EROFS:
		return SBX_FILES_DENIED;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
	case EMLINK:
		return SBX_FILES_NO_SPACE;
	default:
		return SBX_FILES_IO;
	}
}

enum sbx_files_failure
sbx_workspace_judge(const struct stat *st, int directory, uint64_t dev)
{
	if (st->st_dev != dev)
		return SBX_FILES_OUTSIDE;
	if (S_ISLNK(st->st_mode))
		return SBX_FILES_SYMLINK;
	if (directory)
		return S_ISDIR(st->st_mode) ? SBX_FILES_OK : SBX_FILES_NOT_A_DIRECTORY;
	if (S_ISDIR(st->st_mode))
		return SBX_FILES_IS_A_DIRECTORY;
	return S_ISREG(st->st_mode) ? SBX_FILES_OK : SBX_FILES_SPECIAL;
}

enum sbx_files_failure
sbx_workspace_open(int dir, const char *name, int directory, uint64_t dev, int *fd, struct stat *st)
{
	int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	enum sbx_files_failure failure;
	SBX_AUTO_FD opened = -1;

	if (fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) != 0)
		return sbx_workspace_failure(errno);
	failure = sbx_workspace_judge(st, directory, dev);
	if (failure != SBX_FILES_OK)
		return failure;
	opened = openat(dir, name, flags | (directory ? O_DIRECTORY : 0));
	if (opened < 0 || fstat(opened, st) != 0)
		return sbx_workspace_failure(errno);
	failure = sbx_workspace_judge(st, directory, dev);
	if (failure == SBX_FILES_OK)
		*fd = sbx_take_fd(&opened);
	return failure;
}

/* Lexical. */
static enum sbx_files_failure
judge_path(const char *path)
{
	if (path[0] == '/')
		return SBX_FILES_OUTSIDE;
	for (; *path != '\0'; path += strspn(path, "/")) {
		size_t length = strcspn(path, "/");

		if (length == 2 && memcmp(path, "..", 2) == 0)
			return SBX_FILES_OUTSIDE;
		if (length > NAME_MAX)
			return SBX_FILES_NOT_FOUND;
		path += length;
	}
	return SBX_FILES_OK;
}

static enum sbx_files_failure
descend(int at, const char *name, int make, uint64_t dev, int *next)
{
	struct stat st;
	enum sbx_files_failure failure = sbx_workspace_open(at, name, 1, dev, next, &st);

	if (failure != SBX_FILES_NOT_FOUND || !make)
		return failure;
	if (mkdirat(at, name, 0755) != 0 && errno != EEXIST)
		return sbx_workspace_failure(errno);
	return sbx_workspace_open(at, name, 1, dev, next, &st);
}

enum sbx_files_failure
sbx_workspace_walk_make(int workspace_fd, const char *path, int make, uint64_t *dev, int *dir,
	char name[SBX_FILES_NAME_SIZE])
{
	SBX_AUTO_FD at = openat(workspace_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum sbx_files_failure failure = judge_path(path);
	struct stat st;

	name[0] = '\0';
	if (at < 0 || fstat(at, &st) != 0)
		return sbx_workspace_failure(errno);
	*dev = st.st_dev;
	for (; failure == SBX_FILES_OK && *path != '\0'; path += strspn(path, "/")) {
		size_t length = strcspn(path, "/");
		int next = -1;

		if (length == 1 && path[0] == '.') {
			path++;
			continue;
		}
		if (name[0] != '\0') {
			failure = descend(at, name, make, *dev, &next);
			if (failure != SBX_FILES_OK)
				return failure;
			close(at);
			at = next;
		}
		memcpy(name, path, length);
		name[length] = '\0';
		path += length;
	}
	if (failure == SBX_FILES_OK)
		*dir = sbx_take_fd(&at);
	return failure;
}

enum sbx_files_failure
sbx_workspace_walk(int workspace_fd, const char *path, uint64_t *dev, int *dir,
	char name[SBX_FILES_NAME_SIZE])
{
	return sbx_workspace_walk_make(workspace_fd, path, 0, dev, dir, name);
}
