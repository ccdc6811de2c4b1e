/*
 * A terminal for a command, asked of pid 1 over a connection of its own: it is there at once, or
 * there is none, and the session's other commands are not waited for. pid 1 lives among hostile
 * code: what it sends is used only if it is what was asked for.
 */
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/fd.h"
#include "base/scoped.h"
#include "mech/native/session.h"
#include "mech/native/wire.h"

#define ANSWER_MS 5000
/* devices.txt: /dev/ptmx, and the slaves of it */
#define MASTER_MAJOR 5
#define MASTER_MINOR 2
#define SLAVE_MAJOR_FIRST 136
#define SLAVE_MAJOR_LAST 143

static int
is_pair(int master, int slave)
{
	struct stat ours, theirs;

	return fstat(master, &ours) == 0 && S_ISCHR(ours.st_mode) &&
		ours.st_rdev == makedev(MASTER_MAJOR, MASTER_MINOR) && fstat(slave, &theirs) == 0 &&
		S_ISCHR(theirs.st_mode) && major(theirs.st_rdev) >= SLAVE_MAJOR_FIRST &&
		major(theirs.st_rdev) <= SLAVE_MAJOR_LAST;
}

int
sbx_native_pty(struct sbx_session *session, const struct sbx_mech_tty *tty, int ends[2],
	struct sbx_err *err)
{
	struct sbx_env env = { .dir_fd = session->dir_fd, .lock_fd = -1 };
	SBX_AUTO_FD sock = sbx_wire_connect(&env, err);
	struct pollfd answer = { .fd = sock, .events = POLLIN };
	struct sbx_init_reply reply = { 0 };
	int came[2] = { -1, -1 };
	size_t count = 2;

	if (sock < 0)
		return -1;
	if (sbx_wire_pty(sock, tty) < 0 || poll(&answer, 1, ANSWER_MS) != 1 ||
		sbx_fd_recv(sock, &reply, sizeof(reply), came, &count) < 0)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "pid 1 gave no terminal");
	if (count == 2 && is_pair(came[0], came[1])) {
		memcpy(ends, came, sizeof(came));
		return 0;
	}
	for (size_t i = 0; i < 2; i++)
		sbx_scoped_close(&came[i]);
	if (reply.answer != SBX_INIT_PTY_MADE || reply.error <= 0)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "what pid 1 gave is no terminal");
	errno = reply.error;
	return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "make a terminal inside");
}
