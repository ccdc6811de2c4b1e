/*
 * Workspace access for the host, as its header has it. Every step looks at an entry before it opens it,
 * since to open is to act on some, and after, since it may be another by then.
 */
#include "state/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/scoped.h"

#define CHUNK 65536
#define LIST_BYTES 32768

enum sbx_files_failure
sbx_workspace_failure(int error)
{
	switch (error) {
	case ENOENT:
	case ENAMETOOLONG:
		return SBX_FILES_NOT_FOUND;
	case ENOTDIR:
		return SBX_FILES_NOT_A_DIRECTORY;
	case EISDIR:
		return SBX_FILES_IS_A_DIRECTORY;
	case ELOOP:
		return SBX_FILES_SYMLINK;
	case ENXIO:
		return SBX_FILES_SPECIAL;
	case EXDEV:
		return SBX_FILES_OUTSIDE;
	case EEXIST:
		return SBX_FILES_EXISTS;
	case ENOTEMPTY:
		return SBX_FILES_NOT_EMPTY;
	case EACCES:
	case EPERM:
	case EROFS:
		return SBX_FILES_DENIED;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
	case EMLINK:
		return SBX_FILES_NO_SPACE;
	default:
		return SBX_FILES_IO;
	}
}

static enum sbx_files_failure
judge(const struct stat *st, int directory, uint64_t dev)
{
	if (st->st_dev != dev)
		return SBX_FILES_OUTSIDE;
	if (S_ISLNK(st->st_mode))
		return SBX_FILES_SYMLINK;
	if (directory)
		return S_ISDIR(st->st_mode) ? SBX_FILES_OK : SBX_FILES_NOT_A_DIRECTORY;
	if (S_ISDIR(st->st_mode))
		return SBX_FILES_IS_A_DIRECTORY;
	return S_ISREG(st->st_mode) ? SBX_FILES_OK : SBX_FILES_SPECIAL;
}

enum sbx_files_failure
sbx_workspace_open(int dir, const char *name, int directory, uint64_t dev, int *fd, struct stat *st)
{
	int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	enum sbx_files_failure failure;
	SBX_AUTO_FD opened = -1;

	if (fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) != 0)
		return sbx_workspace_failure(errno);
	failure = judge(st, directory, dev);
	if (failure != SBX_FILES_OK)
		return failure;
	opened = openat(dir, name, flags | (directory ? O_DIRECTORY : 0));
	if (opened < 0 || fstat(opened, st) != 0)
		return sbx_workspace_failure(errno);
	failure = judge(st, directory, dev);
	if (failure == SBX_FILES_OK)
		*fd = sbx_take_fd(&opened);
	return failure;
}

enum sbx_files_failure
sbx_workspace_walk(int workspace_fd, const char *path, uint64_t *dev, int *dir,
	char name[SBX_FILES_NAME_SIZE])
{
	SBX_AUTO_FD at = openat(workspace_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	name[0] = '\0';
	if (at < 0 || fstat(at, &st) != 0)
		return SBX_FILES_IO;
	*dev = st.st_dev;
	if (path[0] == '/')
		return SBX_FILES_OUTSIDE;
	for (; *path != '\0'; path += strspn(path, "/")) {
		size_t length = strcspn(path, "/");
		enum sbx_files_failure failure;
		int next;

		if (length == 1 && path[0] == '.') {
			path++;
			continue;
		}
		if (length == 2 && memcmp(path, "..", 2) == 0)
			return SBX_FILES_OUTSIDE;
		if (length > NAME_MAX)
			return SBX_FILES_NOT_FOUND;
		if (name[0] != '\0') {
			failure = sbx_workspace_open(at, name, 1, *dev, &next, &st);
			if (failure != SBX_FILES_OK)
				return failure;
			close(at);
			at = next;
		}
		memcpy(name, path, length);
		name[length] = '\0';
		path += length;
	}
	*dir = sbx_take_fd(&at);
	return SBX_FILES_OK;
}

static void
describe(const struct stat *st, size_t name_bytes, struct sbx_files_entry *entry)
{
	*entry = (struct sbx_files_entry){
		.mode = st->st_mode,
		.nlink = (uint32_t)st->st_nlink,
		.size = (uint64_t)st->st_size,
		.blocks = (uint64_t)st->st_blocks,
		.mtime_sec = st->st_mtim.tv_sec,
		.mtime_nsec = st->st_mtim.tv_nsec,
		.name_bytes = (uint32_t)name_bytes,
	};
}

static enum sbx_files_failure
send(int out, const void *bytes, size_t length)
{
	return sbx_io_write_all(out, bytes, length) == 0 ? SBX_FILES_OK : SBX_FILES_IO;
}

static enum sbx_files_failure
stat_one(int dir, const char *name, int out)
{
	struct sbx_files_entry entry;
	struct stat st;

	if ((name[0] == '\0' ? fstat(dir, &st) : fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW)) != 0)
		return sbx_workspace_failure(errno);
	describe(&st, 0, &entry);
	return send(out, &entry, sizeof(entry));
}

/* A name that is gone by now is left out. Takes fd. */
static enum sbx_files_failure
list(int fd, uint64_t offset, uint64_t limit, int out)
{
	SBX_AUTO_BUF answer = SBX_BUF_INIT(LIST_BYTES);
	DIR *stream = fdopendir(fd);
	enum sbx_files_failure failure = SBX_FILES_OK;
	struct sbx_files_entry entry;
	struct dirent *found;
	struct stat st;
	uint64_t seen = 0;
	int more = 0;

	if (stream == NULL) {
		close(fd);
		return SBX_FILES_IO;
	}
	while (failure == SBX_FILES_OK && (errno = 0, found = readdir(stream)) != NULL) {
		size_t length = strlen(found->d_name);

		if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0 ||
			seen++ < offset ||
			fstatat(fd, found->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		if (limit-- == 0) {
			more = 1;
			break;
		}
		describe(&st, length, &entry);
		sbx_buf_add(&answer, &entry, sizeof(entry));
		sbx_buf_add(&answer, found->d_name, length);
		if (answer.length < LIST_BYTES - sizeof(entry) - NAME_MAX)
			continue;
		failure = send(out, answer.data, answer.length);
		sbx_buf_clear(&answer);
	}
	if (failure == SBX_FILES_OK && !more && errno != 0)
		failure = SBX_FILES_IO;
	closedir(stream);
	if (failure == SBX_FILES_OK)
		failure = send(out, sbx_buf_str(&answer), answer.length);
	return failure == SBX_FILES_OK && more ? SBX_FILES_TOO_LARGE : failure;
}

/* One byte more than `limit` is looked for, and not sent. Takes fd. */
static enum sbx_files_failure
read_out(int fd, uint64_t offset, uint64_t limit, int out)
{
	static char bytes[CHUNK];
	SBX_AUTO_FD file = fd;
	uint64_t left = limit;
	ssize_t n;

	if (offset > INT64_MAX || lseek(file, (off_t)offset, SEEK_SET) < 0)
		return SBX_FILES_IO;
	do {
		n = read(file, bytes, left > 0 && left < sizeof(bytes) ? left : sizeof(bytes));
		if (n > 0 && left == 0)
			return SBX_FILES_TOO_LARGE;
		if (n > 0 && send(out, bytes, (size_t)n) != SBX_FILES_OK)
			return SBX_FILES_IO;
		left -= n > 0 ? (uint64_t)n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	return n == 0 ? SBX_FILES_OK : sbx_workspace_failure(errno);
}

static enum sbx_files_failure
measure(int fd, int out)
{
	struct sbx_files_measured measured = { 0 };
	enum sbx_files_failure failure = sbx_workspace_measure(fd, &measured);

	return failure != SBX_FILES_OK ? failure : send(out, &measured, sizeof(measured));
}

enum sbx_files_failure
sbx_workspace_serve(int workspace_fd, const struct sbx_files_want *want, int in, int out)
{
	char name[SBX_FILES_NAME_SIZE];
	SBX_AUTO_FD dir = -1;
	enum sbx_files_failure failure;
	struct stat st;
	uint64_t dev;
	int fd = -1;

	(void)in;
	failure = sbx_workspace_walk(workspace_fd, want->path, &dev, &dir, name);
	if (failure != SBX_FILES_OK)
		return failure;
	if (want->op == SBX_FILES_STAT)
		return stat_one(dir, name, out);
	if (name[0] == '\0')
		fd = want->op == SBX_FILES_READ ? -1 : sbx_take_fd(&dir);
	else
		failure = sbx_workspace_open(dir, name, want->op != SBX_FILES_READ, dev, &fd, &st);
	if (failure != SBX_FILES_OK)
		return failure;
	if (fd < 0)
		return SBX_FILES_IS_A_DIRECTORY;
	switch (want->op) {
	case SBX_FILES_MEASURE:
		return measure(fd, out);
	case SBX_FILES_LIST:
		return list(fd, want->offset, want->limit, out);
	case SBX_FILES_READ:
		return read_out(fd, want->offset, want->limit, out);
	case SBX_FILES_STAT:
	case SBX_FILES_WRITE:
	case SBX_FILES_MKDIR:
	case SBX_FILES_RENAME:
	case SBX_FILES_REMOVE:
		break;
	}
	close(fd);
	return SBX_FILES_IO;
}
