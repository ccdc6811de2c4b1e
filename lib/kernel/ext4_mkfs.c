/*
 * mkfs.ext4, told everything, so that no mke2fs.conf decides. It is a program of the host in a session
 * of its own, bounded in time and waited for; it inherits the file and nothing else.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/child.h"
#include "kernel/ext4.h"

#define MKFS_MS 60000

/*
 * Known to every ext4 since Linux 3.18, and no journal, no resize_inode, no encryption, no orphan_file.
 * Without copies of the superblock (sparse_super2) and with all tables in front (one flex group) the
 * blocks for data lie in one piece, so that fewer extents map a file.
 */
#define FEATURES                                                                                   \
	"none,ext_attr,dir_index,extents,filetype,sparse_super2,large_file,huge_file,dir_nlink,"   \
	"extra_isize,flex_bg,metadata_csum,64bit"

/* Where mkfs is, for callers whose PATH has no sbin. */
static int
talk_to_mkfs(char **argv, const struct sbx_child_talk *talk, int *status, struct sbx_err *err)
{
	static const char *const places[] = { "mkfs.ext4", "/usr/sbin/mkfs.ext4",
		"/sbin/mkfs.ext4" };
	char place[32];

	argv[0] = place;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(place, sizeof(place), "%s", places[i]);
		if (sbx_child_talk(argv, talk, status, err) == 0)
			return 0;
		if (err->code != SBX_E_NOT_FOUND)
			return -1;
		memset(err, 0, sizeof(*err));
	}
	sbx_fail(err, SBX_E_UNAVAILABLE, "there is no mkfs.ext4");
	return sbx_fail_hint(err, "install e2fsprogs");
}

int
sbx_ext4_mkfs(int fd, const struct sbx_ext4_geometry *geometry, int (*stop)(void),
	struct sbx_err *err)
{
	char block[] = "4096", inode[] = "256", group[24], inodes[24], path[32],
	     features[] = FEATURES;
	char quiet[] = "-q", force[] = "-F", type[] = "-text4", reserved[] = "-m0", b[] = "-b";
	char n[] = "-N", i[] = "-I", g[] = "-g", flex[] = "-G", packed[24], o[] = "-O", e[] = "-E";
	char extended[] = "lazy_itable_init=0,nodiscard,root_owner=0:0,num_backup_sb=0";
	char *argv[] = { NULL, quiet, force, type, reserved, b, block, i, inode, n, inodes, g,
		group, flex, packed, o, features, e, extended, path, NULL };
	SBX_AUTO_BUF said = SBX_BUF_INIT(1024);
	struct sbx_child_talk talk = {
		.said = &said, .timeout_ms = MKFS_MS, .keep_fd = fd, .stop = stop
	};
	uint64_t together = 2;
	int status;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	snprintf(inodes, sizeof(inodes), "%ju", (uintmax_t)geometry->inodes);
	while (together * geometry->group_blocks < geometry->blocks)
		together *= 2;
	snprintf(packed, sizeof(packed), "%ju", (uintmax_t)together);
	snprintf(group, sizeof(group), "%ju", (uintmax_t)geometry->group_blocks);
	if (ftruncate(fd, 0) < 0 || ftruncate(fd, (off_t)(geometry->blocks * SBX_EXT4_BLOCK)) < 0)
		return sbx_fail_sys(err, SBX_E_IO, "size a file for ext4");
	if (talk_to_mkfs(argv, &talk, &status, err) < 0)
		return -1;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	for (size_t at = 0; at < said.length; at++)
		if ((unsigned char)said.data[at] < ' ')
			said.data[at] = ' ';
	return sbx_fail(err, SBX_E_IO, "mkfs.ext4 failed: %.180s", sbx_buf_str(&said));
}
