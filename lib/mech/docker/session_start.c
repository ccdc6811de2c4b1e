/*
 * A command is asked for: as a frame, with copies of its descriptors kept on this side. Descriptors
 * never leave the host; what the command has inside are pipes of the container.
 */
#include <fcntl.h>
#include <string.h>

#include "base/mem.h"
#include "base/scoped.h"
#include "mech/docker/session.h"
#include "mech/init_proto.h"

/* struct sbx_chan_exec, cwd, argv, env: as mech/channel.h has it. */
static int
pack(const struct sbx_mech_command *command, struct sbx_buf *out, int no_stdin, struct sbx_err *err)
{
	const char *cwd = command->cwd != NULL ? command->cwd : "";
	struct sbx_chan_exec exec = { .flags = no_stdin ? SBX_CHAN_NO_STDIN : 0 };

	if (command->background)
		exec.flags |= SBX_CHAN_STAYS;
	if (command->tty != NULL) {
		exec.flags |= SBX_CHAN_TTY;
		exec.size = (uint32_t)command->tty->rows << 16 | command->tty->columns;
	}
	sbx_buf_add(out, &exec, sizeof(exec)); /* its place */
	sbx_buf_add(out, cwd, strlen(cwd) + 1);
	for (char *const *arg = command->argv; *arg != NULL; arg++, exec.argc++)
		sbx_buf_add(out, *arg, strlen(*arg) + 1);
	for (char *const *var = command->envp; *var != NULL; var++, exec.envc++)
		sbx_buf_add(out, *var, strlen(*var) + 1);
	if (exec.argc + exec.envc > SBX_INIT_STRINGS_MAX)
		return sbx_fail(err, SBX_E_TOO_LARGE, "more than %d arguments and variables",
			SBX_INIT_STRINGS_MAX);
	if (sbx_buf_check(out, "the command", err) < 0)
		return -1;
	memcpy(out->data, &exec, sizeof(exec));
	return 0;
}

/* At the end of the list: the oldest is the first. */
static void
append(struct sbx_session *session, struct sbx_docker_running *running)
{
	struct sbx_docker_running **at = &session->running;

	while (*at != NULL)
		at = &(*at)->next;
	*at = running;
}

/* A new one, on a channel that is there. */
static struct sbx_docker_running *
begin(struct sbx_session *session, int stays, struct sbx_err *err)
{
	struct sbx_docker_running *running;
	size_t count = 0;

	for (running = session->running; running != NULL; running = running->next)
		count++;
	if (count >= SBX_CHAN_COMMANDS_MAX) {
		sbx_fail(err, SBX_E_BUSY, "%d commands are running already", SBX_CHAN_COMMANDS_MAX);
		return NULL;
	}
	if (session->lost) {
		sbx_fail(err, SBX_E_UNAVAILABLE, "the environment was lost");
		return NULL;
	}
	if (sbx_awake_enter(session, stays, err) < 0 ||
		(!session->link.up && sbx_session_connect(session, err) < 0))
		return NULL;
	running = sbx_mem_alloc(1, sizeof(*running));
	running->id = ++session->last_id;
	running->feed_fd = running->outputs[0].fd = running->outputs[1].fd = -1;
	return running;
}

/* Takes `running`. */
static int
ask(struct sbx_session *session, struct sbx_docker_running *running, enum sbx_chan_type type,
	const struct sbx_buf *payload, uint32_t *id, struct sbx_err *err)
{
	if (sbx_frames_add(&session->link.frames, type, 0, running->id, payload->data,
		    payload->length) < 0) {
		sbx_running_free(session, running);
		return sbx_fail(err, SBX_E_BUSY, "the container does not keep up");
	}
	append(session, running);
	sbx_pulse_start(session);
	*id = running->id;
	sbx_session_flush(session);
	return 0;
}

int
sbx_docker_start(struct sbx_session *session, const struct sbx_mech_command *command, uint32_t *id,
	struct sbx_err *err)
{
	SBX_AUTO_BUF payload = SBX_BUF_INIT(SBX_CHAN_PAYLOAD_MAX);
	struct sbx_docker_running *running = begin(session, command->background, err);

	if (running == NULL)
		return -1;
	if (sbx_streams_open(session, running, command, err) < 0 ||
		pack(command, &payload, running->feed_fd < 0, err) < 0) {
		sbx_running_free(session, running);
		return -1;
	}
	return ask(session, running, SBX_CHAN_EXEC, &payload, id, err);
}

/* struct sbx_chan_files, path, to: as mech/channel.h has it. */
static int
pack_files(const struct sbx_mech_files *files, struct sbx_buf *out, struct sbx_err *err)
{
	const struct sbx_files_want *asked = &files->want;
	const char *to = asked->to != NULL ? asked->to : "";
	struct sbx_chan_files want = { .op = (uint32_t)asked->op,
		.flags = asked->flags,
		.mode = asked->mode,
		.path_bytes = (uint32_t)strlen(asked->path) + 1,
		.to_bytes = (uint32_t)strlen(to) + 1,
		.has_input = files->in_fd >= 0,
		.offset = asked->offset,
		.limit = asked->limit };

	if (want.path_bytes > SBX_FILES_PATH_MAX || want.to_bytes > SBX_FILES_PATH_MAX)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "a path of more than %d bytes",
			SBX_FILES_PATH_MAX - 1);
	sbx_buf_add(out, &want, sizeof(want));
	sbx_buf_add(out, asked->path, want.path_bytes);
	sbx_buf_add(out, to, want.to_bytes);
	return sbx_buf_check(out, "the path", err);
}

int
sbx_docker_files(struct sbx_session *session, const struct sbx_mech_files *files, uint32_t *id,
	struct sbx_err *err)
{
	SBX_AUTO_BUF payload = SBX_BUF_INIT(SBX_CHAN_PAYLOAD_MAX);
	SBX_AUTO_FD none = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct sbx_mech_command streams = { .stdin_fd = files->in_fd >= 0 ? files->in_fd : none,
		.stdout_fd = files->out_fd,
		.stderr_fd = none };
	struct sbx_docker_running *running;

	if (pack_files(files, &payload, err) < 0)
		return -1;
	running = begin(session, 0, err);
	if (running == NULL)
		return -1;
	if (sbx_streams_open(session, running, &streams, err) < 0) {
		sbx_running_free(session, running);
		return -1;
	}
	return ask(session, running, SBX_CHAN_FILES, &payload, id, err);
}
