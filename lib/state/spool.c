/*
 * The spool of one environment. Whoever opens a file makes room first; two that do so at once may
 * both remove the same files, which is no error, and may exceed the bound by one file each.
 */
#include "state/spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/scoped.h"

#define FILES_MAX 1024

static int
open_dir(const struct sbx_env *env, struct sbx_err *err)
{
	int fd;

	if (mkdirat(env->dir_fd, "spool", 0700) < 0 && errno != EEXIST)
		return sbx_fail_sys(err, SBX_E_IO, "make the spool of %s", env->id);
	fd = openat(env->dir_fd, "spool", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? sbx_fail_sys(err, SBX_E_IO, "open the spool of %s", env->id) : fd;
}

/* What there is, and which is the oldest: names begin with their time. */
static int
look(int dir_fd, uint64_t *bytes, size_t *count, char oldest[SBX_SPOOL_NAME_SIZE])
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat st;

	*bytes = 0;
	*count = 0;
	oldest[0] = '\0';
	if (dir == NULL) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.' || strlen(entry->d_name) >= SBX_SPOOL_NAME_SIZE ||
			fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		*bytes += (uint64_t)st.st_size;
		*count += 1;
		if (oldest[0] == '\0' || strcmp(entry->d_name, oldest) < 0)
			snprintf(oldest, SBX_SPOOL_NAME_SIZE, "%.*s", SBX_SPOOL_NAME_SIZE - 1,
				entry->d_name);
	}
	closedir(dir);
	return 0;
}

static int
make_room(int dir_fd, uint64_t most_bytes, uint64_t total_bytes)
{
	char oldest[SBX_SPOOL_NAME_SIZE];
	uint64_t bytes;
	size_t count;

	for (;;) {
		if (look(dir_fd, &bytes, &count, oldest) < 0)
			return -1;
		if (count == 0 || (bytes <= total_bytes - most_bytes && count < FILES_MAX))
			return 0;
		if (unlinkat(dir_fd, oldest, 0) < 0 && errno != ENOENT)
			return -1;
	}
}

int
sbx_spool_open(const struct sbx_env *env, const char *kind, uint64_t most_bytes,
	uint64_t total_bytes, char name[SBX_SPOOL_NAME_SIZE], struct sbx_err *err)
{
	SBX_AUTO_FD dir_fd = -1;
	char random[27];
	int fd;

	if (most_bytes > total_bytes)
		return sbx_fail(err, SBX_E_QUOTA, "spool_bytes has no room for one output");
	dir_fd = open_dir(env, err);
	if (dir_fd < 0)
		return -1;
	if (make_room(dir_fd, most_bytes, total_bytes) < 0)
		return sbx_fail_sys(err, SBX_E_IO, "make room in the spool of %s", env->id);
	sbx_id_random(random);
	snprintf(name, SBX_SPOOL_NAME_SIZE, "%016llx-%.8s.%.8s",
		(unsigned long long)sbx_clock_wall_ms(), random, kind);
	fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? sbx_fail_sys(err, SBX_E_IO, "make a spool file of %s", env->id) : fd;
}
