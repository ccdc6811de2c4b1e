/*
 * Mechanism native as the tools see it: the order in which an environment is made and its end. Every
 * object carries the environment's id, so that destroy() finds all of it from the id and the record.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/scoped.h"
#include "mech/native/parts.h"
#include "mech/native/storage.h"
#include "mech/native/wire.h"

struct sbx_mech_birth {
	struct sbx_native_birth native;
};

static int
launch(struct sbx_env_record *record, struct sbx_native_parts *parts, struct sbx_mech_birth **birth,
	struct sbx_err *err)
{
	*birth = sbx_mem_alloc(1, sizeof(**birth));
	if (sbx_native_launch(&parts->plan, parts->group_fd, &(*birth)->native, err) != 0) {
		free(sbx_take_ptr(*birth));
		return -1;
	}
	record->init_pid = (*birth)->native.pid;
	record->init_start = sbx_env_start_time(record->init_pid);
	return 0;
}

static int
native_keep(struct sbx_mech_birth *birth, struct sbx_err *err)
{
	int rc = sbx_native_keep(&birth->native, err);

	if (rc != 0)
		sbx_native_drop(&birth->native);
	free(birth);
	return rc;
}

static void
native_drop(struct sbx_mech_birth *birth)
{
	if (birth != NULL)
		sbx_native_drop(&birth->native);
	free(birth);
}

static int native_destroy(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record, struct sbx_err *err);

static int
native_provision(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_spec *spec, struct sbx_env_record *record, struct sbx_mech_birth **birth,
	struct sbx_err *err)
{
	struct sbx_native_parts parts;
	struct sbx_err ignored = { 0 };
	int rc = sbx_native_parts_make(host, env, spec, record, &parts, err);

	if (rc == 0)
		rc = launch(record, &parts, birth, err);
	sbx_native_parts_done(&parts);
	if (rc != 0 && native_destroy(host, env, record, &ignored) != 0)
		sbx_fail_hint(err, "and not all of it could be removed: %s", ignored.msg);
	return rc;
}

/* By pid, checked against the recorded start time; waits until the kernel has taken it down. */
static int
end_init(const struct sbx_env_record *record, struct sbx_err *err)
{
	SBX_AUTO_FD pidfd = -1;
	struct pollfd wait;

	if (!sbx_env_init_alive(record))
		return 0;
	pidfd = (int)syscall(SYS_pidfd_open, (pid_t)record->init_pid, 0);
	if (pidfd < 0)
		return errno == ESRCH ? 0 : sbx_fail_sys(err, SBX_E_INTERNAL, "open pid 1");
	if (!sbx_env_init_alive(record))
		return 0;
	if (syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) != 0 && errno != ESRCH)
		return sbx_fail_sys(err, SBX_E_INTERNAL, "kill pid 1");
	wait = (struct pollfd){ .fd = pidfd, .events = POLLIN };
	if (poll(&wait, 1, 2000) == 0)
		return sbx_fail(err, SBX_E_BUSY, "pid 1 (%lld) does not die",
			(long long)record->init_pid);
	return 0;
}

/* Bases of a plain user that are gone took all that was below with them. */
static int
remove_groups(const struct sbx_mech_host *host, const struct sbx_env_record *record,
	struct sbx_err *err)
{
	char of_state[sizeof(record->cgroup_parent)];
	const char *parent = record->cgroup_parent;
	struct sbx_err why = { 0 };
	struct sbx_cgroup_host groups;
	int rc;

	if (record->cgroup_layout == SBX_CGROUP_NONE) {
		/* Root's maker may have died before its record said more. */
		if (geteuid() != 0)
			return 0;
		if (sbx_native_cgroup_parent(host, of_state, err) != 0)
			return -1;
		parent = of_state;
	}
	if (sbx_cgroup_host_find(parent, &groups, &why) != 0) {
		/* Where no groups can be had, a maker that recorded none made none. */
		if (why.code == SBX_E_NOT_FOUND ||
			(why.code == SBX_E_UNAVAILABLE && record->cgroup_layout == SBX_CGROUP_NONE))
			return 0;
		*err = why;
		return -1;
	}
	rc = sbx_cgroup_remove(&groups, record->id, err);
	if (rc == 0)
		sbx_cgroup_host_tidy(&groups);
	sbx_cgroup_host_close(&groups);
	return rc;
}

static int
native_destroy(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record, struct sbx_err *err)
{
	struct sbx_err later = { 0 };
	int rc = end_init(record, err);

	if (sbx_native_take_workspace(env, record, rc == 0 ? err : &later) != 0)
		rc = -1;
	/* What is mounted on the workspace goes when nobody can be in it any more. */
	if (sbx_native_storage_drop(env, rc == 0 ? err : &later) != 0)
		rc = -1;
	if (remove_groups(host, record, rc == 0 ? err : &later) != 0)
		rc = -1;
	return rc;
}

static int
native_alive(const struct sbx_mech_host *host, const struct sbx_env_record *record)
{
	(void)host;
	return sbx_env_init_alive(record);
}

static int
native_answers(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record)
{
	SBX_AUTO_FD sock = sbx_env_init_alive(record) ? sbx_wire_connect(env, NULL) : -1;
	struct pollfd wait = { .fd = sock, .events = POLLIN };
	struct sbx_init_reply reply;

	(void)host;
	return sock >= 0 && sbx_wire_tell(sock, SBX_INIT_PING, 1) == 0 &&
		poll(&wait, 1, 1000) == 1 &&
		recv(sock, &reply, sizeof(reply), MSG_DONTWAIT) == (ssize_t)sizeof(reply) &&
		reply.magic == SBX_INIT_MAGIC && reply.answer == SBX_INIT_PONG;
}

static int
native_totals(const struct sbx_mech_host *host, const struct sbx_env_record *record,
	uint64_t *memory_bytes, uint64_t *pids)
{
	struct sbx_cgroup_host groups;
	struct sbx_cgroup cg;
	struct sbx_cgroup_totals totals = { 0 };
	int rc = -1;

	(void)host;
	*memory_bytes = *pids = 0;
	if (record->cgroup_layout == SBX_CGROUP_NONE ||
		sbx_cgroup_host_find(record->cgroup_parent, &groups, NULL) != 0)
		return -1;
	if (sbx_cgroup_open(&groups, record->id, &cg, NULL) == 0) {
		rc = sbx_cgroup_totals(&cg, &totals);
		sbx_cgroup_close(&cg);
	}
	sbx_cgroup_host_close(&groups);
	*memory_bytes = totals.memory_bytes;
	*pids = totals.pids;
	return rc;
}

const struct sbx_mech sbx_mech_native = {
	.name = "native",
	.probe = sbx_native_probe,
	.storage = sbx_native_storage,
	.provision = native_provision,
	.keep = native_keep,
	.drop = native_drop,
	.destroy = native_destroy,
	.alive = native_alive,
	.answers = native_answers,
	.totals = native_totals,
	.open = sbx_native_open,
	.close = sbx_native_close,
	.fd = sbx_native_fd,
	.start = sbx_native_start,
	.files = sbx_native_files,
	.workspace = sbx_native_workspace,
	.held = sbx_native_session_held,
	.next = sbx_native_next,
	.pty = sbx_native_pty,
	.signal = sbx_native_signal,
	.background = sbx_native_background,
	.end_background = sbx_native_end_background,
	.kill = sbx_native_kill,
	.finish = sbx_native_finish,
};
