/*
 * Removal of a hostile tree.
 *
 * A stack of levels, one a directory that we are in, replaces recursion. Only the deepest WINDOW
 * levels hold their descriptor; the others are come back to by "..", and the device and inode found
 * there must be those that were left: else somebody moved the tree and we stop, as the next name
 * would be removed from a place that is not ours. Names are not kept: a level remembers how far it
 * had read before the directory it went into, reads on from there when it comes back, and so meets
 * that directory again, empty now. Where a file system's offsets do not bear that, a pass misses
 * entries; then the rmdir fails and the directory is entered once more. Every such return must have
 * removed something, so the walk ends.
 *
 * Nothing is entered but by openat2 without links and without crossing a mount; the kernel refuses
 * to unlink a mount point. gVisor of 2022 has no openat2: there the device tells a mount, and one of
 * the same file system is not told. Never clears a file's flags, never unmounts.
 */
#include "base/walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/scoped.h"

#define WINDOW 32 /* descriptors held; two more while one is exchanged for another */
#define ENTER (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV)

struct level {
	dev_t dev;
	ino_t ino;
	off_t offset; /* where the entry that was entered stands */
	uint64_t removed_before; /* walk.removed when it was entered */
	int fd; /* -1 outside the window */
};

/* Lives for one removal; owns its levels and their descriptors. */
struct walk {
	struct level *levels;
	size_t depth, room;
	size_t oldest; /* the first level that holds its descriptor */
	uint64_t removed; /* entries gone so far: the measure of progress */
	struct level left; /* the level that was left last; its fd is not one */
	struct sbx_err *err;
};

enum outcome { FAILED = -1, GONE, ENTERED };

static void
walk_done(struct walk *walk)
{
	while (walk->depth > 0)
		sbx_scoped_close(&walk->levels[--walk->depth].fd);
	free(walk->levels);
}

/* Every failure names the entry and how deep it was; a whole path can be longer than a message. */
static enum outcome
fail_entry(const struct walk *walk, enum sbx_code code, const char *name, const char *why)
{
	if (walk->depth == 0)
		sbx_fail(walk->err, code, "remove \"%s\": %s", name, why);
	else
		sbx_fail(walk->err, code, "remove \"%s\" at depth %zu: %s", name, walk->depth, why);
	return FAILED;
}

static enum outcome
fail_errno(const struct walk *walk, const char *name, int sys)
{
	if (sys == EBUSY || sys == EXDEV)
		fail_entry(walk, SBX_E_BUSY, name, "it is a mount point");
	else if (sys == EPERM)
		fail_entry(walk, SBX_E_DENIED, name, "immutable, append-only, or not ours");
	else if (sys == ELOOP || sys == ENOTDIR)
		fail_entry(walk, SBX_E_CONFLICT, name, "it was replaced while it was removed");
	else
		fail_entry(walk, SBX_E_IO, name, strerror(sys));
	if (walk->err != NULL)
		walk->err->sys = sys;
	return FAILED;
}

static int
open_plainly(int dir_fd, const char *name, int flags)
{
	SBX_AUTO_FD fd = openat(dir_fd, name, flags | O_CLOEXEC);
	struct stat above, st;

	if (fd < 0 || fstat(dir_fd, &above) < 0 || fstat(fd, &st) < 0)
		return -1;
	if (st.st_dev != above.st_dev) {
		errno = EXDEV;
		return -1;
	}
	return sbx_take_fd(&fd);
}

/* A directory: with O_NOFOLLOW and O_DIRECTORY among the flags. */
static int
open_directory(int dir_fd, const char *name, int flags)
{
	int fd = sbx_path_openat2(dir_fd, name, flags, 0, ENTER);

	return fd < 0 && errno == ENOSYS ? open_plainly(dir_fd, name, flags) : fd;
}

/*
 * A directory that we may not read, as not root: its mode is changed through an O_PATH descriptor,
 * which needs no permission and cannot be a link. fchmod(2) does not take one, /proc does.
 */
static int
open_up(int dir_fd, const char *name)
{
	SBX_AUTO_FD fd = open_directory(dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
	char path[32];

	if (fd < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return chmod(path, 0700);
}

static int
open_child(int dir_fd, const char *name)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
	int fd = open_directory(dir_fd, name, flags);

	if (fd < 0 && errno == EACCES && open_up(dir_fd, name) == 0)
		fd = open_directory(dir_fd, name, flags);
	return fd;
}

static void
push(struct walk *walk, const struct level *level)
{
	if (walk->depth == walk->room) {
		walk->room = walk->room == 0 ? WINDOW : walk->room * 2;
		walk->levels = sbx_mem_grow(walk->levels, walk->room, sizeof(*walk->levels));
	}
	walk->levels[walk->depth++] = *level;
	if (walk->depth - walk->oldest > WINDOW) {
		sbx_scoped_close(&walk->levels[walk->oldest].fd);
		walk->levels[walk->oldest++].fd = -1;
	}
}

static enum outcome
enter(struct walk *walk, int dir_fd, const char *name)
{
	struct level level = { .removed_before = walk->removed };
	SBX_AUTO_FD fd = open_child(dir_fd, name);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return GONE;
	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_errno(walk, name, errno);
	/* Readable, but no entry of it could be removed; if this fails, so will the unlink. */
	if ((st.st_mode & S_IRWXU) != S_IRWXU && fchmod(fd, 0700) < 0 && errno != EPERM)
		return fail_errno(walk, name, errno);
	level.dev = st.st_dev;
	level.ino = st.st_ino;
	if (level.dev == walk->left.dev && level.ino == walk->left.ino &&
		walk->removed == walk->left.removed_before)
		return fail_entry(walk, SBX_E_IO, name, "it stays non-empty with no entry to see");
	level.fd = sbx_take_fd(&fd);
	push(walk, &level);
	return ENTERED;
}

/* One attempt at an entry, whatever it is. A wrong `type` only costs one more system call. */
static enum outcome
remove_entry(struct walk *walk, int dir_fd, const char *name, unsigned char type)
{
	int flags = type == DT_DIR ? AT_REMOVEDIR : 0;
	int result = unlinkat(dir_fd, name, flags);

	if (result < 0 && (errno == EISDIR || errno == ENOTDIR))
		result = unlinkat(dir_fd, name, flags ^ AT_REMOVEDIR);
	if (result == 0) {
		walk->removed++;
		return GONE;
	}
	if (errno == ENOENT)
		return GONE;
	if (errno == ENOTEMPTY || errno == EEXIST)
		return enter(walk, dir_fd, name);
	return fail_errno(walk, name, errno);
}

/* Remove entries of the deepest level until its end (GONE) or until one had to be entered. */
static enum outcome
sweep(struct walk *walk)
{
	_Alignas(struct dirent64) char bytes[2048]; /* small: read anew after an entered entry */
	size_t at = walk->depth - 1;
	int fd = walk->levels[at].fd;
	off_t offset = walk->levels[at].offset;
	enum outcome outcome;
	const struct dirent64 *entry;
	ssize_t n, pos;

	while ((n = getdents64(fd, (void *)bytes, sizeof(bytes))) > 0) {
		for (pos = 0; pos < n; pos += entry->d_reclen, offset = entry->d_off) {
			entry = (const void *)(bytes + pos);
			if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
				continue;
			outcome = remove_entry(walk, fd, entry->d_name, entry->d_type);
			if (outcome == ENTERED)
				walk->levels[at].offset = offset;
			if (outcome != GONE)
				return outcome;
		}
	}
	/* ENOENT: somebody else removed this very directory. */
	return n == 0 || errno == ENOENT ? GONE : fail_errno(walk, ".", errno);
}

/* The descriptor of the level above, by ".." if it was closed; -1 with errno. */
static int
reopen_above(struct walk *walk, int below_fd)
{
	struct level *above = &walk->levels[walk->depth - 1];
	SBX_AUTO_FD fd = -1;
	struct stat st;

	if (above->fd >= 0)
		return 0;
	fd = openat(below_fd, "..", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (st.st_dev != above->dev || st.st_ino != above->ino) {
		errno = ELOOP;
		return -1;
	}
	above->fd = sbx_take_fd(&fd);
	walk->oldest = walk->depth - 1;
	return 0;
}

/* Go up from a level that was read to its end; its own entry is removed by the sweep above. */
static int
leave(struct walk *walk)
{
	SBX_AUTO_FD fd = -1;
	struct level *above;
	struct stat st;

	walk->left = walk->levels[--walk->depth];
	fd = walk->left.fd;
	if (walk->depth == 0)
		return 0;
	if (reopen_above(walk, fd) < 0)
		return fail_errno(walk, "..", errno);
	above = &walk->levels[walk->depth - 1];
	/* ext4 knows no place in a directory that somebody removed; reading on there is an end. */
	if (lseek(above->fd, above->offset, SEEK_SET) < 0 &&
		(fstat(above->fd, &st) < 0 || st.st_nlink > 0))
		return fail_errno(walk, ".", errno);
	return 0;
}

static int
remove_tree(struct walk *walk, int dir_fd, const char *name)
{
	enum outcome outcome;

	while ((outcome = remove_entry(walk, dir_fd, name, DT_UNKNOWN)) == ENTERED) {
		while (walk->depth > 0) {
			outcome = sweep(walk);
			if (outcome == FAILED || (outcome == GONE && leave(walk) < 0))
				return -1;
		}
	}
	return outcome == GONE ? 0 : -1;
}

int
sbx_walk_remove(int dir_fd, const char *name, struct sbx_err *err)
{
	struct walk walk = { .err = err };
	int result;

	if (name[0] == '\0' || strchr(name, '/') != NULL || strcmp(name, ".") == 0 ||
		strcmp(name, "..") == 0)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "remove \"%s\": not a name in a directory",
			name);
	result = remove_tree(&walk, dir_fd, name);
	walk_done(&walk);
	return result;
}
