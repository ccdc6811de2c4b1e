/*
 * A terminal for a command, asked of pid 1 over a connection of its own: it is there at once, or there
 * is none, and the session's other commands are not waited for.
 */
#include <poll.h>
#include <string.h>

#include "base/fd.h"
#include "base/scoped.h"
#include "mech/native/session.h"
#include "mech/native/wire.h"

#define ANSWER_MS 5000

int
sbx_native_pty(struct sbx_session *session, const struct sbx_mech_tty *tty, int ends[2],
	struct sbx_err *err)
{
	struct sbx_env env = { .dir_fd = session->dir_fd, .lock_fd = -1 };
	SBX_AUTO_FD sock = sbx_wire_connect(&env, err);
	struct pollfd answer = { .fd = sock, .events = POLLIN };
	struct sbx_init_reply reply = { 0 };
	size_t count = 2;

	if (sock < 0)
		return -1;
	ends[0] = ends[1] = -1;
	if (sbx_wire_pty(sock, tty) < 0 || poll(&answer, 1, ANSWER_MS) != 1 ||
		sbx_fd_recv(sock, &reply, sizeof(reply), ends, &count) != (ssize_t)sizeof(reply) ||
		reply.answer != SBX_INIT_PTY_MADE)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "pid 1 gave no terminal");
	if (count == 2)
		return 0;
	errno = reply.error != 0 ? reply.error : EIO;
	return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "make a terminal inside");
}
