/*
 * The snapshot of one environment, on disk. The old one stays until the new one is whole, so that a
 * kill at any point leaves one of the two; what is damaged is said to be, and is never taken for an
 * empty tree.
 */
#include "state/snapshot.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/io.h"
#include "base/scoped.h"

#define NAME "snapshot"
#define NEW "snapshot.new"
#define HELD_MAX ((size_t)256 * 1024)

int
sbx_snapshot_open(const struct sbx_env *env)
{
	return openat(env->dir_fd, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

int
sbx_snapshot_read(const struct sbx_env *env, struct sbx_snap *snap, struct sbx_err *err)
{
	SBX_AUTO_FD fd = sbx_snapshot_open(env);

	*snap = (struct sbx_snap){ 0 };
	if (fd < 0 && errno == ENOENT)
		return sbx_fail(err, SBX_E_NOT_FOUND, "%s has no snapshot yet", env->id);
	if (fd < 0)
		return sbx_fail_sys(err, SBX_E_IO, "open the snapshot of %s", env->id);
	return sbx_snap_open(fd, snap, err) == 0 ? 0 : sbx_fail_wrap(err, "%s", env->id);
}

void
sbx_snapshot_usage(const struct sbx_env *env, uint64_t *bytes, uint64_t *inodes)
{
	SBX_AUTO_FD fd = sbx_snapshot_open(env);
	struct sbx_snap_foot foot;

	if (fd < 0 || lseek(fd, -(off_t)sizeof(foot), SEEK_END) < 0 ||
		read(fd, &foot, sizeof(foot)) != (ssize_t)sizeof(foot) ||
		foot.mark != SBX_SNAP_FOOT)
		return;
	*bytes = foot.bytes;
	*inodes = foot.inodes;
}

static int
to_file(struct sbx_snapshot_write *write, struct sbx_err *err)
{
	if (write->fd >= 0)
		return 0;
	write->fd = openat(write->env->dir_fd, NEW,
		O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (write->fd < 0 ||
		sbx_io_write_all(write->fd, sbx_buf_str(&write->held), write->held.length) != 0)
		return sbx_fail_sys(err, SBX_E_IO, "write the snapshot of %s", write->env->id);
	sbx_buf_clear(&write->held);
	return 0;
}

static int
put(void *arg, const void *bytes, size_t length, struct sbx_err *err)
{
	struct sbx_snapshot_write *write = arg;

	if (write->fd < 0 && sbx_buf_add(&write->held, bytes, length) == 0)
		return 0;
	if (to_file(write, err) != 0)
		return -1;
	if (sbx_io_write_all(write->fd, bytes, length) != 0)
		return sbx_fail_sys(err, SBX_E_IO, "write the snapshot of %s", write->env->id);
	return 0;
}

void
sbx_snapshot_begin(const struct sbx_env *env, struct sbx_snapshot_write *write,
	struct sbx_snap_sink *sink)
{
	*write = (struct sbx_snapshot_write){ .env = env, .fd = -1 };
	sbx_buf_init(&write->held, HELD_MAX);
	*sink = (struct sbx_snap_sink){ .put = put, .arg = write };
}

/* The heads differ by their times, and with them the digests: what counts is between. */
static int
says_the_same(const struct sbx_snapshot_write *write, const struct sbx_snap *before)
{
	size_t from = sizeof(struct sbx_snap_head);

	return write->fd < 0 && before != NULL && before->length == write->held.length &&
		memcmp(before->bytes + from, write->held.data + from,
			before->length - from - SBX_SNAP_DIGEST_BYTES) == 0;
}

int
sbx_snapshot_keep(struct sbx_snapshot_write *write, const struct sbx_snap *before,
	struct sbx_snap *now, struct sbx_err *err)
{
	const struct sbx_env *env = write->env;

	*now = (struct sbx_snap){ 0 };
	if (says_the_same(write, before))
		return 0;
	if (to_file(write, err) != 0 || sbx_snap_open(write->fd, now, err) != 0)
		return -1;
	if (renameat(env->dir_fd, NEW, env->dir_fd, NAME) != 0) {
		sbx_fail_sys(err, SBX_E_IO, "replace the snapshot of %s", env->id);
		sbx_snap_close(now);
		return -1;
	}
	return 1;
}

void
sbx_snapshot_end(struct sbx_snapshot_write *write)
{
	sbx_scoped_close(&write->fd);
	write->fd = -1;
	sbx_buf_done(&write->held);
}

int
sbx_snapshot_lock_open(const struct sbx_env *env, struct sbx_err *err)
{
	int fd = openat(env->dir_fd, "commands", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? sbx_fail_sys(err, SBX_E_IO, "open the commands' lock of %s", env->id) : fd;
}

int
sbx_snapshot_lock_shared(int fd, struct sbx_err *err)
{
	while (flock(fd, LOCK_SH) < 0)
		if (errno != EINTR)
			return sbx_fail_sys(err, SBX_E_IO, "lock the commands of an environment");
	return 0;
}

/* A conversion lets go first (flock(2)), so that of two that end at once one is the last. */
int
sbx_snapshot_lock_alone(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

void
sbx_snapshot_unlock(int fd)
{
	(void)flock(fd, LOCK_UN);
}
