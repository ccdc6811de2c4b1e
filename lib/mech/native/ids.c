/*
 * Whose an environment is on the host: root's get a uid of a configured range, a plain user's are
 * its own or, if it is configured, of its range in subuid(5). The workspace belongs to that uid, so
 * what gives it away and takes it back stands here too.
 */
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/walk.h"
#include "mech/native/parts.h"
#include "state/slot.h"

/* Recorded before a file is given away: only the record says how to take it back. */
static int
take_subordinate(const struct sbx_mech_host *host, const struct sbx_env *env,
	struct sbx_env_record *record, struct sbx_err *err)
{
	struct sbx_slot_range range;

	if (sbx_slot_user_range(&range, err) != 0 ||
		sbx_slot_take(host->state, record->id, range.count, &record->slot, err) != 0)
		return -1;
	record->uid = (int64_t)range.uid_first + record->slot;
	record->gid = (int64_t)range.gid_first + record->slot;
	return sbx_env_write(env, record, err);
}

int
sbx_native_choose_ids(const struct sbx_mech_host *host, const struct sbx_env *env,
	struct sbx_env_record *record, struct sbx_err *err)
{
	record->slot = -1;
	record->uid = geteuid();
	record->gid = getegid();
	if (geteuid() != 0)
		return host->config->user_ids == SBX_USER_IDS_SUBUID ?
			take_subordinate(host, env, record, err) :
			0;
	if (setgroups(0, NULL) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "drop the supplementary groups");
	if (sbx_slot_check_range(host->config->uid_first, host->config->uid_count, err) != 0)
		return -1;
	if (sbx_slot_take(host->state, record->id, host->config->uid_count, &record->slot, err) !=
		0)
		return -1;
	record->uid = (int64_t)host->config->uid_first + record->slot;
	record->gid = record->uid;
	return 0;
}

/* What give() works on, in this process or in one for the owner. */
struct gift {
	int dir_fd;
	uid_t uid; /* as the process that gives sees it */
	gid_t gid;
};

static int
give(void *arg, struct sbx_err *err)
{
	const struct gift *gift = arg;

	if (fchownat(gift->dir_fd, "workspace", gift->uid, gift->gid, AT_SYMLINK_NOFOLLOW) == 0 &&
		(fchownat(gift->dir_fd, "workspace/" SBX_FILES_MARKER, gift->uid, gift->gid,
			 AT_SYMLINK_NOFOLLOW) == 0 ||
			errno == ENOENT))
		return 0;
	return sbx_fail_sys(err, SBX_E_IO, "give the workspace away");
}

int
sbx_native_give_workspace(const struct sbx_env *env, const struct sbx_env_record *record,
	struct sbx_err *err)
{
	struct gift gift = { env->dir_fd, (uid_t)record->uid, (gid_t)record->gid };

	if (geteuid() == 0)
		return give(&gift, err);
	if (!sbx_native_is_subordinate(record))
		return 0;
	gift.uid = gift.gid = 1;
	return sbx_ns_as_owner((uid_t)record->uid, (gid_t)record->gid, give, &gift, err);
}

static int
empty(void *arg, struct sbx_err *err)
{
	const struct sbx_env *env = arg;

	return sbx_walk_remove(env->dir_fd, "workspace", err);
}

int
sbx_native_take_workspace(const struct sbx_env *env, const struct sbx_env_record *record,
	struct sbx_err *err)
{
	struct sbx_env here = *env;
	struct stat st;

	/* What was never given, for want of a helper, needs none to go. */
	if (!sbx_native_is_subordinate(record) || record->uid < 0 ||
		(fstatat(env->dir_fd, "workspace", &st, AT_SYMLINK_NOFOLLOW) == 0 ?
				st.st_uid == geteuid() :
				errno == ENOENT))
		return 0;
	return sbx_ns_as_owner((uid_t)record->uid, (gid_t)record->gid, empty, &here, err);
}
