/*
 * What a hostile tree takes up: a walk of workspace/tree.h, with a table of the files that have several
 * names. Never opens anything but directories.
 */
#include "workspace/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "workspace/tree.h"

#define LINKED_MAX ((size_t)1 << 20) /* files with several names that are told apart */
#define LINKED_LEAST ((size_t)1 << 10)

struct linked {
	uint64_t *inodes; /* that were counted; 0: free; a hash table */
	size_t count, room;
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
widen(struct linked *linked)
{
	size_t room = linked->room == 0 ? LINKED_LEAST : linked->room * 2;
	uint64_t *table = sbx_mem_alloc(room, sizeof(*table));

	for (size_t i = 0; i < linked->room; i++) {
		if (linked->inodes[i] != 0)
			table[slot_of(table, room, linked->inodes[i])] = linked->inodes[i];
	}
	free(linked->inodes);
	linked->inodes = table;
	linked->room = room;
}

/* Past the table's bound a file counts once for each name: more than is there, never less. */
static int
is_new(struct linked *linked, const struct stat *st)
{
	size_t at;

	if (S_ISDIR(st->st_mode) || st->st_nlink < 2)
		return 1;
	if (linked->count * 2 >= linked->room && linked->count < LINKED_MAX)
		widen(linked);
	at = slot_of(linked->inodes, linked->room, st->st_ino);
	if (linked->inodes[at] == st->st_ino)
		return 0;
	if (linked->count < LINKED_MAX) {
		linked->inodes[at] = st->st_ino;
		linked->count++;
	}
	return 1;
}

/* What is gone by now, or another, counts as nothing more. */
static enum sbx_files_failure
count(struct sbx_tree *tree, struct linked *linked, struct sbx_files_measured *measured)
{
	enum sbx_files_failure failure;
	struct stat st;

	if (fstatat(tree->dir, tree->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? SBX_FILES_OK : SBX_FILES_IO;
	if (st.st_dev != tree->dev)
		return SBX_FILES_OK;
	measured->inodes++;
	if (is_new(linked, &st))
		measured->bytes += (uint64_t)st.st_blocks * 512;
	if (!S_ISDIR(st.st_mode))
		return SBX_FILES_OK;
	failure = sbx_tree_enter(tree);
	return failure == SBX_FILES_DENIED || failure == SBX_FILES_IO ? SBX_FILES_IO : SBX_FILES_OK;
}

enum sbx_files_failure
sbx_workspace_measure(int fd, struct sbx_files_measured *measured)
{
	static struct sbx_tree tree;
	struct linked linked = { 0 };
	enum sbx_files_failure failure = sbx_tree_open(&tree, fd, NULL);
	int more = 0;

	while (failure == SBX_FILES_OK && (more = sbx_tree_next(&tree)) > 0)
		failure = count(&tree, &linked, measured);
	sbx_tree_done(&tree);
	free(linked.inodes);
	return more < 0 ? SBX_FILES_IO : failure;
}
