/*
 * A tar archive of a stranger, checked entry by entry: what is no file, directory or link, what has
 * a name that leads out, comes twice or lies beneath a link or a file of the same archive, ends it.
 * Sizes that headers tell are not believed: bytes count as they come.
 */
#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/scoped.h"
#include "tar.h"

#define BLOCK 65536
#define TAR_BLOCK 512
#define LINK_MAX_BYTES 65535

struct in {
	struct archive *archive;
	struct archive_entry *member; /* the archive's */
	struct tar_names *names;
	uint64_t left; /* bytes of files that may still come */
	char *path, *target; /* of the member; owned */
	struct sbx_pack_entry entry;
};

static int
put(const void *bytes, size_t length, struct sbx_err *err)
{
	return sbx_io_write_all(STDOUT_FILENO, bytes, length) == 0 ?
		0 :
		sbx_fail_sys(err, SBX_E_IO, "stdout");
}

static int
put_chunk(const void *bytes, size_t length, struct sbx_err *err)
{
	uint32_t head = (uint32_t)length;

	return put(&head, sizeof(head), err) < 0 || put(bytes, length, err) < 0 ? -1 : 0;
}

static int
trap(const struct in *in, const char *why, struct sbx_err *err)
{
	char shown[TAR_SHOWN_SIZE];

	return sbx_fail(err, SBX_E_DENIED, "\"%s\" %s", tar_path_show(in->path, shown), why);
}

/* What libarchive says may quote a stranger: only its number is for the message. */
static int
broken(const struct in *in, struct sbx_err *err)
{
	if (archive_errno(in->archive) == ENOMEM)
		return sbx_fail(err, SBX_E_TOO_LARGE, "the archive wants more memory than it gets");
	return sbx_fail(err, SBX_E_BAD_REQUEST, "this is no whole tar archive");
}

/* Neither a file nor a link of this archive may stand on the way. */
static int
check_parents(const struct in *in, const char *path, struct sbx_err *err)
{
	for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		switch (tar_names_find(in->names, path, (size_t)(slash - path))) {
		case SBX_PACK_SYMLINK:
			return trap(in, "lies beneath a symbolic link of this archive", err);
		case SBX_PACK_FILE:
		case SBX_PACK_HARDLINK:
			return trap(in, "lies beneath a file of this archive", err);
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
kind_of(struct archive_entry *member)
{
	if (archive_entry_hardlink(member) != NULL || archive_entry_hardlink_utf8(member) != NULL)
		return SBX_PACK_HARDLINK;
	switch (archive_entry_filetype(member)) {
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
check_target(struct in *in, enum sbx_pack_kind kind, struct sbx_err *err)
{
	if (kind == SBX_PACK_SYMLINK &&
		(in->target[0] == '\0' || strlen(in->target) > LINK_MAX_BYTES))
		return trap(in, "is a symbolic link to nothing", err);
	if (kind != SBX_PACK_HARDLINK)
		return 0;
	if (tar_path_clean(in->target, err) == NULL)
		return -1;
	return tar_names_find(in->names, in->target, strlen(in->target)) == SBX_PACK_FILE ?
		0 :
		trap(in, "is a hard link to no file of this archive before it", err);
}

/* What it is, and whether it may be: 1, 0 for the archive's root, -1. */
static int
judge(struct in *in, struct sbx_err *err)
{
	enum sbx_pack_kind kind = kind_of(in->member), before;

	free(in->path);
	free(in->target);
	in->target = kind == SBX_PACK_HARDLINK ?
		text_of(archive_entry_hardlink(in->member),
			archive_entry_hardlink_utf8(in->member)) :
		text_of(archive_entry_symlink(in->member), archive_entry_symlink_utf8(in->member));
	in->path = text_of(archive_entry_pathname(in->member),
		archive_entry_pathname_utf8(in->member));
	if (in->path[0] == '\0')
		return trap(in, "is an empty name", err);
	if (tar_path_clean(in->path, err) == NULL)
		return -1;
	if (in->path[0] == '\0')
		return kind == SBX_PACK_DIRECTORY ? 0 :
						    trap(in, "is the root, and no directory", err);
	if (kind == SBX_PACK_SKIPPED)
		return trap(in, "is a device, fifo or socket", err);
	before = tar_names_find(in->names, in->path, strlen(in->path));
	if (before != SBX_PACK_END && (before != SBX_PACK_DIRECTORY || kind != before))
		return trap(in, "comes twice", err);
	if (check_parents(in, in->path, err) < 0 || check_target(in, kind, err) < 0 ||
		tar_names_add(in->names, in->path, kind, err) < 0)
		return -1;
	in->entry = (struct sbx_pack_entry){ .magic = SBX_PACK_MAGIC,
		.kind = (uint32_t)kind,
		.mode = archive_entry_perm(in->member) & 0777,
		.path_bytes = (uint32_t)strlen(in->path),
		.mtime_sec = archive_entry_mtime(in->member),
		.mtime_nsec = (uint32_t)archive_entry_mtime_nsec(in->member) };
	if (kind == SBX_PACK_SYMLINK || kind == SBX_PACK_HARDLINK)
		in->entry.target_bytes = (uint32_t)strlen(in->target);
	return 1;
}

static int
spend(struct in *in, uint64_t bytes, struct sbx_err *err)
{
	if (bytes > in->left)
		return sbx_fail(err, SBX_E_TOO_LARGE, "its files have more bytes than they may");
	in->left -= bytes;
	return 0;
}

/* A hole, written out. */
static int
put_zeros(struct in *in, uint64_t length, struct sbx_err *err)
{
	static const char zeros[BLOCK];

	if (spend(in, length, err) < 0)
		return -1;
	while (length > 0) {
		size_t piece = length < sizeof(zeros) ? (size_t)length : sizeof(zeros);

		if (put_chunk(zeros, piece, err) < 0)
			return -1;
		length -= piece;
	}
	return 0;
}

static int
put_block(struct in *in, const char *bytes, size_t length, struct sbx_err *err)
{
	if (spend(in, length, err) < 0)
		return -1;
	while (length > 0) {
		size_t piece = length < SBX_PACK_CHUNK_MAX ? length : SBX_PACK_CHUNK_MAX;

		if (put_chunk(bytes, piece, err) < 0)
			return -1;
		bytes += piece;
		length -= piece;
	}
	return 0;
}

static int
put_bytes(struct in *in, struct sbx_err *err)
{
	uint64_t at = 0;
	const void *bytes;
	size_t length;
	la_int64_t offset;
	int rc;

	while ((rc = archive_read_data_block(in->archive, &bytes, &length, &offset)) ==
		ARCHIVE_OK) {
		if (offset < 0 || (uint64_t)offset < at)
			return broken(in, err);
		if (put_zeros(in, (uint64_t)offset - at, err) < 0 ||
			put_block(in, bytes, length, err) < 0)
			return -1;
		at = (uint64_t)offset + length;
	}
	if (rc != ARCHIVE_EOF)
		return broken(in, err);
	/* A hole at its end. */
	if (archive_entry_size_is_set(in->member) &&
		archive_entry_size(in->member) > (la_int64_t)at &&
		put_zeros(in, (uint64_t)archive_entry_size(in->member) - at, err) < 0)
		return -1;
	return put_chunk("", 0, err);
}

static int
put_member(struct in *in, struct sbx_err *err)
{
	int wanted = judge(in, err);

	if (wanted <= 0)
		return wanted;
	if (put(&in->entry, sizeof(in->entry), err) < 0 ||
		put(in->path, in->entry.path_bytes, err) < 0 ||
		put(in->target, in->entry.target_bytes, err) < 0)
		return -1;
	return in->entry.kind == SBX_PACK_FILE ? put_bytes(in, err) : 0;
}

/* libarchive takes an archive that was cut between two members for a whole one. The end has a mark
 * of at least a block behind the last member, whose own filling is less than a block. */
static int
has_end_mark(const struct in *in, la_int64_t last_member_end)
{
	return archive_filter_bytes(in->archive, 0) - last_member_end >= TAR_BLOCK;
}

static int
convert(struct in *in, struct sbx_err *err)
{
	const struct sbx_pack_entry end = { .magic = SBX_PACK_MAGIC, .kind = SBX_PACK_END };
	la_int64_t member_end = 0;
	int rc;

	if (archive_read_support_format_tar(in->archive) != ARCHIVE_OK ||
		archive_read_support_filter_gzip(in->archive) != ARCHIVE_OK ||
		archive_read_support_filter_bzip2(in->archive) != ARCHIVE_OK ||
		archive_read_support_filter_xz(in->archive) != ARCHIVE_OK ||
		archive_read_support_filter_zstd(in->archive) != ARCHIVE_OK)
		return sbx_fail(err, SBX_E_INTERNAL, "libarchive lacks a format");
	if (archive_read_open_fd(in->archive, STDIN_FILENO, BLOCK) != ARCHIVE_OK)
		return broken(in, err);
	/* A warning is of a name in another character set: its bytes are taken as they are. */
	while ((rc = archive_read_next_header(in->archive, &in->member)) == ARCHIVE_OK ||
		rc == ARCHIVE_WARN) {
		if (put_member(in, err) < 0)
			return -1;
		member_end = archive_filter_bytes(in->archive, 0);
	}
	if (rc != ARCHIVE_EOF || !has_end_mark(in, member_end))
		return broken(in, err);
	return put(&end, sizeof(end), err);
}

int
tar_in(const struct tar_options *options, struct sbx_err *err)
{
	struct in in = { .archive = archive_read_new(),
		.names = tar_names_make(options->max_entries),
		.left = options->max_bytes };
	int rc = in.archive == NULL ? sbx_fail(err, SBX_E_INTERNAL, "no memory") :
				      convert(&in, err);

	if (in.archive != NULL)
		archive_read_free(in.archive);
	tar_names_free(in.names);
	free(in.path);
	free(in.target);
	return rc;
}
