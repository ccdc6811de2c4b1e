/*
 * Processes that outlive their command run only while commands do, so that nothing in an
 * environment changes unseen between them. Who runs commands holds a shared lock on
 * env/<id>/background, which exists once there was a background command; the last to let go freezes
 * all of them, the first thaws. A tool that is killed lets go without that: they stay awake until
 * the next command has ended.
 */
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/log.h"
#include "base/scoped.h"
#include "mech/native/session.h"

#define FILE_NAME "background"

int
sbx_native_background_enter(struct sbx_session *session, int first, struct sbx_err *err)
{
	int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (first ? O_CREAT : 0);

	if (session->awake_fd >= 0)
		return 0;
	session->awake_fd = openat(session->dir_fd, FILE_NAME, flags, 0600);
	if (session->awake_fd < 0)
		return errno == ENOENT ? 0 : sbx_fail_sys(err, SBX_E_IO, "open %s", FILE_NAME);
	/* Held alone only while somebody freezes. */
	while (flock(session->awake_fd, LOCK_SH) < 0)
		if (errno != EINTR)
			return sbx_fail_sys(err, SBX_E_IO, "lock %s", FILE_NAME);
	if (session->has_groups && sbx_cgroup_background_freeze(&session->groups, 0) != 0)
		return sbx_fail_sys(err, SBX_E_IO, "thaw what runs in the background");
	return 0;
}

void
sbx_native_background_leave(struct sbx_session *session)
{
	if (session->awake_fd < 0)
		return;
	if (session->has_groups && flock(session->awake_fd, LOCK_EX | LOCK_NB) == 0 &&
		sbx_cgroup_background_freeze(&session->groups, 1) != 0)
		sbx_log(SBX_LOG_WARN, "what runs in the background could not all be frozen");
	sbx_scoped_close(&session->awake_fd);
	session->awake_fd = -1;
}

int
sbx_native_background(struct sbx_session *session,
	struct sbx_mech_background list[SBX_MECH_BACKGROUND_MAX], struct sbx_err *err)
{
	int numbers[SBX_CGROUP_BACKGROUND_MAX], found, count = 0;
	struct sbx_cgroup_background figures;

	_Static_assert(SBX_CGROUP_BACKGROUND_MAX == SBX_MECH_BACKGROUND_MAX, "one list");
	/* Where nobody ever asked for one there is nothing to look for. */
	if (session->awake_fd < 0 && faccessat(session->dir_fd, FILE_NAME, F_OK, 0) != 0)
		return 0;
	found = session->has_groups ? sbx_cgroup_background_list(&session->groups, numbers) : 0;
	if (found < 0)
		return sbx_fail_sys(err, SBX_E_IO, "list what runs in the background");
	for (int i = 0; i < found; i++) {
		if (sbx_cgroup_background_look(&session->groups, numbers[i], &figures) != 0)
			continue; /* gone meanwhile */
		list[count++] = (struct sbx_mech_background){ .number = numbers[i],
			.processes = figures.processes,
			.cpu_us = figures.cpu_us };
	}
	return count;
}

int
sbx_native_end_background(struct sbx_session *session, int number, struct sbx_err *err)
{
	if (!session->has_groups)
		return sbx_fail(err, SBX_E_NOT_FOUND, "no background command b%d", number);
	return sbx_cgroup_background_kill(&session->groups, number, err);
}
