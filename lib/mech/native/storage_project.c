/*
 * A workspace under a project quota of the state directory's own file system: no image, no mount. The
 * number is one that nobody uses or limits on that file system, found under a lock of this state; the
 * directory bears it before it has a limit, and by the directory it is found again. Two state
 * directories on one file system may meet on a number only within the moment between.
 */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "kernel/project_quota.h"
#include "mech/native/storage.h"

#define ID_FIRST 1880000000U
#define ID_COUNT 65536U

static int
not_here(struct sbx_err *err, const char *what)
{
	if (errno == ESRCH || errno == ENOSYS || errno == EOPNOTSUPP || errno == ENOTTY)
		sbx_fail(err, SBX_E_UNAVAILABLE, "%s: it has none", what);
	else
		sbx_fail_sys(err, SBX_E_UNAVAILABLE, "%s", what);
	return sbx_fail_hint(err,
		"an ext4 (tune2fs -O project -Q prjquota) or XFS mounted with "
		"prjquota, and a kernel with quotas");
}

static int
open_workspace(const struct sbx_env *env)
{
	return openat(env->dir_fd, "workspace", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Ids are hashes, so a place to begin at is in them. */
static uint32_t
first_try(const char *env)
{
	uint32_t hash = 0;

	for (const char *at = env; *at != '\0'; at++)
		hash = hash * 31 + (unsigned char)*at;
	return hash % ID_COUNT;
}

static int
choose(int dir_fd, const char *env, uint32_t *id, struct sbx_err *err)
{
	uint32_t start = first_try(env);

	for (uint32_t i = 0; i < ID_COUNT; i++) {
		struct sbx_project_use use;

		*id = ID_FIRST + (start + i) % ID_COUNT;
		if (sbx_project_quota_get(dir_fd, *id, &use) < 0)
			return not_here(err, "ask for a project's quota");
		if (use.bytes == 0 && use.inodes == 0 && use.bytes_max == 0 && use.inodes_max == 0)
			return 0;
	}
	return sbx_fail(err, SBX_E_BUSY, "all %u projects are taken", ID_COUNT);
}

int
sbx_native_project_make(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record, struct sbx_err *err)
{
	SBX_AUTO_FD dir = open_workspace(env);
	SBX_AUTO_FD lock = -1;
	struct sbx_project_use use;
	uint64_t bytes;
	uint32_t id;

	if (dir < 0)
		return sbx_fail_sys(err, SBX_E_IO, "open the workspace of %s", env->id);
	if (!sbx_project_quota_counts(dir))
		return not_here(err, "project quotas of the state directory's file system");
	lock = openat(host->state->root_fd, "project.lock",
		O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (lock < 0 || flock(lock, LOCK_EX) < 0)
		return sbx_fail_sys(err, SBX_E_IO, "lock the projects");
	if (choose(dir, env->id, &id, err) < 0)
		return -1;
	if (sbx_project_quota_mark(dir, id) < 0 || sbx_project_quota_get(dir, id, &use) < 0)
		return not_here(err, "put the workspace into a project");
	/* What the directory itself takes is not the environment's. */
	bytes = record->limits.workspace_bytes / 4096 * 4096 + use.bytes;
	if (sbx_project_quota_set(dir, id, bytes, record->limits.workspace_inodes + use.inodes) < 0)
		return not_here(err, "limit a project");
	/* As somebody without rights, who has to be let in for the trial. */
	if (fchown(dir, ID_FIRST, ID_FIRST) < 0)
		return sbx_fail_sys(err, SBX_E_IO, "lend the workspace");
	if (sbx_project_quota_prove(dir, bytes, ID_FIRST, err) < 0)
		return -1;
	return fchown(dir, 0, 0) < 0 ? sbx_fail_sys(err, SBX_E_IO, "take the workspace back") : 0;
}

/* The directory tells; without it, or without a number in ours on it, no limit is ours. */
int
sbx_native_project_drop(const struct sbx_env *env, struct sbx_err *err)
{
	SBX_AUTO_FD dir = open_workspace(env);
	uint32_t id;

	if (dir < 0 || !sbx_project_quota_counts(dir) || sbx_project_quota_of(dir, &id) < 0 ||
		id < ID_FIRST || id - ID_FIRST >= ID_COUNT)
		return 0;
	if (sbx_project_quota_set(dir, id, 0, 0) < 0)
		return sbx_fail_sys(err, SBX_E_IO, "take the limit of project %u away", id);
	return 0;
}
