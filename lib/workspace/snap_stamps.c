/*
 * What time stamps are worth: whether a digest that was taken once is still right, without reading
 * the file again. The one thing that a snapshot rests on: a store that no stamp tells of would be a
 * change that nobody sees.
 */
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>

#include "base/clock.h"
#include "workspace/snap_impl.h"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif
#define GRAIN_NS INT64_C(20000000) /* two ticks of 100 Hz: what stamps may lie beside the truth */
#define GRAIN_COARSE_NS INT64_C(2000000000) /* stamps of seconds */

static int64_t
nanoseconds(int64_t sec, int64_t nsec)
{
	if (sec > INT64_MAX / 1000000000 - 1 || sec < INT64_MIN / 1000000000 + 1)
		return sec > 0 ? INT64_MAX : INT64_MIN;
	return sec * 1000000000 + nsec;
}

static int64_t
read_clock(clockid_t clock)
{
	struct timespec now = { 0 };

	clock_gettime(clock, &now);
	return nanoseconds(now.tv_sec, now.tv_nsec);
}

int
sbx_snap_stamps_begin(struct sbx_snap_stamps *stamps, struct sbx_snap_head *head, int dir,
	int quiet, struct sbx_err *err)
{
	struct statfs fs;

	if (fstatfs(dir, &fs) != 0)
		return sbx_fail_sys(err, SBX_E_IO, "look at the file system");
	/* These were seen to stamp the first store through each shared mapping; tmpfs never does. */
	if (fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == XFS_SUPER_MAGIC ||
		fs.f_type == BTRFS_SUPER_MAGIC)
		head->flags |= SBX_SNAP_STAMPED;
	memcpy(head->boot_id, sbx_clock_boot_id(), strlen(sbx_clock_boot_id()));
	/* They take their stamps from this clock, or from one that is a little ahead of it. */
	head->stamps_ns = read_clock(CLOCK_REALTIME_COARSE);
	head->wall_less_boot_ns = read_clock(CLOCK_REALTIME) - read_clock(CLOCK_BOOTTIME);
	*stamps = (struct sbx_snap_stamps){ .now_ns = head->stamps_ns,
		.tell = quiet && (head->flags & SBX_SNAP_STAMPED) != 0 };
	return 0;
}

int
sbx_snap_stamps_continue(const struct sbx_snap_head *before, const struct sbx_snap_head *now)
{
	int64_t step = now->wall_less_boot_ns - before->wall_less_boot_ns;

	return now->flags & before->flags & SBX_SNAP_STAMPED && before->dev == now->dev &&
		now->boot_id[0] != '\0' &&
		memcmp(before->boot_id, now->boot_id, sizeof(now->boot_id)) == 0 &&
		step <= GRAIN_NS && step >= -GRAIN_NS;
}

int
sbx_snap_holds(const struct sbx_snap_entry *before, const struct stat *st)
{
	return before->digest == SBX_SNAP_SETTLED && before->ino == st->st_ino &&
		((before->mode ^ st->st_mode) & S_IFMT) == 0 &&
		before->size == (uint64_t)st->st_size && before->mtime_sec == st->st_mtim.tv_sec &&
		before->mtime_nsec == (uint32_t)st->st_mtim.tv_nsec &&
		before->ctime_sec == st->st_ctim.tv_sec &&
		before->ctime_nsec == (uint32_t)st->st_ctim.tv_nsec;
}

int
sbx_snap_settles(const struct sbx_snap_stamps *stamps, const struct stat *st)
{
	/* ext4 with small inodes has stamps of whole seconds. */
	int64_t grain = st->st_ctim.tv_nsec == 0 ? GRAIN_COARSE_NS : GRAIN_NS;

	return stamps->tell &&
		nanoseconds(st->st_ctim.tv_sec, st->st_ctim.tv_nsec) < stamps->now_ns - grain &&
		nanoseconds(st->st_mtim.tv_sec, st->st_mtim.tv_nsec) < stamps->now_ns - grain;
}

int
sbx_snap_same_stamps(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_mode == b->st_mode &&
		a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
		a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
		a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}
