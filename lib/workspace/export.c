/*
 * A directory of the workspace, with all below it, as the stream of pack.h. Links leave as links
 * and are not followed; nothing but directories and regular files is opened; a hard link leaves as
 * a file of its own. Changes nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "workspace/pack.h"
#include "workspace/tree.h"
#include "workspace/impl.h"

struct export
{
	struct sbx_tree tree;
	char path[SBX_FILES_PATH_MAX];
	uint64_t left; /* bytes that may still go out */
	int out;
};

static enum sbx_files_failure
put_entry(struct export *export, enum sbx_pack_kind kind, const struct stat *st, const char *target,
	size_t target_bytes)
{
	struct sbx_pack_entry entry = { .magic = SBX_PACK_MAGIC,
		.kind = (uint32_t)kind,
		.mode = st->st_mode & 0777,
		.path_bytes = (uint32_t)strlen(export->path),
		.target_bytes = (uint32_t)target_bytes,
		.mtime_nsec = (uint32_t)st->st_mtim.tv_nsec,
		.mtime_sec = st->st_mtim.tv_sec,
		.size = (uint64_t)st->st_size };
	enum sbx_files_failure failure = sbx_workspace_send(export->out, &entry, sizeof(entry));

	if (failure == SBX_FILES_OK)
		failure = sbx_workspace_send(export->out, export->path, entry.path_bytes);
	if (failure == SBX_FILES_OK && target_bytes > 0)
		failure = sbx_workspace_send(export->out, target, target_bytes);
	return failure;
}

/* To its end, as it is found; takes fd. */
static enum sbx_files_failure
put_bytes(struct export *export, int fd)
{
	static char bytes[sizeof(uint32_t) + SBX_PACK_CHUNK_MAX];
	SBX_AUTO_FD file = fd;
	ssize_t n;

	do {
		uint32_t length;

		n = read(file, bytes + sizeof(length), SBX_PACK_CHUNK_MAX);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return sbx_workspace_failure(errno);
		if ((uint64_t)n > export->left)
			return SBX_FILES_TOO_LARGE;
		export->left -= (uint64_t)n;
		length = (uint32_t)n;
		memcpy(bytes, &length, sizeof(length));
		if (sbx_workspace_send(export->out, bytes, sizeof(length) + (size_t)n) !=
			SBX_FILES_OK)
			return SBX_FILES_IO;
	} while (n != 0);
	return SBX_FILES_OK;
}

static enum sbx_files_failure
put_file(struct export *export, struct stat *st)
{
	const struct sbx_tree *tree = &export->tree;
	enum sbx_files_failure failure;
	int fd;

	failure = sbx_workspace_open(tree->dir, tree->name, 0, tree->dev, &fd, st);
	if (failure == SBX_FILES_IO)
		return failure;
	if (failure != SBX_FILES_OK) /* another by now, or not to be read */
		return failure == SBX_FILES_NOT_FOUND ?
			SBX_FILES_OK :
			put_entry(export, SBX_PACK_SKIPPED, st, NULL, 0);
	failure = put_entry(export, SBX_PACK_FILE, st, NULL, 0);
	if (failure == SBX_FILES_OK)
		return put_bytes(export, fd);
	close(fd);
	return failure;
}

static enum sbx_files_failure
put_link(struct export *export, const struct stat *st)
{
	static char target[SBX_FILES_PATH_MAX];
	ssize_t n = readlinkat(export->tree.dir, export->tree.name, target, sizeof(target) - 1);

	if (n <= 0)
		return errno == ENOENT ? SBX_FILES_OK :
					 put_entry(export, SBX_PACK_SKIPPED, st, NULL, 0);
	return put_entry(export, SBX_PACK_SYMLINK, st, target, (size_t)n);
}

static enum sbx_files_failure
put_one(struct export *export)
{
	struct sbx_tree *tree = &export->tree;
	enum sbx_files_failure failure;
	struct stat st;

	if (fstatat(tree->dir, tree->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? SBX_FILES_OK : sbx_workspace_failure(errno);
	if (S_ISREG(st.st_mode))
		return put_file(export, &st);
	if (S_ISLNK(st.st_mode))
		return put_link(export, &st);
	if (!S_ISDIR(st.st_mode) || st.st_dev != tree->dev)
		return put_entry(export, SBX_PACK_SKIPPED, &st, NULL, 0);
	failure = put_entry(export, SBX_PACK_DIRECTORY, &st, NULL, 0);
	if (failure != SBX_FILES_OK)
		return failure;
	failure = sbx_tree_enter(tree);
	if (failure == SBX_FILES_OK || failure == SBX_FILES_NOT_FOUND)
		return SBX_FILES_OK;
	return failure == SBX_FILES_IO ? failure :
					 put_entry(export, SBX_PACK_SKIPPED, &st, NULL, 0);
}

enum sbx_files_failure
sbx_workspace_export(int fd, const struct sbx_files_want *want, int out)
{
	static struct export export;
	const struct sbx_pack_entry end = { .magic = SBX_PACK_MAGIC, .kind = SBX_PACK_END };
	enum sbx_files_failure failure = sbx_tree_open(&export.tree, fd, export.path);
	int got = 0;

	export.left = want->limit;
	export.out = out;
	while (failure == SBX_FILES_OK && (got = sbx_tree_next(&export.tree)) > 0)
		failure = put_one(&export);
	if (failure == SBX_FILES_OK && got < 0)
		failure = SBX_FILES_IO;
	sbx_tree_done(&export.tree);
	return failure != SBX_FILES_OK ? failure : sbx_workspace_send(out, &end, sizeof(end));
}
