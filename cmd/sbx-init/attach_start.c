/*
 * The start of a command: its pipes, made by us and owned by its uid, go to pid 1 with the request;
 * a FILES request gets a process of ours instead.
 */
#include "attach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scoped.h"
#include "init.h"
#include "kernel/caps.h"

/*
 * Our ends do not block, theirs do. The owner is who makes it (a pipe opens by its name in
 * /proc/self/fd like a file), since gVisor cannot change it later.
 */
static int
make_pipe(int ours, int *our_end, int *their_end)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	*our_end = ends[ours];
	*their_end = ends[1 - ours];
	return sbx_fd_nonblock(*our_end, 1);
}

static int
make_pipes(struct attach_command *command, int no_stdin, int stdio[3])
{
	int rc;

	if (syscall(SYS_setresuid, -1, SBX_CHAN_UID, -1) != 0)
		return -1;
	if (no_stdin)
		rc = (stdio[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0 ? -1 : 0;
	else
		rc = make_pipe(1, &command->in_fd, &stdio[0]);
	for (int i = 0; rc == 0 && i < 2; i++)
		rc = make_pipe(0, &command->out[i].fd, &stdio[1 + i]);
	if (syscall(SYS_setresuid, -1, 0, -1) != 0)
		_exit(1);
	return rc;
}

/* As the commands' uid, whose terminal it is then. One descriptor for each of our two directions. */
static int
make_pty(struct attach_command *command, uint32_t size, int stdio[3])
{
	int ends[2] = { -1, -1 }, rc;

	if (syscall(SYS_setresuid, -1, SBX_CHAN_UID, -1) != 0)
		return -1;
	rc = init_pty_open(size, ends);
	if (syscall(SYS_setresuid, -1, 0, -1) != 0)
		_exit(1);
	if (rc != 0)
		return -1;
	command->out[0].fd = ends[0];
	command->in_fd = fcntl(ends[0], F_DUPFD_CLOEXEC, 3);
	stdio[0] = ends[1];
	for (int i = 1; i < 3; i++)
		stdio[i] = fcntl(ends[1], F_DUPFD_CLOEXEC, 3);
	if (command->in_fd < 0 || stdio[1] < 0 || stdio[2] < 0)
		return -1;
	return sbx_fd_nonblock(ends[0], 1);
}

static int
ask_pid1(struct attach *attach, uint32_t id, const struct sbx_chan_exec *exec, const char *payload,
	size_t length, const int stdio[3])
{
	struct sbx_init_request head = { .magic = SBX_INIT_MAGIC,
		.version = SBX_INIT_VERSION,
		.op = SBX_INIT_EXEC,
		.flags = (exec->flags & SBX_CHAN_TTY ? SBX_INIT_TTY : 0u) |
			(exec->flags & SBX_CHAN_STAYS ? SBX_INIT_STAYS : 0u),
		.id = id,
		.argc = exec->argc,
		.envc = exec->envc,
		.payload_bytes = (uint32_t)length };
	SBX_AUTO_BUF message = SBX_BUF_INIT(sizeof(head) + SBX_INIT_INLINE_MAX);
	int fds[4] = { stdio[0], stdio[1], stdio[2], -1 };
	SBX_AUTO_FD memfd = -1;

	if (length > SBX_INIT_INLINE_MAX) {
		memfd = fds[3] = sbx_fd_sealed("sbx-request", payload, length);
		if (memfd < 0)
			return -1;
		head.flags |= SBX_INIT_IN_MEMFD;
	}
	sbx_buf_add(&message, &head, sizeof(head));
	if (memfd < 0)
		sbx_buf_add(&message, payload, length);
	return sbx_fd_send(attach->sock, message.data, message.length, fds, memfd < 0 ? 3 : 4) < 0 ?
		-1 :
		0;
}

int
attach_exec(struct attach *attach, uint32_t id, const char *payload, size_t length)
{
	struct attach_command *command = attach_enter(attach, id);
	struct sbx_chan_exec exec;
	int stdio[3] = { -1, -1, -1 }, rc = 0;

	if (command == NULL || length <= sizeof(exec))
		return -1;
	memcpy(&exec, payload, sizeof(exec));
	command->in_window = exec.flags & SBX_CHAN_NO_STDIN ? 0 : SBX_CHAN_WINDOW;
	if ((exec.flags & SBX_CHAN_TTY ?
			    make_pty(command, exec.size, stdio) :
			    make_pipes(command, (exec.flags & SBX_CHAN_NO_STDIN) != 0, stdio)) != 0)
		rc = attach_failed(attach, command, SBX_STAGE_STDIO, errno);
	else if (ask_pid1(attach, id, &exec, payload + sizeof(exec), length - sizeof(exec),
			 stdio) != 0)
		rc = attach_failed(attach, command, SBX_STAGE_REQUEST, errno);
	for (int i = 0; i < 3; i++)
		sbx_scoped_close(&stdio[i]);
	if (rc == 0 && exec.flags & SBX_CHAN_TTY)
		rc = attach_end_of(attach, command, 1);
	return rc;
}

/* Away from every other descriptor of the channel. One that only reads ends with us, one that takes
 * bytes when they end. Its stderr carries nothing and ends with it. */
static void
serve_files(const struct sbx_files_want *want, int in, int out, int life)
{
	uint64_t right = (uint64_t)1 << CAP_DAC_READ_SEARCH | (uint64_t)1 << CAP_SETUID |
		(uint64_t)1 << CAP_SETGID;
	int workspace;

	if ((in < 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) || sbx_caps_set(right, right) != 0 ||
		dup2(out, STDOUT_FILENO) < 0 || dup2(life, STDERR_FILENO) < 0 ||
		close(STDIN_FILENO) != 0 ||
		(in < 0 ? open("/dev/null", O_RDONLY) : dup(in)) != STDIN_FILENO ||
		syscall(SYS_close_range, 3U, INIT_FD_LAST, 0U) != 0)
		_exit(SBX_FILES_IO);
	workspace = open(SBX_CHAN_WORKSPACE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (workspace < 0)
		_exit(SBX_FILES_IO);
	_exit((int)sbx_workspace_serve(workspace, want, STDIN_FILENO, STDOUT_FILENO));
}

/* The two texts fill the payload exactly: 0, or -1. */
static int
unpack_files(const char *payload, size_t length, struct sbx_chan_files *head,
	struct sbx_files_want *want)
{
	size_t texts = length - sizeof(*head);

	if (length <= sizeof(*head))
		return -1;
	memcpy(head, payload, sizeof(*head));
	payload += sizeof(*head);
	if (head->path_bytes == 0 || head->to_bytes == 0 || head->path_bytes > SBX_FILES_PATH_MAX ||
		head->to_bytes > SBX_FILES_PATH_MAX ||
		(size_t)head->path_bytes + head->to_bytes != texts ||
		strnlen(payload, head->path_bytes) + 1 != head->path_bytes ||
		strnlen(payload + head->path_bytes, head->to_bytes) + 1 != head->to_bytes)
		return -1;
	*want = (struct sbx_files_want){ .op = (enum sbx_files_op)head->op,
		.flags = head->flags,
		.mode = head->mode,
		.path = payload,
		.to = payload + head->path_bytes,
		.offset = head->offset,
		.limit = head->limit,
		.uid = SBX_CHAN_UID,
		.gid = SBX_CHAN_UID };
	return 0;
}

int
attach_files(struct attach *attach, uint32_t id, const char *payload, size_t length)
{
	struct attach_command *command = attach_enter(attach, id);
	struct sbx_chan_end started = { 0 };
	struct sbx_chan_files head;
	struct sbx_files_want want;
	SBX_AUTO_FD their_in = -1;
	SBX_AUTO_FD their_out = -1;
	SBX_AUTO_FD their_life = -1;
	pid_t pid;

	if (command == NULL || unpack_files(payload, length, &head, &want) != 0)
		return -1;
	command->in_window = head.has_input ? SBX_CHAN_WINDOW : 0;
	if ((head.has_input && make_pipe(1, &command->in_fd, &their_in) != 0) ||
		make_pipe(0, &command->out[0].fd, &their_out) != 0 ||
		make_pipe(0, &command->out[1].fd, &their_life) != 0)
		return attach_failed(attach, command, SBX_STAGE_STDIO, errno);
	pid = fork();
	if (pid == 0)
		serve_files(&want, their_in, their_out, their_life);
	if (pid < 0)
		return attach_failed(attach, command, SBX_STAGE_CLONE, errno);
	command->files_pid = started.pid = pid;
	return attach_say(attach, SBX_CHAN_STARTED, 0, id, &started, sizeof(started));
}
