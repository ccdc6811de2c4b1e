/*
 * Workspace access as its header has it: whose rights an operation has, what it is, and those that
 * only look. Never changes anything itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/scoped.h"
#include "workspace/impl.h"

#define CHUNK 65536

void
sbx_workspace_describe(const struct stat *st, size_t name_bytes, struct sbx_files_entry *entry)
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

enum sbx_files_failure
sbx_workspace_send(int out, const void *bytes, size_t length)
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
	sbx_workspace_describe(&st, 0, &entry);
	return sbx_workspace_send(out, &entry, sizeof(entry));
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
		if (n > 0 && sbx_workspace_send(out, bytes, (size_t)n) != SBX_FILES_OK)
			return SBX_FILES_IO;
		left -= n > 0 ? (uint64_t)n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	return n == 0 ? SBX_FILES_OK : sbx_workspace_failure(errno);
}

static enum sbx_files_failure
look(int workspace_fd, const struct sbx_files_want *want, int out)
{
	char name[SBX_FILES_NAME_SIZE];
	SBX_AUTO_FD dir = -1;
	enum sbx_files_failure failure;
	struct stat st;
	uint64_t dev;
	int fd = -1;

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
	if (want->op == SBX_FILES_MEASURE)
		return sbx_workspace_measure(fd, out);
	if (want->op == SBX_FILES_LIST)
		return sbx_workspace_list(fd, want, out);
	if (want->op == SBX_FILES_EXPORT)
		return sbx_workspace_export(fd, want, out);
	return read_out(fd, want->offset, want->limit, out);
}

/*
 * From here on every file is reached and made with the owner's rights, and with modes as they were
 * asked for. The real and saved ids stay: code of that owner can neither signal nor trace us.
 */
static int
take_over(int64_t uid, int64_t gid)
{
	umask(0);
	if (uid < 0 || geteuid() != 0)
		return 0;
	if (gid < 0 || uid >= UINT32_MAX || gid >= UINT32_MAX || setgroups(0, NULL) != 0 ||
		setresgid((gid_t)-1, (gid_t)gid, (gid_t)-1) != 0 ||
		setresuid((uid_t)-1, (uid_t)uid, (uid_t)-1) != 0)
		return -1;
	return geteuid() == (uid_t)uid && getegid() == (gid_t)gid ? 0 : -1;
}

enum sbx_files_failure
sbx_workspace_serve(int workspace_fd, const struct sbx_files_want *want, int in, int out)
{
	switch (want->op) {
	case SBX_FILES_MEASURE:
	case SBX_FILES_STAT:
	case SBX_FILES_LIST:
	case SBX_FILES_READ:
	case SBX_FILES_EXPORT:
		return look(workspace_fd, want, out);
	case SBX_FILES_SNAPSHOT:
		return sbx_workspace_snapshot(workspace_fd, want, in, out);
	case SBX_FILES_WRITE:
	case SBX_FILES_MKDIR:
	case SBX_FILES_RENAME:
	case SBX_FILES_REMOVE:
	case SBX_FILES_IMPORT:
		if (take_over(want->uid, want->gid) != 0)
			return SBX_FILES_IO;
		if (want->op == SBX_FILES_WRITE)
			return sbx_workspace_write(workspace_fd, want, in, NULL);
		return want->op == SBX_FILES_IMPORT ?
			sbx_workspace_import(workspace_fd, want, in, out) :
			sbx_workspace_change(workspace_fd, want);
	}
	return SBX_FILES_IO;
}
