/*
 * Whole reads and writes. Short counts and EINTR end here; nothing here waits on a non-blocking
 * descriptor or follows a link in the last component of a name.
 */
#include "base/io.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"

#define CHUNK ((size_t)64 * 1024)

int
sbx_io_write_all(int fd, const void *bytes, size_t length)
{
	const char *p = bytes;
	ssize_t n;

	while (length > 0) {
		n = write(fd, p, length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = EIO; /* a device that takes nothing would be asked for ever */
		if (n <= 0)
			return -1;
		p += n;
		length -= (size_t)n;
	}
	return 0;
}

static ssize_t
read_some(int fd, void *bytes, size_t length)
{
	ssize_t n;

	do
		n = read(fd, bytes, length);
	while (n < 0 && errno == EINTR);
	return n;
}

int
sbx_io_read_all(int fd, struct sbx_buf *buf, const char *what, struct sbx_err *err)
{
	char probe, *place;
	size_t left;
	ssize_t n;

	do {
		left = buf->cap > buf->length ? buf->cap - buf->length : 0;
		if (left > CHUNK)
			left = CHUNK;
		/* A full buffer is an error only if there is one more byte. */
		place = left > 0 ? sbx_buf_reserve(buf, left) : &probe;
		if (place == NULL)
			return sbx_buf_check(buf, what, err);
		n = read_some(fd, place, left > 0 ? left : 1);
		if (n > 0 && left == 0) {
			buf->overflow = 1;
			return sbx_buf_check(buf, what, err);
		}
		if (n > 0)
			sbx_buf_commit(buf, (size_t)n);
	} while (n > 0);
	return n == 0 ? 0 : sbx_fail_sys(err, SBX_E_IO, "read %s", what);
}

int
sbx_io_read_file(int dir_fd, const char *name, struct sbx_buf *buf, struct sbx_err *err)
{
	struct stat st;
	SBX_AUTO_FD fd = -1;

	/* O_NONBLOCK: a FIFO of that name must not hold us before we see what it is. */
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return sbx_fail_sys(err, errno == ENOENT ? SBX_E_NOT_FOUND : SBX_E_IO, "open %s",
			name);
	if (fstat(fd, &st) < 0)
		return sbx_fail_sys(err, SBX_E_IO, "stat %s", name);
	if (!S_ISREG(st.st_mode))
		return sbx_fail(err, SBX_E_IO, "%s: not a regular file", name);
	return sbx_io_read_all(fd, buf, name, err);
}

int
sbx_io_write_attr(int dir_fd, const char *name, const char *text)
{
	size_t length = strlen(text);
	SBX_AUTO_FD fd = -1;
	ssize_t n;

	fd = openat(dir_fd, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	do /* the kernel takes an attribute by one write: the rest of a short one cannot follow */
		n = write(fd, text, length);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -1;
	if ((size_t)n != length) {
		errno = EIO;
		return -1;
	}
	return 0;
}

ssize_t
sbx_io_read_attr(int dir_fd, const char *name, char *out, size_t size)
{
	SBX_AUTO_FD fd = -1;
	size_t length = 0;
	ssize_t n = 0;

	if (size == 0) {
		errno = EINVAL;
		return -1;
	}
	out[0] = '\0';
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while (length < size - 1) {
		n = read_some(fd, out + length, size - 1 - length);
		if (n <= 0)
			break;
		length += (size_t)n;
	}
	if (n >= 0 && length > 0 && out[length - 1] == '\n')
		length--;
	out[n < 0 ? 0 : length] = '\0';
	return n < 0 ? -1 : (ssize_t)length;
}

/* Write the new file's bytes and make them last, before it gets its name. -1 with errno. */
static int
fill_new(int fd, const void *bytes, size_t length, mode_t mode, int durable)
{
	if (sbx_io_write_all(fd, bytes, length) < 0)
		return -1;
	if (fchmod(fd, mode) < 0) /* whatever the umask is */
		return -1;
	return durable ? fsync(fd) : 0;
}

/*
 * A name that nobody else makes. It says nothing of the final name, which may already be as long as
 * a name can be.
 */
static int
create_new(int dir_fd, char name[32])
{
	uint64_t id;

	if (getrandom(&id, sizeof(id), 0) != (ssize_t)sizeof(id))
		return -1;
	snprintf(name, 32, ".new-%016jx", (uintmax_t)id);
	return openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

int
sbx_io_replace_file(int dir_fd, const char *name, const void *bytes, size_t length, mode_t mode,
	int durable, struct sbx_err *err)
{
	SBX_AUTO_FD dir = -1;
	SBX_AUTO_FD fd = -1;
	char new_name[32];

	if (strchr(name, '/') != NULL)
		return sbx_fail(err, SBX_E_INTERNAL, "replace %s: not a name in a directory", name);
	/* dir_fd may be O_PATH, which cannot be synced; opened now: later we could not go back. */
	dir = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return sbx_fail_sys(err, SBX_E_IO, "open the directory of %s", name);
	fd = create_new(dir, new_name);
	if (fd < 0)
		return sbx_fail_sys(err, SBX_E_IO, "create a new %s", name);
	if (fill_new(fd, bytes, length, mode, durable) < 0 ||
		renameat(dir, new_name, dir, name) < 0) {
		sbx_fail_sys(err, SBX_E_IO, "write %s", name);
		unlinkat(dir, new_name, 0);
		return -1;
	}
	if (durable && fsync(dir) < 0) {
		sbx_fail_sys(err, SBX_E_IO, "sync the directory of %s", name);
		if (err != NULL)
			err->executed = SBX_EXECUTED_UNKNOWN; /* the new file is there, for now */
		return -1;
	}
	return 0;
}
