/*
 * The workspace of a native environment, read by a child of ours on the host: a process of the
 * host's, which nothing inside can see, let alone signal or trace. It has the workspace's
 * descriptor, the answer's and no other, and dies with us.
 */
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/scoped.h"
#include "kernel/ns.h"
#include "mech/native/processes.h"
#include "mech/native/session.h"
#include "mech/native/storage.h"

#define WORKSPACE_FD 3
#define IN_FD 4
#define OUT_FD 5
#define HOLDERS_MAX 8192

/* First out of the way of each other, then to their places. */
static int
place(int workspace_fd, const struct sbx_mech_files *files)
{
	int in_fd = files->in_fd >= 0 ? files->in_fd : STDIN_FILENO, out_fd;

	workspace_fd = fcntl(workspace_fd, F_DUPFD, OUT_FD + 1);
	in_fd = fcntl(in_fd, F_DUPFD, OUT_FD + 1);
	out_fd = fcntl(files->out_fd, F_DUPFD, OUT_FD + 1);
	if (workspace_fd < 0 || in_fd < 0 || out_fd < 0)
		return -1;
	return dup2(workspace_fd, WORKSPACE_FD) < 0 || dup2(in_fd, IN_FD) < 0 ||
			dup2(out_fd, OUT_FD) < 0 ||
			syscall(SYS_close_range, OUT_FD + 1, ~0U, 0) != 0 ?
		-1 :
		0;
}

/* What a child in another user namespace does and found. */
struct owned {
	struct sbx_files_want want;
	enum sbx_files_failure *failure; /* in memory that it shares with us */
};

static int
serve_owned(void *arg, struct sbx_err *err)
{
	const struct owned *owned = arg;

	(void)err;
	*owned->failure = sbx_workspace_serve(WORKSPACE_FD, &owned->want, IN_FD, OUT_FD);
	return 0;
}

/* A plain user's environment may have a subordinate uid, over which he has rights in a namespace that
 * maps it: there it is 1. */
static enum sbx_files_failure
serve_subordinate(const struct sbx_files_want *want)
{
	struct owned owned = { .want = *want };
	struct sbx_err err = { 0 };

	owned.failure = mmap(NULL, sizeof(*owned.failure), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (owned.failure == MAP_FAILED)
		return SBX_FILES_IO;
	*owned.failure = SBX_FILES_IO;
	owned.want.uid = owned.want.gid = 1;
	if (sbx_ns_as_owner((uid_t)want->uid, (gid_t)want->gid, serve_owned, &owned, &err) != 0)
		sbx_log_err(&err);
	return *owned.failure;
}

/* 0, or -1: then it is as it was. */
static int
map_ourselves(const char *file, unsigned id)
{
	SBX_AUTO_FD fd = open(file, O_WRONLY | O_CLOEXEC);
	char line[40];
	int length = snprintf(line, sizeof(line), "%u %u 1", id, id);

	return fd >= 0 && write(fd, line, (size_t)length) == length ? 0 : -1;
}

/*
 * A plain user may not read a directory of his own without its permission, which the code inside
 * takes away; in a user namespace that maps him he may. Where there is none it is told as missing.
 */
static void
see_all_of_ours(void)
{
	unsigned uid = geteuid(), gid = getegid();
	SBX_AUTO_FD groups = -1;

	if (unshare(CLONE_NEWUSER) != 0)
		return;
	groups = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
	if (groups < 0 || write(groups, "deny", 4) != 4 ||
		map_ourselves("/proc/self/gid_map", gid) != 0 ||
		map_ourselves("/proc/self/uid_map", uid) != 0)
		sbx_log(SBX_LOG_DEBUG, "closed directories of the workspace cannot be read");
}

/* One that takes bytes lives on without us until they end, so that it leaves nothing half made. */
__attribute__((noreturn)) static void
serve(int workspace_fd, const struct sbx_mech_files *files)
{
	const struct sbx_files_want *want = &files->want;
	sigset_t none;

	sigemptyset(&none);
	if ((files->in_fd < 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) ||
		sigprocmask(SIG_SETMASK, &none, NULL) != 0 || place(workspace_fd, files) != 0)
		_exit(SBX_FILES_IO);
	if (geteuid() != 0 && want->uid >= 0 && (uid_t)want->uid != geteuid())
		_exit((int)serve_subordinate(want));
	if (geteuid() != 0 && (want->op == SBX_FILES_MEASURE || want->op == SBX_FILES_SNAPSHOT))
		see_all_of_ours();
	_exit((int)sbx_workspace_serve(WORKSPACE_FD, want, IN_FD, OUT_FD));
}

static int
watch(struct sbx_session *session, struct sbx_native_running *running)
{
	struct epoll_event event = { .events = EPOLLIN };

	running->files_fd = event.data.fd = (int)syscall(SYS_pidfd_open, running->files_pid, 0);
	return running->files_fd < 0 ?
		-1 :
		epoll_ctl(session->epoll_fd, EPOLL_CTL_ADD, running->files_fd, &event);
}

int
sbx_native_files(struct sbx_session *session, const struct sbx_mech_files *files, uint32_t *id,
	struct sbx_err *err)
{
	SBX_AUTO_FD workspace_fd = openat(session->dir_fd, "workspace",
		O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); /* it need not be ours to read */
	struct sbx_mech_files owned = *files;
	struct sbx_native_running *running;
	pid_t pid;

	if (workspace_fd < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "open the workspace");
	if (session->has_mount && sbx_native_storage_seen(workspace_fd, err) != 0)
		return -1;
	owned.want.uid = session->owner;
	owned.want.gid = session->owner_gid;
	pid = fork();
	if (pid == 0)
		serve(workspace_fd, &owned);
	if (pid < 0)
		return sbx_fail_sys(err, SBX_E_BUSY, "start a reader of the workspace");
	running = sbx_mem_alloc(1, sizeof(*running));
	running->oom_fd = running->files_fd = -1;
	running->files_pid = pid;
	if (watch(session, running) != 0) {
		sbx_fail_sys(err, SBX_E_INTERNAL, "watch a reader of the workspace");
		sbx_native_forget(running);
		return -1;
	}
	running->id = *id = ++session->last_id;
	running->next = session->running;
	session->running = running;
	return 0;
}

/* A plain user cannot read all that is a subordinate uid's. */
int
sbx_native_workspace(struct sbx_session *session, struct sbx_err *err)
{
	int fd;

	if (geteuid() != 0)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "what the code closes we may not read");
	fd = openat(session->dir_fd, "workspace", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return sbx_fail_sys(err, SBX_E_IO, "open the workspace");
	if (session->has_mount && sbx_native_storage_seen(fd, err) != 0) {
		close(fd);
		/* Nor would the reader see it, which is a child of ours. */
		err->code = SBX_E_IO;
		return -1;
	}
	return fd;
}

uint64_t
sbx_native_session_held(struct sbx_session *session, uint64_t dev)
{
	int pids[HOLDERS_MAX];

	return sbx_native_held(pids, sbx_native_processes(session->init_pid, pids, HOLDERS_MAX),
		dev);
}

int
sbx_native_files_event(struct sbx_session *session, int fd, struct sbx_mech_event *event)
{
	struct sbx_native_running *running = session->running;
	int status;

	while (running != NULL && (running->files_pid <= 0 || running->files_fd != fd))
		running = running->next;
	if (running == NULL)
		return 0;
	while (waitpid(running->files_pid, &status, 0) < 0 && errno == EINTR)
		continue;
	running->files_pid = -1;
	epoll_ctl(session->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	sbx_scoped_close(&running->files_fd);
	running->files_fd = -1;
	*event = (struct sbx_mech_event){
		.kind = SBX_EVENT_EXITED, .id = running->id, .status = status
	};
	return 1;
}

void
sbx_native_files_end(struct sbx_native_running *running)
{
	if (running->files_pid <= 0)
		return;
	kill(running->files_pid, SIGKILL);
	while (waitpid(running->files_pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	running->files_pid = -1;
	sbx_scoped_close(&running->files_fd);
	running->files_fd = -1;
}
