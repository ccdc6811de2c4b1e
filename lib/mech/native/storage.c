/*
 * The choice of what bounds a workspace: named kinds are made or refused, never replaced by a weaker
 * one; `auto` goes from the strongest down to the first that works here. And the end of them, by
 * what hangs on env/<id>/ and not by what the record says, since a maker may die at any point.
 */
#include "mech/native/storage.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/log.h"
#include "kernel/project_quota.h"

#define LOOP_MAJOR 7
#define BUSY_TRIES 200 /* of 10 ms: descriptors of tools that end */
#define STACK_MAX 8 /* mounts over each other: more than any maker leaves */

/* A statx(2) that tells mount points came with Linux 5.8. */
static int
is_mounted(const struct sbx_env *env, dev_t *dev, struct sbx_err *err)
{
	struct statx st;

	if (statx(env->dir_fd, "workspace", AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		    STATX_BASIC_STATS, &st) < 0)
		return errno == ENOENT ? 0 : sbx_fail_sys(err, SBX_E_IO, "look at the workspace");
	*dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	return (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

int
sbx_native_unmount(const struct sbx_env *env, dev_t *dev, struct sbx_err *err)
{
	char place[64];
	int mounted, some = 0;

	*dev = 0;
	snprintf(place, sizeof(place), "/proc/self/fd/%d/workspace", env->dir_fd);
	for (int tries = 0, count = 0; tries < BUSY_TRIES && count < STACK_MAX;) {
		dev_t of_this = 0;

		mounted = is_mounted(env, &of_this, err);
		if (mounted <= 0)
			return mounted < 0 ? -1 : some;
		*dev = of_this;
		some = 1;
		if (umount2(place, UMOUNT_NOFOLLOW) == 0) {
			count++;
			continue;
		}
		if (errno != EBUSY)
			return sbx_fail_sys(err, SBX_E_IO, "unmount the workspace of %s", env->id);
		tries++;
		usleep(10000);
	}
	sbx_fail(err, SBX_E_BUSY, "the workspace of %s is in use on the host", env->id);
	return sbx_fail_hint(err,
		"end what has a directory or a file of it open (fuser -vm), then "
		"release again");
}

int
sbx_native_storage_drop(const struct sbx_env *env, struct sbx_err *err)
{
	dev_t dev;
	int was = geteuid() == 0 ? sbx_native_unmount(env, &dev, err) : 0;

	if (was < 0 || (geteuid() == 0 && sbx_native_project_drop(env, err) < 0))
		return -1;
	return sbx_native_image_drop(env, was && major(dev) == LOOP_MAJOR ? (int)minor(dev) : -1,
		err);
}

int
sbx_native_storage_is_mount(const struct sbx_env_record *record)
{
	return strcmp(record->quota, sbx_quota_names[SBX_QUOTA_IMAGE]) == 0 ||
		strcmp(record->quota, sbx_quota_names[SBX_QUOTA_TMPFS]) == 0;
}

int
sbx_native_storage_seen(int workspace_fd, struct sbx_err *err)
{
	struct statx st;

	if (statx(workspace_fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st) < 0)
		return sbx_fail_sys(err, SBX_E_IO, "look at the workspace");
	if ((st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0)
		return 0;
	sbx_fail(err, SBX_E_UNAVAILABLE, "the workspace is not mounted here");
	return sbx_fail_hint(err,
		"run all tools in the mount namespace in which the environment was made");
}

static int
make(int kind, const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record, struct sbx_err *err)
{
	switch ((enum sbx_quota)kind) {
	case SBX_QUOTA_PROJECT:
		return sbx_native_project_make(host, env, record, err);
	case SBX_QUOTA_IMAGE:
		return sbx_native_image_make(host, env, record, err);
	case SBX_QUOTA_TMPFS:
		return sbx_native_tmpfs_make(env, record, err);
	case SBX_QUOTA_AUTO:
	case SBX_QUOTA_MONITOR:
		break;
	}
	return 0;
}

/* Recorded first: whoever lists or releases it may meet a half of it. */
static int
record_and_make(int kind, const struct sbx_mech_host *host, const struct sbx_env *env,
	struct sbx_env_record *record, struct sbx_err *err)
{
	snprintf(record->quota, sizeof(record->quota), "%s", sbx_quota_names[kind]);
	if (sbx_env_write(env, record, err) < 0)
		return -1;
	return make(kind, host, env, record, err);
}

int
sbx_native_storage(const struct sbx_mech_host *host, const struct sbx_env *env,
	struct sbx_env_record *record, struct sbx_err *err)
{
	static const int strongest_first[] = { SBX_QUOTA_PROJECT, SBX_QUOTA_IMAGE };
	int wanted = host->config->quota;

	if (geteuid() != 0 && wanted != SBX_QUOTA_AUTO && wanted != SBX_QUOTA_MONITOR) {
		sbx_fail(err, SBX_E_UNAVAILABLE, "quota: %s takes root", sbx_quota_names[wanted]);
		return sbx_fail_hint(err, "as a plain user configure `quota: monitor` or `auto`");
	}
	if (wanted != SBX_QUOTA_AUTO) {
		if (record_and_make(wanted, host, env, record, err) == 0)
			return 0;
		return sbx_fail_wrap(err, "quota: %s", sbx_quota_names[wanted]);
	}
	for (size_t i = 0; geteuid() == 0 && i < 2; i++) {
		/* Seen at once, and so not worth a record. */
		if (strongest_first[i] == SBX_QUOTA_PROJECT &&
			!sbx_project_quota_counts(env->dir_fd))
			continue;
		if (record_and_make(strongest_first[i], host, env, record, err) == 0)
			return 0;
		if (err->code != SBX_E_UNAVAILABLE)
			return sbx_fail_wrap(err, "quota: %s", sbx_quota_names[strongest_first[i]]);
		sbx_log(SBX_LOG_DEBUG, "quota: not %s: %s", sbx_quota_names[strongest_first[i]],
			err->msg);
		memset(err, 0, sizeof(*err));
		if (sbx_native_storage_drop(env, err) < 0)
			return -1;
	}
	return record_and_make(SBX_QUOTA_MONITOR, host, env, record, err);
}
