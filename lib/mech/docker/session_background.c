/*
 * Processes that outlive their command in a container: they run only while our tools ask something
 * of it, and the container is paused between. The file env/<id>/background tells whether it is and
 * is the lock: whoever asks holds a share of it, the last to let go pauses, the first resumes. Its
 * one letter is written before a pause and after a resume, so that who dies between costs an
 * engine's call and no more.
 *
 * Without a group for each command there is one background, number 0: as long as anything of it is
 * there, what other commands leave behind joins it.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/scoped.h"
#include "mech/docker/session.h"

#define FILE_NAME "background"
#define ANSWER_MS 10000

enum letter { NONE = 'n', AWAKE = 'a', PAUSED = 'p' };

static enum letter
read_letter(int fd)
{
	char letter;

	return pread(fd, &letter, 1, 0) == 1 ? (enum letter)letter : NONE;
}

/* Fails silently: the engine is asked once too often then. */
static void
write_letter(int fd, enum letter now)
{
	char letter = (char)now;
	ssize_t n = pwrite(fd, &letter, 1, 0);

	(void)n;
}

static int
lock(int fd, int how)
{
	int rc;

	do
		rc = flock(fd, how);
	while (rc < 0 && errno == EINTR);
	return rc;
}

static int
set_paused(struct sbx_session *session, int paused, struct sbx_err *err)
{
	SBX_AUTO_DOCKER_ARGS args = { .count = 0 };
	struct sbx_docker docker = session->docker;

	docker.quiet = 1;
	docker.stop = NULL;
	sbx_docker_args_pause(&docker, session->names.container, paused, &args);
	return sbx_docker_call(&docker, &args, NULL, 0, NULL, err);
}

/* Held alone. One that is not paused though it was to be has been restarted, or its pauser died. */
static void
resume(struct sbx_session *session)
{
	struct sbx_err why = { 0 };

	if (read_letter(session->awake_fd) != PAUSED)
		return;
	if (set_paused(session, 0, &why) < 0)
		sbx_log(SBX_LOG_DEBUG, "resume %s: %s", session->names.container, why.msg);
	write_letter(session->awake_fd, AWAKE);
}

int
sbx_awake_enter(struct sbx_session *session, int first, struct sbx_err *err)
{
	int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (first ? O_CREAT : 0);

	if (session->awake_fd < 0) {
		session->awake_fd = openat(session->dir_fd, FILE_NAME, flags, 0600);
		if (session->awake_fd < 0)
			return errno == ENOENT ? 0 :
						 sbx_fail_sys(err, SBX_E_IO, "open %s", FILE_NAME);
		if (lock(session->awake_fd, LOCK_SH) < 0)
			return sbx_fail_sys(err, SBX_E_IO, "lock %s", FILE_NAME);
		/* A lock that changes is free for a moment: looked at again when it is shared. */
		while (read_letter(session->awake_fd) == PAUSED) {
			if (lock(session->awake_fd, LOCK_EX) < 0)
				return sbx_fail_sys(err, SBX_E_IO, "lock %s", FILE_NAME);
			resume(session);
			if (lock(session->awake_fd, LOCK_SH) < 0)
				return sbx_fail_sys(err, SBX_E_IO, "lock %s", FILE_NAME);
		}
	}
	if (first)
		write_letter(session->awake_fd, AWAKE);
	return 0;
}

void
sbx_awake_leave(struct sbx_session *session)
{
	struct sbx_err why = { 0 };

	if (session->awake_fd < 0)
		return;
	if (lock(session->awake_fd, LOCK_EX | LOCK_NB) == 0 &&
		read_letter(session->awake_fd) == AWAKE) {
		write_letter(session->awake_fd, PAUSED);
		if (set_paused(session, 1, &why) < 0) {
			sbx_log(SBX_LOG_DEBUG, "pause %s: %s", session->names.container, why.msg);
			write_letter(session->awake_fd, AWAKE);
		}
	}
	sbx_scoped_close(&session->awake_fd);
	session->awake_fd = -1;
}

/* What the inside says of it, after ending it or not. */
static int
ask(struct sbx_session *session, int end, struct sbx_err *err)
{
	int64_t until = sbx_clock_mono_ms() + ANSWER_MS, left;
	uint32_t flag = (uint32_t)end;

	if (session->lost)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "the environment was lost");
	if (sbx_awake_enter(session, 0, err) < 0 ||
		(!session->link.up && sbx_session_connect(session, err) < 0))
		return -1;
	session->background_told = 0;
	sbx_session_hush(session);
	if (sbx_frames_add(&session->link.frames, SBX_CHAN_BACKGROUND, 0, 0, &flag, sizeof(flag)) <
		0)
		return sbx_fail(err, SBX_E_BUSY, "the container does not keep up");
	while (session->link.up && !session->background_told &&
		(left = until - sbx_clock_mono_ms()) > 0)
		sbx_session_serve(session, (int)left);
	if (!session->background_told)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "the container does not answer");
	if (session->background.error != 0)
		return sbx_fail(err, SBX_E_BUSY,
			"commands run: nobody can tell theirs from what is in the background");
	if (session->awake_fd >= 0 && session->background.processes == 0)
		write_letter(session->awake_fd, NONE);
	return 0;
}

static void
rest(struct sbx_session *session)
{
	if (!sbx_session_runs(session))
		sbx_awake_leave(session);
	sbx_session_settle(session);
}

int
sbx_docker_background(struct sbx_session *session,
	struct sbx_mech_background list[SBX_MECH_BACKGROUND_MAX], struct sbx_err *err)
{
	int count = ask(session, 0, err);

	if (count == 0 && session->background.processes > 0)
		list[count++] = (struct sbx_mech_background){ .number = 0,
			.processes = session->background.processes };
	rest(session);
	return count;
}

int
sbx_docker_end_background(struct sbx_session *session, int number, struct sbx_err *err)
{
	int rc = ask(session, 0, err);

	if (rc == 0 && (number != 0 || session->background.processes == 0))
		rc = sbx_fail(err, SBX_E_NOT_FOUND, "no background command b%d", number);
	if (rc == 0)
		rc = ask(session, 1, err);
	rest(session);
	return rc;
}
