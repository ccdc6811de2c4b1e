/*
 * ext4 in a file, to measure. After mkfs (ext4_mkfs.c) it is
 * mounted once, where nobody sees it, and filled up to the room that was asked for. How much mkfs and
 * the kernel keep for themselves (bitmaps, tables, copies of the superblock, 2 % in reserve since
 * Linux 3.10) is seen and not computed: a file system that came out too small is made again, larger.
 * Parses nothing and never mounts a file that somebody else wrote.
 */
#include "kernel/ext4.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/scoped.h"
#include "kernel/mount.h"

#define TRIES 6
#define INODE_BYTES 256
#define BITMAP_BITS ((uint64_t)8 * SBX_EXT4_BLOCK) /* of a group: blocks, and inodes */
#define RESERVED_MAX 4096 /* blocks that the kernel keeps: 2 %, at most these */
#define FILLERS_DIR "fill"

static uint64_t
round_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

/* Groups small enough that none would need more inodes than its bitmap has bits. */
static void
lay_out(struct sbx_ext4_geometry *geometry)
{
	uint64_t groups = (geometry->inodes + BITMAP_BITS - 1) / BITMAP_BITS;

	geometry->group_blocks = BITMAP_BITS;
	if (groups > 1 && geometry->blocks / groups < BITMAP_BITS)
		geometry->group_blocks = round_up(geometry->blocks / groups, 8);
	if (geometry->group_blocks < 256)
		geometry->group_blocks = 256;
}

static struct sbx_ext4_geometry
first_guess(const struct sbx_ext4_room *room)
{
	struct sbx_ext4_geometry geometry = { .inodes = room->inodes + 64 };
	uint64_t tables = geometry.inodes * INODE_BYTES / SBX_EXT4_BLOCK + 1;
	uint64_t reserved = (room->blocks + tables) / 49;

	if (reserved > RESERVED_MAX)
		reserved = RESERVED_MAX;
	geometry.blocks = room->blocks + tables + reserved + 256;
	geometry.blocks += geometry.blocks / BITMAP_BITS * 8;
	lay_out(&geometry);
	return geometry;
}

int
sbx_ext4_mount(const struct sbx_loopdev *loop, struct sbx_err *err)
{
	char source[48];
	/*
	 * What is in it dies with the environment: no barriers, so that no fsync inside commits the
	 * host's journal, and no thread that writes tables which are zero already.
	 */
	const char *const options[] = { source, "errors=remount-ro", "nobarrier", "noinit_itable",
		NULL };
	int fd;

	snprintf(source, sizeof(source), "source=%s", loop->path);
	fd = sbx_mount_new("ext4", options, SBX_MOUNT_NODEV, err);
	if (fd >= 0)
		return fd;
	/* A bad image is not a host without ext4: nobody falls back on that. */
	if (err->sys != ENODEV && err->sys != EPERM && err->sys != EACCES && err->sys != ENOSYS)
		err->code = SBX_E_IO;
	else
		sbx_fail_hint(err, "the kernel's module ext4, and CAP_SYS_ADMIN on the host");
	return -1;
}

int
sbx_ext4_free(int fd, struct sbx_ext4_room *room)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return -1;
	room->blocks = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize / SBX_EXT4_BLOCK;
	room->inodes = fs.f_ffree;
	return 0;
}

/* Empty files use inodes up, in a directory that takes blocks itself and so comes first. */
static int
fill_inodes(int dir_fd, const struct sbx_ext4_room *want, struct sbx_ext4_room *have)
{
	for (uint64_t i = 0; have->inodes > want->inodes; i++) {
		char name[24];
		SBX_AUTO_FD fd = -1;

		snprintf(name, sizeof(name), "%ju", (uintmax_t)i);
		fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0)
			return -1;
		have->inodes--;
	}
	return 0;
}

/* One file over all blocks that are too many; a tree of extents is paid for with some of them. */
static int
fill_blocks(int dir_fd, const struct sbx_ext4_room *want)
{
	SBX_AUTO_FD fd = openat(dir_fd, "blocks", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct sbx_ext4_room have;
	uint64_t length = 0;

	if (fd < 0 || syncfs(fd) < 0)
		return -1;
	for (int tries = 0; tries < 64; tries++) {
		if (sbx_ext4_free(fd, &have) < 0)
			return -1;
		if (have.blocks == want->blocks)
			return 0;
		if (have.blocks > want->blocks) {
			uint64_t more = have.blocks - want->blocks;

			if (fallocate(fd, 0, (off_t)(length * SBX_EXT4_BLOCK),
				    (off_t)(more * SBX_EXT4_BLOCK)) < 0)
				return -1;
			length += more;
		} else {
			uint64_t less = want->blocks - have.blocks;

			length -= less < length ? less : length;
			if (ftruncate(fd, (off_t)(length * SBX_EXT4_BLOCK)) < 0)
				return -1;
		}
		if (syncfs(fd) < 0)
			return -1;
	}
	errno = EUCLEAN;
	return -1;
}

/* 1: it has exactly the room, 0: it is too small and *geometry larger now, -1. */
static int
trim(int root_fd, const struct sbx_ext4_room *room, struct sbx_ext4_geometry *geometry,
	struct sbx_err *err)
{
	struct sbx_ext4_room have, want = *room;
	SBX_AUTO_FD fill = -1;

	if (mkdirat(root_fd, SBX_EXT4_TREE, 0700) < 0 || mkdirat(root_fd, FILLERS_DIR, 0700) < 0) {
		if (errno == ENOSPC) {
			geometry->blocks += geometry->blocks / 16 + 256;
			lay_out(geometry);
			return 0;
		}
		return sbx_fail_sys(err, SBX_E_IO, "make the tree of an image");
	}
	fill = openat(root_fd, FILLERS_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fill < 0 || sbx_ext4_free(fill, &have) < 0)
		return sbx_fail_sys(err, SBX_E_IO, "look into an image");
	/* One inode for the file that fills blocks, and some blocks for the directory of the others. */
	if (have.inodes < want.inodes + 1 || have.blocks < want.blocks + 64) {
		uint64_t inodes = have.inodes < want.inodes + 1 ? want.inodes + 1 - have.inodes : 0;
		uint64_t blocks = have.blocks < want.blocks + 64 ? want.blocks + 64 - have.blocks :
								   0;

		geometry->inodes += inodes + (inodes + 7) / 8;
		geometry->blocks += blocks + blocks / 16 + 64 + inodes / 8;
		lay_out(geometry);
		return 0;
	}
	want.inodes++;
	if (fill_inodes(fill, &want, &have) < 0 || fill_blocks(fill, room) < 0 ||
		sbx_ext4_free(fill, &have) < 0)
		return sbx_fail_sys(err, SBX_E_IO, "fill an image");
	if (have.blocks != room->blocks || have.inodes != room->inodes)
		return sbx_fail(err, SBX_E_IO,
			"an image with room for %ju blocks and %ju inodes came out with %ju and %ju",
			(uintmax_t)room->blocks, (uintmax_t)room->inodes, (uintmax_t)have.blocks,
			(uintmax_t)have.inodes);
	return 1;
}

static int
mount_and_trim(int fd, const struct sbx_ext4_room *room, struct sbx_ext4_geometry *geometry,
	struct sbx_err *err)
{
	struct sbx_loopdev loop;
	int done, root_fd;

	if (sbx_loopdev_attach(fd, "sbx template", &loop, err) < 0)
		return -1;
	root_fd = sbx_ext4_mount(&loop, err);
	done = root_fd < 0 ? -1 : trim(root_fd, room, geometry, err);
	sbx_scoped_close(&root_fd);
	sbx_loopdev_done(&loop);
	return done;
}

/* The device goes with its last holder, but not at once if somebody (udev) looks at it. */
static int
let_go(int fd, struct sbx_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return sbx_fail_sys(err, SBX_E_IO, "look at an image");
	for (int tries = 0; tries < 200; tries++) {
		struct sbx_err unknown = { 0 };

		if (sbx_loopdev_find(&st, &unknown) < 0 && unknown.code == SBX_OK)
			return 0;
		usleep(10000);
	}
	return sbx_fail(err, SBX_E_BUSY, "a loop device keeps an image that was unmounted");
}

int
sbx_ext4_make(int fd, const struct sbx_ext4_room *room, int (*stop)(void), struct sbx_err *err)
{
	struct sbx_ext4_geometry geometry = first_guess(room);
	int done = 0;

	for (int tries = 0; done == 0 && tries < TRIES; tries++) {
		if (sbx_ext4_mkfs(fd, &geometry, stop, err) < 0)
			return -1;
		done = mount_and_trim(fd, room, &geometry, err);
		if (let_go(fd, err) < 0)
			return -1;
	}
	if (done == 0)
		return sbx_fail(err, SBX_E_IO, "no ext4 with room for %ju blocks and %ju inodes",
			(uintmax_t)room->blocks, (uintmax_t)room->inodes);
	return done < 0 ? -1 : 0;
}
