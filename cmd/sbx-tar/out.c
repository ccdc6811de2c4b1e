/*
 * The stream of a workspace as a pax archive: in its order, owners left out, names as bytes. What
 * was skipped is told on stderr. An archive that could not be made whole has no end.
 */
#include <archive.h>
#include <archive_entry.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/scoped.h"
#include "workspace/workspace.h"
#include "tar.h"

struct out {
	struct archive *archive;
	struct archive_entry *member;
	struct sbx_pack_entry entry;
	char path[SBX_FILES_PATH_MAX], target[SBX_FILES_PATH_MAX];
};

static int
take(void *bytes, size_t length, struct sbx_err *err)
{
	char *to = bytes;

	while (length > 0) {
		ssize_t n = read(STDIN_FILENO, to, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return sbx_fail_sys(err, SBX_E_IO, "stdin");
		if (n == 0)
			return sbx_fail(err, SBX_E_CORRUPT, "what comes in has no end");
		to += n;
		length -= (size_t)n;
	}
	return 0;
}

static int
take_text(uint32_t length, char text[SBX_FILES_PATH_MAX], struct sbx_err *err)
{
	if (length >= SBX_FILES_PATH_MAX)
		return sbx_fail(err, SBX_E_CORRUPT, "what comes in is no tree");
	text[length] = '\0';
	return take(text, length, err);
}

static int
take_entry(struct out *out, struct sbx_err *err)
{
	if (take(&out->entry, sizeof(out->entry), err) < 0)
		return -1;
	if (out->entry.magic != SBX_PACK_MAGIC || out->entry.kind > SBX_PACK_SKIPPED)
		return sbx_fail(err, SBX_E_CORRUPT, "what comes in is no tree");
	return take_text(out->entry.path_bytes, out->path, err) < 0 ||
			take_text(out->entry.target_bytes, out->target, err) < 0 ?
		-1 :
		0;
}

static int
failed(const struct out *out, struct sbx_err *err)
{
	errno = archive_errno(out->archive) > 0 ? archive_errno(out->archive) : EIO;
	return sbx_fail_sys(err, SBX_E_IO, "write the archive");
}

/* A warning is of a name that is no text, which goes as bytes. */
static int
put_header(struct out *out, __LA_MODE_T type, struct sbx_err *err)
{
	struct archive_entry *member = archive_entry_clear(out->member);
	int rc;

	archive_entry_copy_pathname(member, out->path);
	archive_entry_set_filetype(member, type);
	archive_entry_set_perm(member, (__LA_MODE_T)(out->entry.mode & 0777));
	archive_entry_set_mtime(member, out->entry.mtime_sec, (long)out->entry.mtime_nsec);
	archive_entry_set_uid(member, 0);
	archive_entry_set_gid(member, 0);
	archive_entry_set_size(member, type == AE_IFREG ? (la_int64_t)out->entry.size : 0);
	if (type == AE_IFLNK)
		archive_entry_copy_symlink(member, out->target);
	rc = archive_write_header(out->archive, member);
	return rc == ARCHIVE_OK || rc == ARCHIVE_WARN ? 0 : failed(out, err);
}

/* As many as the header promised: more are dropped, and libarchive makes up for less. */
static int
put_bytes(struct out *out, struct sbx_err *err)
{
	static char bytes[SBX_PACK_CHUNK_MAX];
	uint64_t left = out->entry.size;
	uint32_t length;

	for (;;) {
		if (take(&length, sizeof(length), err) < 0)
			return -1;
		if (length == 0)
			return 0;
		if (length > sizeof(bytes))
			return sbx_fail(err, SBX_E_CORRUPT, "what comes in is no tree");
		if (take(bytes, length, err) < 0)
			return -1;
		if (length > left)
			length = (uint32_t)left;
		if (length > 0 && archive_write_data(out->archive, bytes, length) < 0)
			return failed(out, err);
		left -= length;
	}
}

static int
put_entry(struct out *out, struct sbx_err *err)
{
	char shown[TAR_SHOWN_SIZE];

	switch ((enum sbx_pack_kind)out->entry.kind) {
	case SBX_PACK_DIRECTORY:
		return put_header(out, AE_IFDIR, err);
	case SBX_PACK_FILE:
		return put_header(out, AE_IFREG, err) < 0 ? -1 : put_bytes(out, err);
	case SBX_PACK_SYMLINK:
		return put_header(out, AE_IFLNK, err);
	case SBX_PACK_HARDLINK:
	case SBX_PACK_SKIPPED:
	case SBX_PACK_END:
		break;
	}
	sbx_log(SBX_LOG_WARN, "left out: \"%s\" is no file, directory or link that can be read",
		tar_path_show(out->path, shown));
	return 0;
}

static int
convert(struct out *out, struct sbx_err *err)
{
	if (archive_write_set_format_pax_restricted(out->archive) != ARCHIVE_OK ||
		archive_write_open_fd(out->archive, STDOUT_FILENO) != ARCHIVE_OK)
		return failed(out, err);
	for (;;) {
		if (take_entry(out, err) < 0)
			return -1;
		if (out->entry.kind == SBX_PACK_END)
			break;
		if (put_entry(out, err) < 0)
			return -1;
	}
	return archive_write_close(out->archive) == ARCHIVE_OK ? 0 : failed(out, err);
}

int
tar_out(struct sbx_err *err)
{
	static struct out out;
	int rc;

	out.archive = archive_write_new();
	out.member = archive_entry_new();
	rc = out.archive == NULL || out.member == NULL ?
		sbx_fail(err, SBX_E_INTERNAL, "no memory") :
		convert(&out, err);
	if (out.archive != NULL && rc < 0)
		archive_write_fail(out.archive); /* no end is written */
	if (out.archive != NULL)
		archive_write_free(out.archive);
	if (out.member != NULL)
		archive_entry_free(out.member);
	return rc;
}
