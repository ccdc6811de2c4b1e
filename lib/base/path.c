/*
 * Paths under another's control. The kernel does the resolving, as any check of ours before the use
 * would be a race. Linux 5.6 for openat2, which no libc wraps.
 */
#include "base/path.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/scoped.h"

#define BENEATH (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

/*
 * Unrelated renames made 1 in 150 calls with ".." fail: 32 in a row do not happen by chance, and
 * who makes them happen gets EAGAIN for it.
 */
#define TRIES 32

int
sbx_path_openat2(int dir_fd, const char *path, int flags, mode_t mode, uint64_t resolve)
{
	struct open_how how = { .mode = mode, .resolve = resolve };
	int tries = TRIES, fd;

	flags |= O_CLOEXEC | ((flags & O_PATH) != 0 ? 0 : O_NONBLOCK);
	how.flags = (unsigned)flags;
	do
		fd = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
	while (fd < 0 && errno == EAGAIN && --tries > 0);
	return fd;
}

int
sbx_path_open_beneath(int dir_fd, const char *path, int flags, mode_t mode)
{
	int makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;

	/* openat2, unlike openat, refuses a mode that would not be used. */
	return sbx_path_openat2(dir_fd, path, flags, makes ? mode : 0, BENEATH);
}

int
sbx_path_open_in_root(int root_fd, const char *path, int flags)
{
	return sbx_path_openat2(root_fd, path, flags, 0, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

/* Copy the first component of *path and move *path behind it; 0 at the end, -1 with errno. */
static int
take_component(const char **path, char out[NAME_MAX + 1])
{
	const char *start = *path + strspn(*path, "/");
	size_t length = strcspn(start, "/");

	if (length > NAME_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(out, start, length);
	out[length] = '\0';
	*path = start + length;
	return length > 0;
}

int
sbx_path_mkdirs(int dir_fd, const char *path, mode_t mode)
{
	char name[NAME_MAX + 1];
	SBX_AUTO_FD at = -1;
	int more, next;

	if (path[0] == '\0' || path[0] == '/') {
		errno = path[0] == '/' ? EXDEV : ENOENT;
		return -1;
	}
	while ((more = take_component(&path, name)) > 0) {
		if (mkdirat(at < 0 ? dir_fd : at, name, mode) < 0 && errno != EEXIST)
			return -1;
		/* Whatever was made or found under that name: a link or ".." ends here. */
		next = sbx_path_open_beneath(at < 0 ? dir_fd : at, name, O_PATH | O_DIRECTORY, 0);
		if (next < 0)
			return -1;
		sbx_scoped_close(&at);
		at = next;
	}
	return more < 0 ? -1 : sbx_take_fd(&at);
}

/* Why a directory could not be opened: a link or a file in its place is no matter of luck. */
static enum sbx_code
open_code(int sys)
{
	if (sys == ENOENT)
		return SBX_E_NOT_FOUND;
	return sys == EACCES || sys == EPERM || sys == ELOOP || sys == ENOTDIR ? SBX_E_DENIED :
										 SBX_E_IO;
}

int
sbx_path_open_private(const char *path, mode_t mode, int create, struct sbx_err *err)
{
	SBX_AUTO_FD fd = -1;
	struct stat st;

	if (create && mkdir(path, mode) < 0 && errno != EEXIST)
		return sbx_fail_sys(err, open_code(errno), "make directory %s", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return sbx_fail_sys(err, open_code(errno), "open directory %s", path);
	if (fstat(fd, &st) < 0)
		return sbx_fail_sys(err, SBX_E_IO, "stat %s", path);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return sbx_fail(err, SBX_E_DENIED, "%s: belongs to user %u, not to us or root",
			path, st.st_uid);
	if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return sbx_fail(err, SBX_E_DENIED, "%s: others may write to it (mode %04o)", path,
			st.st_mode & 07777);
	return sbx_take_fd(&fd);
}

int
sbx_path_is_clean_absolute(const char *path)
{
	size_t length = strlen(path), i, step;

	if (path[0] != '/' || length >= PATH_MAX)
		return 0;
	for (i = 0; i < length; i++) {
		if ((unsigned char)path[i] < 0x20 || path[i] == 0x7f)
			return 0;
	}
	if (length == 1)
		return 1;
	for (i = 0; i < length; i += step + 1) { /* path[i] is the slash before a component */
		const char *name = path + i + 1;

		step = strcspn(name, "/");
		if (step == 0 || (step == 1 && name[0] == '.') ||
			(step == 2 && name[0] == '.' && name[1] == '.'))
			return 0;
	}
	return 1;
}
