/*
 * A regular file out of chunks that come in. What replaces a file, or is new, grows under a
 * temporary name beside it and gets its name when it is whole; who may write to that directory may
 * swap what has the temporary name, as he may swap the file a moment later. Never writes through a
 * link, to anything but a regular file, or with another's rights than the workspace's owner.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/io.h"
#include "base/scoped.h"
#include "workspace/impl.h"

#define PIECE ((size_t)64 * 1024)
#define TEMPORARY_SIZE 32
#define PERMISSIONS 0777u

/* Where it goes, and what is there: the directory is the writer's, the rest borrowed. */
struct target {
	const struct sbx_files_want *want;
	int dir;
	uint64_t dev;
	char name[SBX_FILES_NAME_SIZE];
	int exists;
	struct stat st; /* if it exists */
};

int
sbx_workspace_take(int in, void *bytes, size_t length)
{
	char *p = bytes;
	ssize_t n;

	while (length > 0) {
		n = read(in, p, length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		p += n;
		length -= (size_t)n;
	}
	return 0;
}

/* Until the chunk of 0 bytes. A chunk that goes over `left` is not begun. */
static enum sbx_files_failure
copy_chunks(int in, int fd, uint64_t left, uint64_t *came)
{
	static char bytes[PIECE];
	uint32_t length;

	while (sbx_workspace_take(in, &length, sizeof(length)) == 0) {
		if (length == 0)
			return SBX_FILES_OK;
		if (length > left)
			return SBX_FILES_NO_SPACE;
		left -= length;
		*came += length;
		while (length > 0) {
			size_t piece = length < PIECE ? length : PIECE;

			if (sbx_workspace_take(in, bytes, piece) != 0)
				return SBX_FILES_BROKEN;
			if (sbx_io_write_all(fd, bytes, piece) != 0)
				return sbx_workspace_failure(errno);
			length -= (uint32_t)piece;
		}
	}
	return SBX_FILES_BROKEN;
}

/* What is there now: a regular file, or nothing, or else why not. */
static enum sbx_files_failure
find(struct target *target)
{
	target->exists = 0;
	if (fstatat(target->dir, target->name, &target->st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? SBX_FILES_OK : sbx_workspace_failure(errno);
	if (target->want->flags & SBX_FILES_NEW)
		return SBX_FILES_EXISTS;
	target->exists = 1;
	return sbx_workspace_judge(&target->st, 0, target->dev);
}

static mode_t
mode_of(const struct target *target)
{
	if (target->want->mode != SBX_FILES_MODE_KEPT)
		return target->want->mode & PERMISSIONS;
	return target->exists ? target->st.st_mode & PERMISSIONS : 0644;
}

static int
make_temporary(int dir, char name[TEMPORARY_SIZE])
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	uint64_t id;

	if (getrandom(&id, sizeof(id), 0) != (ssize_t)sizeof(id))
		return -1;
	snprintf(name, TEMPORARY_SIZE, ".sbx-write-%016jx", (uintmax_t)id);
	return openat(dir, name, flags, 0600);
}

/* The whole file gets its mode and its name. */
static enum sbx_files_failure
settle(struct target *target, int fd, const char *temporary)
{
	int new = (target->want->flags & SBX_FILES_NEW) != 0, rc;
	enum sbx_files_failure failure = new ? SBX_FILES_OK : find(target); /* after a while */

	if (failure != SBX_FILES_OK)
		return failure;
	if (fchmod(fd, mode_of(target)) != 0)
		return sbx_workspace_failure(errno);
	if (new)
		rc = sbx_workspace_rename_new(target->dir, temporary, target->dir, target->name);
	else
		rc = renameat(target->dir, temporary, target->dir, target->name);
	return rc == 0 ? SBX_FILES_OK : sbx_workspace_failure(errno);
}

static enum sbx_files_failure
replace(struct target *target, int in, uint64_t *came)
{
	char temporary[TEMPORARY_SIZE];
	SBX_AUTO_FD fd = make_temporary(target->dir, temporary);
	enum sbx_files_failure failure;

	if (fd < 0)
		return sbx_workspace_failure(errno);
	failure = copy_chunks(in, fd, target->want->limit, came);
	if (failure == SBX_FILES_OK)
		failure = settle(target, fd, temporary);
	if (failure != SBX_FILES_OK)
		unlinkat(target->dir, temporary, 0);
	return failure;
}

static enum sbx_files_failure
append(struct target *target, int in, uint64_t *came)
{
	int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	uint64_t limit = target->want->limit, size;
	SBX_AUTO_FD fd = -1;
	enum sbx_files_failure failure;
	struct stat st;

	fd = openat(target->dir, target->name, flags | (target->exists ? 0 : O_CREAT | O_EXCL),
		0600);
	if (fd < 0 || fstat(fd, &st) != 0)
		return sbx_workspace_failure(errno);
	failure = sbx_workspace_judge(&st, 0, target->dev);
	if (failure != SBX_FILES_OK)
		return failure;
	if ((!target->exists || target->want->mode != SBX_FILES_MODE_KEPT) &&
		fchmod(fd, mode_of(target)) != 0)
		return sbx_workspace_failure(errno);
	size = (uint64_t)st.st_size;
	return copy_chunks(in, fd, limit > size ? limit - size : 0, came);
}

enum sbx_files_failure
sbx_workspace_write(int workspace_fd, const struct sbx_files_want *want, int in, uint64_t *came)
{
	struct target target = { .want = want };
	uint64_t uncounted = 0;
	SBX_AUTO_FD dir = -1;
	enum sbx_files_failure failure = sbx_workspace_walk_make(workspace_fd, want->path,
		(want->flags & SBX_FILES_PARENTS) != 0, &target.dev, &dir, target.name);

	if (failure == SBX_FILES_OK && target.name[0] == '\0')
		failure = SBX_FILES_OUTSIDE;
	target.dir = dir;
	if (failure == SBX_FILES_OK)
		failure = find(&target);
	if (failure != SBX_FILES_OK)
		return failure;
	came = came == NULL ? &uncounted : came;
	return want->flags & SBX_FILES_APPEND ? append(&target, in, came) :
						replace(&target, in, came);
}
