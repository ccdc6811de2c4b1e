/*
 * What a session and pid 1 say to each other, as bytes: mech/init_proto.h put into practice on the
 * caller's side. Keeps no state.
 */
#include "mech/native/wire.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/fd.h"
#include "base/scoped.h"

int
sbx_wire_connect(const struct sbx_env *env, struct sbx_err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	SBX_AUTO_FD sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (sock < 0)
		return sbx_fail_sys(err, SBX_E_INTERNAL, "make a socket");
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/init.sock",
		env->dir_fd);
	if (connect(sock, (struct sockaddr *)&address, sizeof(address)) != 0) {
		if (errno == EAGAIN)
			return sbx_fail(err, SBX_E_BUSY, "environment %s: pid 1 is busy", env->id);
		if (errno == ECONNREFUSED || errno == ENOENT)
			return sbx_fail(err, SBX_E_UNAVAILABLE,
				"environment %s: its first process is not running", env->id);
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "environment %s: connect to pid 1",
			env->id);
	}
	return sbx_take_fd(&sock);
}

int
sbx_wire_pack(const struct sbx_mech_command *command, struct sbx_init_request *head,
	struct sbx_buf *message, struct sbx_err *err)
{
	const char *cwd = command->cwd != NULL ? command->cwd : "";

	sbx_buf_add(message, head, sizeof(*head)); /* its place: send() fills it */
	sbx_buf_add(message, cwd, strlen(cwd) + 1);
	for (char *const *arg = command->argv; *arg != NULL; arg++, head->argc++)
		sbx_buf_add(message, *arg, strlen(*arg) + 1);
	for (char *const *var = command->envp; *var != NULL; var++, head->envc++)
		sbx_buf_add(message, *var, strlen(*var) + 1);
	if (head->argc + head->envc > SBX_INIT_STRINGS_MAX)
		return sbx_fail(err, SBX_E_TOO_LARGE, "more than %d arguments and variables",
			SBX_INIT_STRINGS_MAX);
	if (sbx_buf_check(message, "the command", err) != 0)
		return -1;
	head->payload_bytes = (uint32_t)(message->length - sizeof(*head));
	return 0;
}

int
sbx_wire_send(int sock, struct sbx_init_request *head, struct sbx_buf *message, int *fds,
	size_t fd_count, struct sbx_err *err)
{
	size_t length = message->length;
	SBX_AUTO_FD memfd = -1;

	if (head->payload_bytes > SBX_INIT_INLINE_MAX) {
		memfd = sbx_fd_sealed("sbx-request", message->data + sizeof(*head),
			head->payload_bytes);
		if (memfd < 0)
			return sbx_fail_sys(err, SBX_E_INTERNAL, "make a memfd");
		head->flags |= SBX_INIT_IN_MEMFD;
		fds[fd_count++] = memfd;
		length = sizeof(*head);
	}
	memcpy(message->data, head, sizeof(*head));
	if (sbx_fd_send(sock, message->data, length, fds, fd_count) < 0) {
		if (errno == EAGAIN)
			return sbx_fail(err, SBX_E_BUSY, "pid 1 does not keep up");
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "talk to pid 1");
	}
	return 0;
}

int
sbx_wire_tell(int sock, enum sbx_init_op op, uint32_t id)
{
	struct sbx_init_request request = {
		.magic = SBX_INIT_MAGIC, .version = SBX_INIT_VERSION, .op = (uint16_t)op, .id = id
	};

	return sbx_fd_send(sock, &request, sizeof(request), NULL, 0) < 0 ? -1 : 0;
}

int
sbx_wire_pty(int sock, const struct sbx_mech_tty *tty)
{
	struct sbx_init_request request = { .magic = SBX_INIT_MAGIC,
		.version = SBX_INIT_VERSION,
		.op = SBX_INIT_PTY,
		.id = 1,
		.flags = (uint32_t)tty->rows << 16 | tty->columns };

	return sbx_fd_send(sock, &request, sizeof(request), NULL, 0) < 0 ? -1 : 0;
}

int
sbx_wire_signal(int sock, uint32_t id, int signo)
{
	struct sbx_init_request request = { .magic = SBX_INIT_MAGIC,
		.version = SBX_INIT_VERSION,
		.op = SBX_INIT_SIGNAL,
		.id = id,
		.flags = (uint32_t)signo };

	return sbx_fd_send(sock, &request, sizeof(request), NULL, 0) < 0 ? -1 : 0;
}

int
sbx_wire_event(const struct sbx_init_reply *reply, struct sbx_mech_event *event)
{
	static const char *const stages[SBX_STAGE_COUNT] = { "request", "clone", "setsid", "stdio",
		"signals", "chdir", "landlock", "seccomp", "execve" };

	*event = (struct sbx_mech_event){ .id = reply->id, .status = reply->status };
	switch ((enum sbx_init_answer)reply->answer) {
	case SBX_INIT_STARTED:
		event->kind = SBX_EVENT_STARTED;
		break;
	case SBX_INIT_FAILED:
		event->kind = SBX_EVENT_START_FAILED;
		event->error = reply->error;
		snprintf(event->stage, sizeof(event->stage), "%s",
			reply->stage < SBX_STAGE_COUNT ? stages[reply->stage] : "?");
		break;
	case SBX_INIT_EXITED:
		event->kind = SBX_EVENT_EXITED;
		break;
	case SBX_INIT_ENDED:
		event->kind = SBX_EVENT_RESTARTED;
		break;
	case SBX_INIT_KILLED:
	case SBX_INIT_PONG:
	case SBX_INIT_PTY_MADE:
	case SBX_INIT_BACKGROUND_IS:
		return 0;
	}
	return event->kind != 0;
}
