/*
 * What a directory takes up, and on demand which of its directories and files take the most. Blocks
 * allocated, a file of several names once; the directory itself is not counted. One look at each
 * entry; what may not be read is said to be missing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/scoped.h"
#include "data/entry_out.h"
#include "data/errors.h"
#include "quota.h"
#include "top.h"
#include "workspace/linked.h"
#include "workspace/tree.h"

#define TABLE_TOP 20

struct sums {
	uint64_t bytes, inodes;
	uint64_t files, directories, links, others;
	int denied, moved;
};

struct measuring {
	struct sbx_tree tree;
	struct sbx_linked linked;
	struct sums sums;
	struct top top;
	int named; /* top is kept */
};

static void
add_kind(struct sums *sums, mode_t mode)
{
	if (S_ISREG(mode))
		sums->files++;
	else if (S_ISDIR(mode))
		sums->directories++;
	else if (S_ISLNK(mode))
		sums->links++;
	else
		sums->others++;
}

static void
count(struct measuring *measuring)
{
	struct sbx_tree *tree = &measuring->tree;
	struct sums *sums = &measuring->sums;
	enum sbx_files_failure failure;
	uint64_t bytes = 0;
	struct stat st;

	if (fstatat(tree->dir, tree->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		/* In a directory that may be read and not searched there are names at least. */
		sums->denied |= errno == EACCES;
		sums->moved |= errno != EACCES;
		sums->inodes += errno == EACCES;
		return;
	}
	if (st.st_dev != tree->dev)
		return;
	sums->inodes++;
	add_kind(sums, st.st_mode);
	if (S_ISDIR(st.st_mode) || st.st_nlink < 2 ||
		sbx_linked_is_new(&measuring->linked, st.st_ino))
		bytes = (uint64_t)st.st_blocks * 512;
	sums->bytes += bytes;
	if (measuring->named)
		top_add(&measuring->top, tree->depth, tree->name, S_ISDIR(st.st_mode), bytes);
	if (!S_ISDIR(st.st_mode))
		return;
	failure = sbx_tree_enter(tree);
	if (failure == SBX_FILES_OK && measuring->named)
		top_enter(&measuring->top, bytes);
	else if (failure == SBX_FILES_DENIED)
		sums->denied = 1;
	else if (failure != SBX_FILES_OK && failure != SBX_FILES_OUTSIDE)
		sums->moved = 1;
}

static int
walk(struct measuring *measuring, int dir, struct sbx_err *err)
{
	int fd = fcntl(dir, F_DUPFD_CLOEXEC, 3), more = -1;

	if (fd >= 0 && sbx_tree_open(&measuring->tree, fd, NULL) == SBX_FILES_OK)
		while ((more = sbx_tree_next(&measuring->tree)) > 0)
			count(measuring);
	if (more < 0)
		sbx_fail_sys(err, SBX_E_IO, "walk the tree");
	if (more == 0 && measuring->named)
		top_end(&measuring->top);
	return more;
}

static int
put_record(const char *path, int dir, const struct sums *sums, int64_t took_us,
	struct sbx_buf *lines, struct sbx_err *err)
{
	struct sbx_json_out out;
	struct statvfs fs;

	sbx_json_out_init(&out, lines);
	sbx_json_out_object(&out, NULL);
	sbx_json_out_string(&out, "type", "usage");
	sbx_entry_name_out(&out, "path", "path_b64", path, strlen(path));
	sbx_json_out_u64(&out, "bytes", sums->bytes);
	sbx_json_out_u64(&out, "inodes", sums->inodes);
	sbx_json_out_u64(&out, "files", sums->files);
	sbx_json_out_u64(&out, "directories", sums->directories);
	sbx_json_out_u64(&out, "symlinks", sums->links);
	sbx_json_out_u64(&out, "others", sums->others);
	sbx_json_out_bool(&out, "complete", !sums->denied);
	sbx_json_out_bool(&out, "consistent", !sums->moved);
	if (fstatvfs(dir, &fs) == 0) {
		sbx_json_out_object(&out, "filesystem");
		sbx_json_out_u64(&out, "free_bytes", (uint64_t)fs.f_bavail * fs.f_frsize);
		sbx_json_out_u64(&out, "free_inodes", fs.f_favail);
		sbx_json_out_end(&out);
	}
	sbx_json_out_u64(&out, "total_us", (uint64_t)took_us);
	sbx_json_out_end(&out);
	return sbx_json_out_line(&out, "usage record", err);
}

static int
put_top(const struct top_list *list, const char *kind, struct sbx_buf *lines, struct sbx_err *err)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct top_item *item = &list->items[i];
		struct sbx_json_out out;

		sbx_json_out_init(&out, lines);
		sbx_json_out_object(&out, NULL);
		sbx_json_out_string(&out, "type", "top");
		sbx_json_out_string(&out, "kind", kind);
		sbx_entry_name_out(&out, "path", "path_b64", item->path, item->path_bytes);
		sbx_json_out_u64(&out, "bytes", item->bytes);
		sbx_json_out_u64(&out, "inodes", item->inodes);
		sbx_json_out_end(&out);
		if (sbx_json_out_line(&out, "top record", err) < 0 ||
			quota_flush(lines, 0, err) < 0)
			return -1;
	}
	return 0;
}

static void
put_rows(const struct top_list *list, const char *end, struct sbx_buf *lines)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct top_item *item = &list->items[i];
		char size[16];

		sbx_num_format_size(item->bytes, size);
		(void)sbx_buf_printf(lines, "%10s %9llu  ", size, (unsigned long long)item->inodes);
		sbx_entry_name_print(lines, item->path, item->path_bytes);
		(void)sbx_buf_printf(lines, "%s\n", end);
	}
}

static void
put_table(const char *path, const struct measuring *measuring, struct sbx_buf *lines)
{
	const struct sums *sums = &measuring->sums;
	char size[16];

	(void)sbx_buf_printf(lines, "%10s %9s  %s\n", "SIZE", "INODES", "PATH");
	put_rows(&measuring->top.directories, "/", lines);
	put_rows(&measuring->top.files, "", lines);
	sbx_num_format_size(sums->bytes, size);
	(void)sbx_buf_printf(lines, "%10s %9llu  in all of ", size,
		(unsigned long long)sums->inodes);
	sbx_entry_name_print(lines, path, strlen(path));
	(void)sbx_buf_printf(lines, "%s%s\n", sums->denied ? ", and what may not be read" : "",
		sums->moved ? ", which moved meanwhile" : "");
}

int
quota_measure(const struct quota_options *options, char *const *paths, struct sbx_err *err)
{
	int64_t began_us = sbx_clock_mono_us();
	SBX_AUTO_FD dir = quota_open_dir(paths[0], err);
	int table = options->table || isatty(STDOUT_FILENO), rc;
	size_t most = options->top != 0 ? (size_t)options->top : TABLE_TOP;
	struct measuring measuring = { .named = table || options->top != 0 };
	SBX_AUTO_BUF lines = QUOTA_LINES_INIT;

	if (dir < 0)
		return -1;
	if (measuring.named)
		top_init(&measuring.top, most);
	rc = walk(&measuring, dir, err);
	if (rc == 0 && table)
		put_table(paths[0], &measuring, &lines);
	else if (rc == 0)
		rc = put_record(paths[0], dir, &measuring.sums, sbx_clock_mono_us() - began_us,
			     &lines, err) < 0 ||
				put_top(&measuring.top.directories, "directory", &lines, err) < 0 ||
				put_top(&measuring.top.files, "file", &lines, err) < 0 ?
			-1 :
			0;
	if (rc == 0)
		rc = quota_flush(&lines, 1, err);
	top_done(&measuring.top);
	sbx_linked_done(&measuring.linked);
	sbx_tree_done(&measuring.tree);
	return rc < 0 ? -1 : SBX_EXIT_OK;
}
