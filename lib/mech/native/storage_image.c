/*
 * A workspace in an image of its own: env/<id>/workspace.img, all of it allocated (a sparse one loses
 * data when the disk fills up), an ext4 of the exact size in it, and of that one directory mounted on
 * env/<id>/workspace. Until that mount hangs there, everything goes with our descriptors; from then
 * on the mount holds the loop device, which goes with it.
 */
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/log.h"
#include "base/scoped.h"
#include "kernel/loopdev.h"
#include "kernel/mount.h"
#include "mech/native/storage.h"

#define GONE_TRIES 200 /* of 10 ms: until nothing holds the device any more */

static struct sbx_ext4_room
room_of(const struct sbx_env_record *record)
{
	return (struct sbx_ext4_room){
		.blocks = record->limits.workspace_bytes / SBX_EXT4_BLOCK,
		.inodes = record->limits.workspace_inodes,
	};
}

static int
no_space(struct sbx_err *err, uint64_t bytes)
{
	if (errno == EOPNOTSUPP) {
		sbx_fail_sys(err, SBX_E_UNAVAILABLE, "allocate an image of %ju bytes",
			(uintmax_t)bytes);
		return sbx_fail_hint(err, "the state directory's file system has no fallocate(2)");
	}
	if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG)
		return sbx_fail_sys(err, SBX_E_IO, "allocate an image of %ju bytes",
			(uintmax_t)bytes);
	sbx_fail_sys(err, SBX_E_QUOTA, "allocate an image of %ju bytes for the workspace",
		(uintmax_t)bytes);
	return sbx_fail_hint(err,
		"free some space below the state directory, or ask for less "
		"workspace_bytes or workspace_inodes");
}

/* An old one is of a maker that died, and nothing holds it any more: destroy() saw to that. */
static int
allocate(const struct sbx_env *env, const struct sbx_native_template *template, struct sbx_err *err)
{
	SBX_AUTO_FD fd = openat(env->dir_fd, SBX_STORAGE_IMAGE,
		O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	uint64_t bytes = template->blocks * SBX_EXT4_BLOCK;
	int flags = FS_NOCOW_FL;

	if (fd < 0)
		return errno == ENOSPC ?
			no_space(err, bytes) :
			sbx_fail_sys(err, SBX_E_IO, "make the image of %s", env->id);
	/* On btrfs what is allocated is only ours if it is written in place; others do not know it. */
	(void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
	if (fallocate(fd, 0, 0, (off_t)bytes) < 0)
		return no_space(err, bytes);
	errno = 0;
	if (sbx_native_template_write(template, fd) < 0)
		return errno == ENOSPC ?
			no_space(err, bytes) :
			sbx_fail_sys(err, SBX_E_IO, "write the image of %s", env->id);
	return sbx_take_fd(&fd);
}

/*
 * Only what is mounted in our namespace can be cut (before Linux 6.15): so all of it is mounted at the
 * place for a moment, and then its one directory instead.
 */
static int
hang(int whole_fd, const struct sbx_env *env, struct sbx_err *err)
{
	char place[64];
	SBX_AUTO_FD tree = -1;

	snprintf(place, sizeof(place), "/proc/self/fd/%d/workspace", env->dir_fd);
	if (sbx_mount_hang(whole_fd, env->dir_fd, "workspace", err) < 0)
		return -1;
	tree = sbx_mount_cut(env->dir_fd, "workspace/" SBX_EXT4_TREE, SBX_MOUNT_NODEV, err);
	if (tree < 0)
		return -1;
	if (umount2(place, UMOUNT_NOFOLLOW | MNT_DETACH) < 0)
		return sbx_fail_sys(err, SBX_E_IO, "unmount the whole image");
	return sbx_mount_hang(tree, env->dir_fd, "workspace", err);
}

static int
mount_image(int image_fd, const struct sbx_env *env, const struct sbx_ext4_room *room,
	struct sbx_err *err)
{
	struct sbx_ext4_room have;
	struct sbx_loopdev loop;
	int whole_fd, rc = -1;

	if (sbx_loopdev_attach(image_fd, env->id, &loop, err) < 0)
		return -1;
	whole_fd = sbx_ext4_mount(&loop, err);
	if (whole_fd >= 0) {
		if (sbx_ext4_free(whole_fd, &have) < 0)
			sbx_fail_sys(err, SBX_E_IO, "look into the image of %s", env->id);
		else if (have.blocks != room->blocks || have.inodes != room->inodes)
			sbx_fail(err, SBX_E_CORRUPT, "the image of %s has not the room it should",
				env->id);
		else
			rc = hang(whole_fd, env, err);
		sbx_scoped_close(&whole_fd);
	} else if (err->code == SBX_E_IO) {
		err->code = SBX_E_CORRUPT;
	}
	sbx_loopdev_done(&loop);
	return rc;
}

static int
make_once(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_ext4_room *room, struct sbx_err *err)
{
	struct sbx_native_template template;
	SBX_AUTO_FD image = -1;

	if (sbx_native_template_open(host->state, room, &template, err) < 0)
		return -1;
	image = allocate(env, &template, err);
	sbx_native_template_done(&template);
	return image < 0 ? -1 : mount_image(image, env, room, err);
}

int
sbx_native_image_make(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record, struct sbx_err *err)
{
	struct sbx_ext4_room room = room_of(record);

	if (make_once(host, env, &room, err) == 0)
		return 0;
	if (err->code != SBX_E_CORRUPT)
		return -1;
	/* A template that was whole and is wrong: an older kernel's, or one of another page size. */
	sbx_log_err(err);
	memset(err, 0, sizeof(*err));
	sbx_native_template_drop(host->state, &room);
	if (sbx_native_storage_drop(env, err) < 0 || make_once(host, env, &room, err) < 0) {
		if (err->code == SBX_E_CORRUPT)
			err->code = SBX_E_IO;
		return -1;
	}
	return 0;
}

/* 1 while a device has it, 0, -1. */
static int
is_held(int loop_number, const struct stat *image, struct sbx_err *err)
{
	struct sbx_err unknown = { 0 };
	int held;

	if (loop_number < 0) {
		held = sbx_loopdev_find(image, &unknown) >= 0;
		if (unknown.code == SBX_OK)
			return held;
		*err = unknown;
		return -1;
	}
	held = sbx_loopdev_backs(loop_number, image);
	return held < 0 ? sbx_fail_sys(err, SBX_E_IO, "look at /dev/loop%d", loop_number) : held;
}

int
sbx_native_image_drop(const struct sbx_env *env, int loop_number, struct sbx_err *err)
{
	struct stat st;
	int held;

	if (fstatat(env->dir_fd, SBX_STORAGE_IMAGE, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : sbx_fail_sys(err, SBX_E_IO, "look at an image");
	for (int tries = 0; (held = is_held(loop_number, &st, err)) == 1; tries++) {
		if (tries == GONE_TRIES) {
			sbx_fail(err, SBX_E_BUSY, "the image of %s is still mounted somewhere",
				env->id);
			return sbx_fail_hint(err,
				"another mount namespace has it: look for %s in "
				"/proc/*/mountinfo, end that, release again",
				env->id);
		}
		usleep(10000);
	}
	if (held < 0)
		return -1;
	if (unlinkat(env->dir_fd, SBX_STORAGE_IMAGE, 0) < 0 && errno != ENOENT)
		return sbx_fail_sys(err, SBX_E_IO, "remove the image of %s", env->id);
	return 0;
}
