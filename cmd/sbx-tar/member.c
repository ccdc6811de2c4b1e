/*
 * What a member of a stranger's archive is, and whether it may be: what is no file, directory or
 * link, has a name that leads out, comes twice or lies beneath a link or a file of the same archive,
 * is a trap.
 */
#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>

#include "tar.h"

#define LINK_MAX_BYTES 65535

static int
trap(const struct tar_member *member, const char *why, struct sbx_err *err)
{
	char shown[TAR_SHOWN_SIZE];

	return sbx_fail(err, SBX_E_DENIED, "\"%s\" %s", tar_path_show(member->path, shown), why);
}

/* Neither a file nor a link of this archive may stand on the way. */
static int
check_parents(const struct tar_member *member, const struct tar_names *names, struct sbx_err *err)
{
	const char *path = member->path;

	for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		switch (tar_names_find(names, path, (size_t)(slash - path))) {
		case SBX_PACK_SYMLINK:
			return trap(member, "lies beneath a symbolic link of this archive", err);
		case SBX_PACK_FILE:
		case SBX_PACK_HARDLINK:
			return trap(member, "lies beneath a file of this archive", err);
		case SBX_PACK_END:
		case SBX_PACK_DIRECTORY:
		case SBX_PACK_SKIPPED:
			break;
		}
	}
	return 0;
}

/* A text of the member, copied; "" where it has none. */
static char *
text_of(const char *native, const char *utf8)
{
	const char *text = native != NULL ? native : utf8;
	char *copy = strdup(text != NULL ? text : "");

	if (copy == NULL)
		abort();
	return copy;
}

static enum sbx_pack_kind
kind_of(struct archive_entry *entry)
{
	if (archive_entry_hardlink(entry) != NULL || archive_entry_hardlink_utf8(entry) != NULL)
		return SBX_PACK_HARDLINK;
	switch (archive_entry_filetype(entry)) {
	case AE_IFREG:
		return SBX_PACK_FILE;
	case AE_IFDIR:
		return SBX_PACK_DIRECTORY;
	case AE_IFLNK:
		return SBX_PACK_SYMLINK;
	default:
		return SBX_PACK_SKIPPED;
	}
}

static int
check_target(struct tar_member *member, const struct tar_names *names, enum sbx_pack_kind kind,
	struct sbx_err *err)
{
	if (kind == SBX_PACK_SYMLINK &&
		(member->target[0] == '\0' || strlen(member->target) > LINK_MAX_BYTES))
		return trap(member, "is a symbolic link to nothing", err);
	if (kind != SBX_PACK_HARDLINK)
		return 0;
	if (tar_path_clean(member->target, err) == NULL)
		return -1;
	return tar_names_find(names, member->target, strlen(member->target)) == SBX_PACK_FILE ?
		0 :
		trap(member, "is a hard link to no file of this archive before it", err);
}

int
tar_member_judge(struct tar_member *member, struct tar_names *names, struct sbx_err *err)
{
	enum sbx_pack_kind kind = kind_of(member->from), before;

	free(member->path);
	free(member->target);
	member->target = kind == SBX_PACK_HARDLINK ?
		text_of(archive_entry_hardlink(member->from),
			archive_entry_hardlink_utf8(member->from)) :
		text_of(archive_entry_symlink(member->from),
			archive_entry_symlink_utf8(member->from));
	member->path = text_of(archive_entry_pathname(member->from),
		archive_entry_pathname_utf8(member->from));
	if (member->path[0] == '\0')
		return trap(member, "is an empty name", err);
	if (tar_path_clean(member->path, err) == NULL)
		return -1;
	if (member->path[0] == '\0')
		return kind == SBX_PACK_DIRECTORY ?
			0 :
			trap(member, "is the root, and no directory", err);
	if (kind == SBX_PACK_SKIPPED)
		return trap(member, "is a device, fifo or socket", err);
	before = tar_names_find(names, member->path, strlen(member->path));
	if (before != SBX_PACK_END && (before != SBX_PACK_DIRECTORY || kind != before))
		return trap(member, "comes twice", err);
	if (check_parents(member, names, err) < 0 || check_target(member, names, kind, err) < 0 ||
		tar_names_add(names, member->path, kind, err) < 0)
		return -1;
	member->entry = (struct sbx_pack_entry){ .magic = SBX_PACK_MAGIC,
		.kind = (uint32_t)kind,
		.mode = archive_entry_perm(member->from) & 0777,
		.path_bytes = (uint32_t)strlen(member->path),
		.mtime_sec = archive_entry_mtime(member->from),
		.mtime_nsec = (uint32_t)archive_entry_mtime_nsec(member->from) };
	if (kind == SBX_PACK_SYMLINK || kind == SBX_PACK_HARDLINK)
		member->entry.target_bytes = (uint32_t)strlen(member->target);
	return 1;
}

void
tar_member_done(struct tar_member *member)
{
	free(member->path);
	free(member->target);
	member->path = member->target = NULL;
}
