/* The count of measure.h: one look at each entry, and nothing kept but files of several names. */
#include "workspace/measure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/scoped.h"
#include "workspace/impl.h"
#include "workspace/linked.h"
#include "workspace/tree.h"

struct sbx_measure {
	struct sbx_tree tree;
	struct sbx_linked linked;
	struct sbx_files_measured total;
	int is_partial;
};

struct sbx_measure *
sbx_measure_begin(int dir, struct sbx_err *err)
{
	struct sbx_measure *measure = sbx_mem_alloc(1, sizeof(*measure));
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && sbx_tree_open(&measure->tree, fd, NULL) == SBX_FILES_OK)
		return measure;
	sbx_fail_sys(err, errno == EACCES ? SBX_E_DENIED : SBX_E_IO, "open the directory");
	sbx_measure_end(measure);
	return NULL;
}

/* What is gone by now, or another, counts as nothing more. */
static int
count(struct sbx_measure *measure, struct sbx_err *err)
{
	struct sbx_tree *tree = &measure->tree;
	enum sbx_files_failure failure;
	struct stat st;

	if (fstatat(tree->dir, tree->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		if (errno != EACCES)
			return errno == ENOENT ? 0 :
						 sbx_fail_sys(err, SBX_E_IO, "look at an entry");
		/* A directory that may be read and not searched: what it holds has names at least. */
		measure->total.inodes++;
		measure->is_partial = 1;
		return 0;
	}
	if (st.st_dev != tree->dev)
		return 0;
	measure->total.inodes++;
	if (S_ISDIR(st.st_mode) || st.st_nlink < 2 ||
		sbx_linked_is_new(&measure->linked, st.st_ino))
		measure->total.bytes += (uint64_t)st.st_blocks * 512;
	if (!S_ISDIR(st.st_mode))
		return 0;
	failure = sbx_tree_enter(tree);
	/* Whoever closes one directory hides what is in it, but not what comes behind it. */
	if (failure == SBX_FILES_DENIED)
		measure->is_partial = 1;
	return failure == SBX_FILES_IO ? sbx_fail_sys(err, SBX_E_IO, "open a directory") : 0;
}

int
sbx_measure_step(struct sbx_measure *measure, int64_t budget_us, struct sbx_err *err)
{
	int64_t until_us = sbx_clock_mono_us() + budget_us;

	for (unsigned steps = 1;; steps++) {
		int more = sbx_tree_next(&measure->tree);

		if (more < 0)
			return sbx_fail_sys(err, SBX_E_IO, "walk the tree");
		if (more == 0)
			return 0;
		if (count(measure, err) != 0)
			return -1;
		/* The clock is looked at once in a while only. */
		if (steps % 64 == 0 && sbx_clock_mono_us() >= until_us)
			return 1;
	}
}

const struct sbx_files_measured *
sbx_measure_total(const struct sbx_measure *measure)
{
	return &measure->total;
}

int
sbx_measure_is_partial(const struct sbx_measure *measure)
{
	return measure->is_partial;
}

void
sbx_measure_end(struct sbx_measure *measure)
{
	if (measure == NULL)
		return;
	sbx_linked_done(&measure->linked);
	sbx_tree_done(&measure->tree);
	free(measure);
}

enum sbx_files_failure
sbx_workspace_measure(int fd, int out)
{
	SBX_AUTO_FD dir = fd;
	struct sbx_err err = { 0 };
	struct sbx_measure *measure = sbx_measure_begin(dir, &err);
	enum sbx_files_failure failure = SBX_FILES_IO;

	if (measure != NULL && sbx_measure_step(measure, INT64_MAX / 2, &err) == 0 &&
		!sbx_measure_is_partial(measure))
		failure = sbx_workspace_send(out, &measure->total, sizeof(measure->total));
	sbx_measure_end(measure);
	return failure;
}
