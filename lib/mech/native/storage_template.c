/*
 * Templates: to make a file system takes mkfs and a mount, to copy one takes some twenty blocks. So
 * the first of each size is kept, as its non-empty blocks with their numbers and a digest, in
 * template/ of the state directory; what is damaged is made anew. Replaced by rename, bounded in
 * number: the one that was made first goes.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/id.h"
#include "base/io.h"
#include "base/log.h"
#include "base/scoped.h"
#include "mech/native/storage.h"
#include "mech/tool.h"

#define TEMPLATES_MAX 16
#define TEXT_MAX ((size_t)64 * 1024 * 1024)
#define MAGIC "sbx ext4 blocks\n" /* 16 bytes */
#define VERSION 1

/* As it is on disk, by this host for this host. Behind it: the numbers, then the blocks. */
struct head {
	char magic[16], digest[80]; /* of all that is behind it */
	uint64_t version, blocks, count;
	uint64_t free_blocks, free_inodes;
};
#define UNDIGESTED offsetof(struct head, version)

static void
name_of(const struct sbx_ext4_room *room, char out[64])
{
	snprintf(out, 64, "%ju-%ju", (uintmax_t)room->blocks, (uintmax_t)room->inodes);
}

static int
open_dir(const struct sbx_state *state, struct sbx_err *err)
{
	int fd;

	if (mkdirat(state->root_fd, "template", 0700) < 0 && errno != EEXIST)
		return sbx_fail_sys(err, errno == ENOSPC ? SBX_E_QUOTA : SBX_E_IO,
			"make %s/template", state->path);
	fd = openat(state->root_fd, "template", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? sbx_fail_sys(err, SBX_E_IO, "open %s/template", state->path) : fd;
}

static int
is_good(const struct sbx_native_template *template, const struct sbx_ext4_room *room)
{
	const struct head *head = (const void *)template->text.data;
	char digest[73];

	if (template->text.length < sizeof(*head) || memcmp(head->magic, MAGIC, 16) != 0 ||
		head->version != VERSION || head->free_blocks != room->blocks ||
		head->free_inodes != room->inodes || head->count == 0 ||
		head->count > TEXT_MAX / SBX_EXT4_BLOCK ||
		template->text.length - sizeof(*head) !=
			head->count * (sizeof(uint64_t) + SBX_EXT4_BLOCK))
		return 0;
	sbx_id_digest(template->text.data + UNDIGESTED, template->text.length - UNDIGESTED, digest);
	return memcmp(digest, head->digest, sizeof(digest)) == 0;
}

static const uint64_t *
numbers_borrow(const struct sbx_native_template *template)
{
	return (const void *)(template->text.data + sizeof(struct head));
}

/* Whether a block of zeros. */
static int
is_empty(const char *block)
{
	return block[0] == '\0' && memcmp(block, block + 1, SBX_EXT4_BLOCK - 1) == 0;
}

/* The numbers of the blocks that are not empty into one buffer, and the blocks into another. */
static int
collect(int fd, struct sbx_buf *numbers, struct sbx_buf *blocks, struct sbx_err *err)
{
	char block[SBX_EXT4_BLOCK];
	off_t at = 0, end = 0;

	for (;;) {
		uint64_t number;

		if (at >= end) {
			at = lseek(fd, at, SEEK_DATA);
			if (at < 0 && errno == ENXIO)
				return 0;
			end = at < 0 ? -1 : lseek(fd, at, SEEK_HOLE);
			if (end < 0)
				return sbx_fail_sys(err, SBX_E_IO, "find the data of an image");
			at -= at % SBX_EXT4_BLOCK;
		}
		if (pread(fd, block, sizeof(block), at) != (ssize_t)sizeof(block))
			return sbx_fail_sys(err, SBX_E_IO, "read an image");
		number = (uint64_t)at / SBX_EXT4_BLOCK;
		if (!is_empty(block) &&
			(sbx_buf_add(numbers, &number, sizeof(number)) < 0 ||
				sbx_buf_add(blocks, block, sizeof(block)) < 0))
			return sbx_buf_check(blocks, "an image's template", err);
		at += SBX_EXT4_BLOCK;
	}
}

static int
pack(int fd, const struct sbx_ext4_room *room, struct sbx_buf *out, struct sbx_err *err)
{
	SBX_AUTO_BUF numbers = SBX_BUF_INIT(TEXT_MAX);
	SBX_AUTO_BUF blocks = SBX_BUF_INIT(TEXT_MAX);
	struct head head = {
		.version = VERSION, .free_blocks = room->blocks, .free_inodes = room->inodes
	};
	struct stat st;

	memcpy(head.magic, MAGIC, sizeof(head.magic));
	if (fstat(fd, &st) < 0)
		return sbx_fail_sys(err, SBX_E_IO, "look at an image");
	if (collect(fd, &numbers, &blocks, err) < 0)
		return -1;
	head.blocks = (uint64_t)st.st_size / SBX_EXT4_BLOCK;
	head.count = blocks.length / SBX_EXT4_BLOCK;
	sbx_buf_clear(out);
	if (sbx_buf_add(out, &head, sizeof(head)) < 0 ||
		sbx_buf_add(out, numbers.data, numbers.length) < 0 ||
		sbx_buf_add(out, blocks.data, blocks.length) < 0)
		return sbx_buf_check(out, "an image's template", err);
	sbx_id_digest(out->data + UNDIGESTED, out->length - UNDIGESTED, head.digest);
	memcpy(out->data, &head, sizeof(head));
	return 0;
}

/* Make room for one more: the oldest goes, and what is no template. */
static void
evict(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), count = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	char oldest[256] = "";
	int64_t since = INT64_MAX;
	struct stat st;

	if (dir == NULL) {
		sbx_scoped_close(&fd);
		return;
	}
	while ((entry = readdir(dir)) != NULL) {
		if (fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			!S_ISREG(st.st_mode))
			continue;
		count++;
		if ((int64_t)st.st_mtim.tv_sec < since) {
			since = st.st_mtim.tv_sec;
			snprintf(oldest, sizeof(oldest), "%s", entry->d_name);
		}
	}
	closedir(dir);
	if (count >= TEMPLATES_MAX && unlinkat(dir_fd, oldest, 0) < 0)
		sbx_log(SBX_LOG_WARN, "template %s cannot be removed", oldest);
}

/* The file that it is made in has no name: whoever dies leaves none. */
static int
make(int dir_fd, const struct sbx_ext4_room *room, const char *name,
	struct sbx_native_template *template, struct sbx_err *err)
{
	SBX_AUTO_FD fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct sbx_err unkept = { 0 };

	if (fd < 0)
		return sbx_fail_sys(err,
			errno == ENOSPC		    ? SBX_E_QUOTA :
				errno == EOPNOTSUPP ? SBX_E_UNAVAILABLE :
						      SBX_E_IO,
			"make a nameless file for an image");
	if (sbx_ext4_make(fd, room, sbx_tool_deferred, err) < 0 ||
		pack(fd, room, &template->text, err) < 0)
		return -1;
	evict(dir_fd);
	/* Without one the next is only slower. */
	if (sbx_io_replace_file(dir_fd, name, template->text.data, template->text.length, 0600, 0,
		    &unkept) < 0)
		sbx_log_err(&unkept);
	return 0;
}

int
sbx_native_template_open(const struct sbx_state *state, const struct sbx_ext4_room *room,
	struct sbx_native_template *template, struct sbx_err *err)
{
	struct sbx_err why = { 0 };
	SBX_AUTO_FD dir = -1;
	const struct head *head;
	char name[64];

	*template = (struct sbx_native_template){ .text = SBX_BUF_INIT(TEXT_MAX) };
	dir = open_dir(state, err);
	if (dir < 0)
		return -1;
	name_of(room, name);
	if (sbx_io_read_file(dir, name, &template->text, &why) < 0 || !is_good(template, room)) {
		if (why.code != SBX_E_NOT_FOUND)
			sbx_log(SBX_LOG_WARN, "template %s is damaged: it is made anew", name);
		if (make(dir, room, name, template, err) < 0) {
			sbx_native_template_done(template);
			return -1;
		}
	}
	head = (const void *)template->text.data;
	template->blocks = head->blocks;
	template->count = head->count;
	return 0;
}

void
sbx_native_template_done(struct sbx_native_template *template)
{
	sbx_buf_done(&template->text);
}

int
sbx_native_template_write(const struct sbx_native_template *template, int fd)
{
	const uint64_t *numbers = numbers_borrow(template);
	const char *blocks = (const char *)(numbers + template->count);

	for (uint64_t i = 0, run; i < template->count; i += run) {
		for (run = 1; i + run < template->count && numbers[i + run] == numbers[i] + run;)
			run++;
		if (pwrite(fd, blocks + i * SBX_EXT4_BLOCK, run * SBX_EXT4_BLOCK,
			    (off_t)(numbers[i] * SBX_EXT4_BLOCK)) !=
			(ssize_t)(run * SBX_EXT4_BLOCK)) {
			if (errno == 0)
				errno = ENOSPC;
			return -1;
		}
	}
	return 0;
}

void
sbx_native_template_drop(const struct sbx_state *state, const struct sbx_ext4_room *room)
{
	struct sbx_err ignored = { 0 };
	SBX_AUTO_FD dir = open_dir(state, &ignored);
	char name[64];

	name_of(room, name);
	if (dir >= 0 && unlinkat(dir, name, 0) < 0 && errno != ENOENT)
		sbx_log(SBX_LOG_WARN, "template %s cannot be removed", name);
}
