/* Whole reads and writes: short counts and EINTR are dealt with here and nowhere else. */
#ifndef SBX_BASE_IO_H
#define SBX_BASE_IO_H

#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* All of it: 0, or -1 with errno. For blocking descriptors. */
int sbx_io_write_all(int fd, const void *bytes, size_t length) __attribute__((warn_unused_result));

/* Read until end of file into buf: 0, -1 with SBX_E_TOO_LARGE over its cap, SBX_E_IO otherwise. */
int sbx_io_read_all(int fd, struct sbx_buf *buf, const char *what, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* Open `name` beneath dir_fd (O_NOFOLLOW, must be a regular file) and read all of it. ENOENT is
 * SBX_E_NOT_FOUND. */
int sbx_io_read_file(int dir_fd, const char *name, struct sbx_buf *buf, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* A kernel attribute file (cgroup, procfs): one write, no creation. -1 with errno. */
int sbx_io_write_attr(int dir_fd, const char *name, const char *text)
	__attribute__((warn_unused_result));
/* Reads at most size-1 bytes and ends them with NUL, without the last newline. -1 with errno. */
ssize_t sbx_io_read_attr(int dir_fd, const char *name, char *out, size_t size)
	__attribute__((warn_unused_result));

/*
 * Replace a file: written whole under a temporary name in the same directory, then renamed over
 * `name`. With `durable` the file is fsynced before and the directory after the rename. On failure
 * the old file is as it was and nothing is left behind.
 */
int sbx_io_replace_file(int dir_fd, const char *name, const void *bytes, size_t length, mode_t mode,
	int durable, struct sbx_err *err) __attribute__((warn_unused_result));

#endif
