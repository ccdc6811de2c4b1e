/*
 * What a directory holds, and on demand what its directories hold: a page of the walk of
 * workspace/tree.h, which begins anew for each page. Never opens anything but directories.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "workspace/tree.h"
#include "workspace/impl.h"

#define ANSWER_BYTES 32768 /* at a time; the last entry may be longer */
#define ANSWER_CAP (ANSWER_BYTES + sizeof(struct sbx_files_entry) + SBX_FILES_PATH_MAX)

struct page {
	const struct sbx_files_want *want;
	uint64_t seen, listed, bytes;
	int more; /* there is one beyond the limit */
	int out;
	struct sbx_buf answer;
};

static enum sbx_files_failure
flush(struct page *page)
{
	enum sbx_files_failure failure = sbx_workspace_send(page->out, sbx_buf_str(&page->answer),
		page->answer.length);

	sbx_buf_clear(&page->answer);
	return failure;
}

/* A name that is gone by now is left out. */
static enum sbx_files_failure
put(struct page *page, const struct sbx_tree *tree)
{
	const char *path = tree->path != NULL ? tree->path : tree->name;
	struct sbx_files_entry entry;
	struct stat st;

	if (fstatat(tree->dir, tree->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? SBX_FILES_OK : sbx_workspace_failure(errno);
	sbx_workspace_describe(&st, strlen(path), &entry);
	page->bytes += sizeof(entry) + entry.name_bytes;
	/* One is always told, however long its path: the next page begins behind it. */
	if (page->listed == page->want->limit ||
		(page->want->flags & SBX_FILES_PAGED && page->listed > 0 &&
			page->bytes > SBX_FILES_PAGE_MAX)) {
		page->more = 1;
		return SBX_FILES_OK;
	}
	page->listed++;
	sbx_buf_add(&page->answer, &entry, sizeof(entry));
	sbx_buf_add(&page->answer, path, entry.name_bytes);
	return page->answer.length < ANSWER_BYTES ? SBX_FILES_OK : flush(page);
}

/* What cannot be entered, its mode forbidding it or the path getting too long, is listed all the same. */
static enum sbx_files_failure
list_one(struct page *page, struct sbx_tree *tree)
{
	enum sbx_files_failure failure = SBX_FILES_OK;

	if (page->seen++ >= page->want->offset)
		failure = put(page, tree);
	if (failure != SBX_FILES_OK || page->more || tree->path == NULL ||
		(tree->type != DT_DIR && tree->type != DT_UNKNOWN))
		return failure;
	return sbx_tree_enter(tree) == SBX_FILES_IO ? SBX_FILES_IO : SBX_FILES_OK;
}

enum sbx_files_failure
sbx_workspace_list(int fd, const struct sbx_files_want *want, int out)
{
	static struct sbx_tree tree;
	static char path[SBX_FILES_PATH_MAX];
	struct page page = { .want = want, .out = out, .answer = SBX_BUF_INIT(ANSWER_CAP) };
	enum sbx_files_failure failure = sbx_tree_open(&tree, fd,
		want->flags & SBX_FILES_RECURSIVE ? path : NULL);
	int got = 0;

	while (failure == SBX_FILES_OK && !page.more && (got = sbx_tree_next(&tree)) > 0)
		failure = list_one(&page, &tree);
	if (failure == SBX_FILES_OK && got < 0)
		failure = SBX_FILES_IO;
	sbx_tree_done(&tree);
	if (failure == SBX_FILES_OK)
		failure = flush(&page);
	sbx_buf_done(&page.answer);
	return failure == SBX_FILES_OK && page.more ? SBX_FILES_TOO_LARGE : failure;
}
