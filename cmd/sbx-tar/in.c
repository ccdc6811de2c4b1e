/*
 * A tar archive of a stranger becomes the stream, member by member, each of which is judged
 * (member.c); the first trap ends it. Sizes that headers tell are not believed: bytes count as they
 * come.
 */
#include <archive.h>
#include <archive_entry.h>
#include <unistd.h>

#include "base/io.h"
#include "tar.h"

#define BLOCK 65536
#define TAR_BLOCK 512

struct in {
	struct archive *archive;
	struct tar_names *names;
	struct tar_member member;
	uint64_t left; /* bytes of files that may still come */
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

/* What libarchive says may quote a stranger: only its number is for the message. */
static int
broken(const struct in *in, struct sbx_err *err)
{
	if (archive_errno(in->archive) == ENOMEM)
		return sbx_fail(err, SBX_E_TOO_LARGE, "the archive wants more memory than it gets");
	return sbx_fail(err, SBX_E_BAD_REQUEST, "this is no whole tar archive");
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
	if (archive_entry_size_is_set(in->member.from) &&
		archive_entry_size(in->member.from) > (la_int64_t)at &&
		put_zeros(in, (uint64_t)archive_entry_size(in->member.from) - at, err) < 0)
		return -1;
	return put_chunk("", 0, err);
}

static int
put_member(struct in *in, struct sbx_err *err)
{
	const struct tar_member *member = &in->member;
	int wanted = tar_member_judge(&in->member, in->names, err);

	if (wanted <= 0)
		return wanted;
	if (put(&member->entry, sizeof(member->entry), err) < 0 ||
		put(member->path, member->entry.path_bytes, err) < 0 ||
		put(member->target, member->entry.target_bytes, err) < 0)
		return -1;
	return member->entry.kind == SBX_PACK_FILE ? put_bytes(in, err) : 0;
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
	while ((rc = archive_read_next_header(in->archive, &in->member.from)) == ARCHIVE_OK ||
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
	tar_member_done(&in.member);
	return rc;
}
