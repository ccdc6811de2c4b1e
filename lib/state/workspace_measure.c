/*
 * What a hostile tree takes up. A stack of levels, one a directory that we are in, replaces
 * recursion; only the deepest WINDOW hold a descriptor, the others are come back to by "..", which
 * must be the directory that was left: else somebody moved the tree, and the walk fails. A level
 * reads on from where it was when it went into a directory. Never follows, never leaves the file
 * system, never opens anything but directories.
 */
#include "state/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/scoped.h"

#define WINDOW 32
#define DENTS_BYTES 8192
#define LINKED_MAX ((size_t)1 << 20) /* files with several names that are told apart */
#define LINKED_LEAST ((size_t)1 << 10)

struct level {
	uint64_t ino;
	off_t offset; /* past the entry that was entered */
	int fd; /* -1 outside the window */
};

struct walk {
	struct level *levels;
	size_t depth, room, oldest; /* oldest: the first that holds its descriptor */
	uint64_t dev;
	uint64_t *linked; /* inodes that were counted; 0: free; a hash table */
	size_t linked_count, linked_room;
	struct sbx_files_measured *measured;
};

static size_t
slot_of(const uint64_t *table, size_t room, uint64_t ino)
{
	size_t at = (size_t)(ino * 0x9e3779b97f4a7c15u >> 20) & (room - 1);

	while (table[at] != 0 && table[at] != ino)
		at = (at + 1) & (room - 1);
	return at;
}

static void
widen(struct walk *walk)
{
	size_t room = walk->linked_room == 0 ? LINKED_LEAST : walk->linked_room * 2;
	uint64_t *table = sbx_mem_alloc(room, sizeof(*table));

	for (size_t i = 0; i < walk->linked_room; i++) {
		if (walk->linked[i] != 0)
			table[slot_of(table, room, walk->linked[i])] = walk->linked[i];
	}
	free(walk->linked);
	walk->linked = table;
	walk->linked_room = room;
}

/* Past the table's bound a file counts once for each name: more than is there, never less. */
static int
is_new(struct walk *walk, const struct stat *st)
{
	size_t at;

	if (S_ISDIR(st->st_mode) || st->st_nlink < 2)
		return 1;
	if (walk->linked_count * 2 >= walk->linked_room && walk->linked_count < LINKED_MAX)
		widen(walk);
	at = slot_of(walk->linked, walk->linked_room, st->st_ino);
	if (walk->linked[at] == st->st_ino)
		return 0;
	if (walk->linked_count < LINKED_MAX) {
		walk->linked[at] = st->st_ino;
		walk->linked_count++;
	}
	return 1;
}

static void
push(struct walk *walk, int fd, uint64_t ino)
{
	if (walk->depth == walk->room) {
		walk->room = walk->room == 0 ? WINDOW : walk->room * 2;
		walk->levels = sbx_mem_grow(walk->levels, walk->room, sizeof(*walk->levels));
	}
	walk->levels[walk->depth++] = (struct level){ .fd = fd, .ino = ino };
	if (walk->depth - walk->oldest > WINDOW) {
		close(walk->levels[walk->oldest].fd);
		walk->levels[walk->oldest++].fd = -1;
	}
}

/* 1 if a directory was entered, 0 if not, -1 with errno. What is gone by now counts as nothing. */
static int
count(struct walk *walk, int dir, const char *name)
{
	enum sbx_files_failure failure;
	struct stat st;
	int fd;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : -1;
	if (st.st_dev != walk->dev)
		return 0;
	walk->measured->inodes++;
	if (is_new(walk, &st))
		walk->measured->bytes += (uint64_t)st.st_blocks * 512;
	if (!S_ISDIR(st.st_mode))
		return 0;
	failure = sbx_workspace_open(dir, name, 1, walk->dev, &fd, &st);
	if (failure == SBX_FILES_OK) {
		push(walk, fd, st.st_ino);
		return 1;
	}
	/* The others: it is another by now. */
	return failure == SBX_FILES_IO || failure == SBX_FILES_DENIED ? -1 : 0;
}

/* Read the deepest level on: 1 if one below was entered, 0 at its end, -1 with errno. */
static int
read_on(struct walk *walk)
{
	_Alignas(struct dirent64) static char bytes[DENTS_BYTES];
	size_t at = walk->depth - 1;
	int fd = walk->levels[at].fd;
	ssize_t n;

	while ((n = getdents64(fd, (void *)bytes, sizeof(bytes))) > 0) {
		const struct dirent64 *entry;

		for (ssize_t pos = 0; pos < n; pos += entry->d_reclen) {
			int entered;

			entry = (const void *)(bytes + pos);
			if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
				continue;
			entered = count(walk, fd, entry->d_name);
			if (entered > 0)
				walk->levels[at].offset = entry->d_off;
			if (entered != 0)
				return entered;
		}
	}
	return n < 0 && errno != ENOENT ? -1 : 0;
}

static int
leave(struct walk *walk)
{
	SBX_AUTO_FD below = walk->levels[--walk->depth].fd;
	struct level *above;
	struct stat st;

	if (walk->depth == 0)
		return 0;
	above = &walk->levels[walk->depth - 1];
	if (above->fd < 0) {
		above->fd = openat(below, "..", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (above->fd < 0 || fstat(above->fd, &st) != 0)
			return -1;
		walk->oldest = walk->depth - 1;
		if (st.st_dev != walk->dev || st.st_ino != above->ino) {
			errno = EIO;
			return -1;
		}
	}
	return lseek(above->fd, above->offset, SEEK_SET) < 0 ? -1 : 0;
}

/* Ends with its process: nothing is released on failure. */
enum sbx_files_failure
sbx_workspace_measure(int fd, struct sbx_files_measured *measured)
{
	struct walk walk = { .measured = measured };
	struct stat st;

	if (fstat(fd, &st) != 0)
		return SBX_FILES_IO;
	walk.dev = st.st_dev;
	push(&walk, fd, st.st_ino);
	while (walk.depth > 0) {
		int entered = read_on(&walk);

		if (entered < 0 || (entered == 0 && leave(&walk) != 0))
			return SBX_FILES_IO;
	}
	free(walk.levels);
	free(walk.linked);
	return SBX_FILES_OK;
}
