/*
 * Loop devices: a file as a block device (loop(4)). Each is made with LO_FLAGS_AUTOCLEAR, so that it
 * goes with whoever has it open or mounted last, and is known by the file behind it, never by its
 * number: numbers are used again.
 */
#ifndef SBX_KERNEL_LOOPDEV_H
#define SBX_KERNEL_LOOPDEV_H

#include <sys/stat.h>

#include "base/err.h"

/* Owned: keep it until the device is mounted, since without a mount it goes with `fd`. */
struct sbx_loopdev {
	int fd;
	int number;
	char path[32]; /* "/dev/loop7" */
};

/*
 * A device over this open file, in blocks of 4,096 bytes, past the page cache where the file system
 * below can. `label` is for people (losetup -l). SBX_E_UNAVAILABLE where the host has no loop
 * devices or gives us none; SBX_E_BUSY when others take each free one first. Linux 5.8, CAP_SYS_ADMIN.
 */
int sbx_loopdev_attach(int file_fd, const char *label, struct sbx_loopdev *loop,
	struct sbx_err *err) __attribute__((warn_unused_result));
void sbx_loopdev_done(struct sbx_loopdev
		*loop); /* lets go; NULL and a zeroed one with fd -1 are fine */

/* Whether device `number` has that file behind it: 1, 0, or -1 with errno if it cannot be asked. */
int sbx_loopdev_backs(int number, const struct stat *file) __attribute__((warn_unused_result));
/* The device that has that file behind it; -1 if there is none, or with *err if that is unknown. */
int sbx_loopdev_find(const struct stat *file, struct sbx_err *err)
	__attribute__((warn_unused_result));

#endif
