/*
 * Loop devices, by LOOP_CONFIGURE in one step: none is ever seen half set up, and one whose maker
 * dies clears itself. Never detaches a device: closing and unmounting do.
 */
#include "kernel/loopdev.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/num.h"
#include "base/scoped.h"

#define TRIES 64 /* others may take the device that was free a moment ago */
#define BLOCK 4096

static int
no_loop(struct sbx_err *err, const char *what)
{
	enum sbx_code code = errno == ENOENT || errno == ENXIO || errno == ENODEV ||
			errno == EPERM || errno == EACCES || errno == ENOTTY || errno == ENOSYS ?
		SBX_E_UNAVAILABLE :
		SBX_E_IO;

	sbx_fail_sys(err, code, "%s", what);
	return code == SBX_E_IO ? -1 :
				  sbx_fail_hint(err,
					  "load the kernel's module loop; in a container, give it "
					  "/dev/loop-control and the loop devices");
}

static int
configure(int file_fd, const char *label, struct sbx_loopdev *loop)
{
	struct loop_config config = { .fd = (unsigned)file_fd, .block_size = BLOCK };

	config.info.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO;
	snprintf((char *)config.info.lo_file_name, sizeof(config.info.lo_file_name), "%s", label);
	return ioctl(loop->fd, LOOP_CONFIGURE, &config);
}

int
sbx_loopdev_attach(int file_fd, const char *label, struct sbx_loopdev *loop, struct sbx_err *err)
{
	SBX_AUTO_FD control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);

	*loop = (struct sbx_loopdev){ .fd = -1, .number = -1 };
	if (control < 0)
		return no_loop(err, "open /dev/loop-control");
	for (int tries = 0; tries < TRIES; tries++) {
		loop->number = ioctl(control, LOOP_CTL_GET_FREE);
		if (loop->number < 0)
			return no_loop(err, "find a free loop device");
		snprintf(loop->path, sizeof(loop->path), "/dev/loop%d", loop->number);
		loop->fd = open(loop->path, O_RDWR | O_CLOEXEC);
		if (loop->fd < 0)
			return no_loop(err, loop->path);
		if (configure(file_fd, label, loop) == 0)
			return 0;
		if (errno != EBUSY) {
			no_loop(err, "set up a loop device");
			sbx_loopdev_done(loop);
			return -1;
		}
		sbx_loopdev_done(loop);
	}
	return sbx_fail(err, SBX_E_BUSY, "others took %d free loop devices before us", TRIES);
}

void
sbx_loopdev_done(struct sbx_loopdev *loop)
{
	if (loop == NULL)
		return;
	sbx_scoped_close(&loop->fd);
	loop->fd = -1;
}

int
sbx_loopdev_backs(int number, const struct stat *file)
{
	struct loop_info64 info;
	char path[32];
	SBX_AUTO_FD fd = -1;

	snprintf(path, sizeof(path), "/dev/loop%d", number);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ENXIO ? 0 : -1;
	if (ioctl(fd, LOOP_GET_STATUS64, &info) < 0)
		return errno == ENXIO ? 0 : -1;
	return info.lo_inode == file->st_ino &&
		/* the kernel's own encoding of a device, huge_encode_dev() */
		info.lo_device ==
		((minor(file->st_dev) & 0xff) | (major(file->st_dev) << 8) |
			((uint64_t)(minor(file->st_dev) & ~0xffU) << 12));
}

int
sbx_loopdev_find(const struct stat *file, struct sbx_err *err)
{
	int fd = open("/dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int found = -1;

	if (dir == NULL) {
		sbx_scoped_close(&fd);
		sbx_fail_sys(err, SBX_E_IO, "list the devices");
		return -1;
	}
	while (found < 0 && (entry = readdir(dir)) != NULL) {
		uint64_t number;

		if (strncmp(entry->d_name, "loop", 4) == 0 &&
			sbx_num_u64(entry->d_name + 4, 0, INT32_MAX, "loop device", &number,
				NULL) == 0 &&
			sbx_loopdev_backs((int)number, file) == 1)
			found = (int)number;
	}
	closedir(dir);
	return found;
}
