/*
 * A command is asked for: as a frame, with copies of its descriptors kept on this side. Descriptors
 * never leave the host; what the command has inside are pipes of the container.
 */
#include <string.h>

#include "base/mem.h"
#include "mech/docker/session.h"
#include "mech/init_proto.h"

/* struct sbx_chan_exec, cwd, argv, env: as mech/channel.h has it. */
static int
pack(const struct sbx_mech_command *command, struct sbx_buf *out, int no_stdin, struct sbx_err *err)
{
	const char *cwd = command->cwd != NULL ? command->cwd : "";
	struct sbx_chan_exec exec = { .flags = no_stdin ? SBX_CHAN_NO_STDIN : 0 };

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

int
sbx_docker_start(struct sbx_session *session, const struct sbx_mech_command *command, uint32_t *id,
	struct sbx_err *err)
{
	SBX_AUTO_BUF payload = SBX_BUF_INIT(SBX_CHAN_PAYLOAD_MAX);
	struct sbx_docker_running *running;
	size_t count = 0;

	for (running = session->running; running != NULL; running = running->next)
		count++;
	if (count >= SBX_CHAN_COMMANDS_MAX)
		return sbx_fail(err, SBX_E_BUSY, "%d commands are running already",
			SBX_CHAN_COMMANDS_MAX);
	if (session->lost)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "the environment was lost");
	if (!session->link.up && sbx_session_connect(session, err) < 0)
		return -1;
	running = sbx_mem_alloc(1, sizeof(*running));
	running->id = ++session->last_id;
	running->feed_fd = running->outputs[0].fd = running->outputs[1].fd = -1;
	if (sbx_streams_open(session, running, command, err) < 0 ||
		pack(command, &payload, running->feed_fd < 0, err) < 0) {
		sbx_running_free(session, running);
		return -1;
	}
	if (sbx_frames_add(&session->link.frames, SBX_CHAN_EXEC, 0, running->id, payload.data,
		    payload.length) < 0) {
		sbx_running_free(session, running);
		return sbx_fail(err, SBX_E_BUSY, "the container does not keep up");
	}
	append(session, running);
	sbx_pulse_start(session);
	*id = running->id;
	sbx_session_flush(session);
	return 0;
}
