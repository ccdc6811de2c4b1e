/*
 * What a hostile tree takes up: a walk of workspace/tree.h, files with several names counted once. Never opens anything but directories.
 */
#include "workspace/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "workspace/linked.h"
#include "workspace/tree.h"

/* What is gone by now, or another, counts as nothing more. */
static enum sbx_files_failure
count(struct sbx_tree *tree, struct sbx_linked *linked, struct sbx_files_measured *measured)
{
	enum sbx_files_failure failure;
	struct stat st;

	if (fstatat(tree->dir, tree->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? SBX_FILES_OK : SBX_FILES_IO;
	if (st.st_dev != tree->dev)
		return SBX_FILES_OK;
	measured->inodes++;
	if (S_ISDIR(st.st_mode) || st.st_nlink < 2 || sbx_linked_is_new(linked, st.st_ino))
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
	struct sbx_linked linked = { 0 };
	enum sbx_files_failure failure = sbx_tree_open(&tree, fd, NULL);
	int more = 0;

	while (failure == SBX_FILES_OK && (more = sbx_tree_next(&tree)) > 0)
		failure = count(&tree, &linked, measured);
	sbx_tree_done(&tree);
	sbx_linked_done(&linked);
	return more < 0 ? SBX_FILES_IO : failure;
}
