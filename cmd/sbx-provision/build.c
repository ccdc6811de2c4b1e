/*
 * From a spec to a live environment: lease, claim, then the record before anything that it
 * names, the mechanism's work, and only then the answer. Undoes all of it on failure. Knows no
 * mechanism's insides.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/scoped.h"
#include "mech/teardown.h"
#include "provision.h"
#include "state/lease.h"

/* The marker tells a fresh workspace from one that was emptied; it is there before any command. */
static int
make_workspace(const struct sbx_env *env, struct sbx_err *err)
{
	SBX_AUTO_FD marker = -1;

	if (mkdirat(env->dir_fd, "workspace", 0700) < 0)
		return sbx_fail_sys(err, SBX_E_IO, "make the workspace of %s", env->id);
	marker = openat(env->dir_fd, "workspace/.agent-initialized",
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (marker < 0)
		return sbx_fail_sys(err, SBX_E_IO, "mark the workspace of %s", env->id);
	return 0;
}

static int
print(const struct provision_job *job, int created, struct sbx_err *err)
{
	SBX_AUTO_BUF line = SBX_BUF_INIT(64 * 1024);
	int64_t took_us = sbx_clock_mono_us() - job->started_us;

	if (sbx_env_record_line(&job->record, created, took_us, &line, err) < 0)
		return -1;
	return sbx_tool_print(&line, err);
}

/* What runs lives on without us once the lease is durable and the record says ready and names it. */
static int
settle(struct provision_job *job, int *lease, struct sbx_err *err)
{
	if (sbx_lease_commit(&job->tool->state, sbx_take_fd(lease), err) < 0)
		return -1;
	job->record.state = SBX_ENV_READY;
	if (sbx_env_write(&job->env, &job->record, err) < 0)
		return -1;
	return job->mech->keep(sbx_take_ptr(job->birth), err);
}

/* An environment counts as made when it is settled and its line out. */
static int
make(struct provision_job *job, int *lease, struct sbx_err *err)
{
	const struct sbx_mech_host *host = &job->tool->host;

	provision_job_record(job);
	if (sbx_env_write_spec(&job->env, job->spec->canonical, err) < 0 ||
		sbx_env_write(&job->env, &job->record, err) < 0 ||
		(!job->mech->own_workspace && make_workspace(&job->env, err) < 0) ||
		job->mech->provision(host, &job->env, job->spec, &job->record, &job->birth, err) <
			0 ||
		settle(job, lease, err) < 0)
		return -1;
	if (sbx_tool_deferred())
		return sbx_fail(err, SBX_E_CANCELLED, "ended by a signal");
	return print(job, 1, err);
}

/* Take it all down again; err keeps why, unless something stays, which matters more. */
static void
undo(struct provision_job *job, struct sbx_err *err)
{
	struct sbx_teardown report;
	struct sbx_err stays = { 0 };

	if (job->birth != NULL)
		job->mech->drop(sbx_take_ptr(job->birth));
	if (sbx_teardown(&job->tool->host, job->mech, &job->env, &job->record, &report, &stays) ==
		0)
		return;
	sbx_log_err(&stays);
	sbx_env_close(&job->env);
	sbx_fail_hint(err, "%s is left in state failed: sbx-reap --env %s", job->id, job->id);
}

static int
claim_and_make(struct provision_job *job, int *lease, struct sbx_err *err)
{
	int status, there = provision_claim(job, err);

	if (there < 0)
		return -1;
	if (there == 0) {
		status = make(job, lease, err);
		if (status < 0) {
			undo(job, err);
			return -1;
		}
	} else {
		status = sbx_lease_commit(&job->tool->state, sbx_take_fd(lease), err);
		if (status == 0)
			status = print(job, 0, err);
	}
	sbx_env_close(&job->env);
	return status;
}

int
provision_build(const struct sbx_tool *tool, const struct sbx_spec *spec, int64_t started_us,
	struct sbx_err *err)
{
	struct provision_job job;
	SBX_AUTO_FD lease = -1;

	if (provision_job_init(tool, spec, &job, err) < 0)
		return -1;
	job.started_us = started_us;
	sbx_tool_defer();
	if (sbx_lease_take(&tool->state, spec->tenant, spec->run, spec->epoch,
		    job.now_wall_ms + job.expires_ms, &lease, err) < 0)
		return -1;
	return claim_and_make(&job, &lease, err);
}
