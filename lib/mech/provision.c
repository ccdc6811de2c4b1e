/*
 * From a spec to a live environment: lease, claim, then the record before anything that it
 * names, the mechanism's work, and only then the answer. Undoes all of it on failure. Knows no
 * mechanism's insides.
 */
#include "mech/provision.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/log.h"
#include "base/scoped.h"
#include "mech/teardown.h"
#include "state/lease.h"
#include "state/snapshot.h"

/* The marker tells a fresh workspace from one that was emptied; it is there before any command. */
static int
make_workspace(struct sbx_provision *job, struct sbx_err *err)
{
	const struct sbx_env *env = &job->env;
	SBX_AUTO_FD marker = -1;

	if (mkdirat(env->dir_fd, "workspace", 0700) < 0)
		return sbx_fail_sys(err, SBX_E_IO, "make the workspace of %s", env->id);
	if (job->mech->storage != NULL &&
		job->mech->storage(&job->tool->host, env, &job->record, err) < 0)
		return -1;
	marker = openat(env->dir_fd, "workspace/" SBX_FILES_MARKER,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, SBX_FILES_MARKER_MODE);
	if (marker < 0)
		return sbx_fail_sys(err, SBX_E_IO, "mark the workspace of %s", env->id);
	return 0;
}

/* What is there before the first command is nobody's change: the marker, on whatever it lies. */
static int
take_snapshot(const struct sbx_env *env, struct sbx_err *err)
{
	struct sbx_snapshot_write write;
	struct sbx_snap_sink sink;
	struct sbx_snap now;
	int rc;

	sbx_snapshot_begin(env, &write, &sink);
	rc = sbx_snap_put_marker(&sink, SBX_FILES_MARKER, SBX_FILES_MARKER_MODE, err);
	if (rc == 0)
		rc = sbx_snapshot_keep(&write, NULL, &now, err);
	if (rc > 0)
		sbx_snap_close(&now);
	sbx_snapshot_end(&write);
	return rc < 0 ? -1 : 0;
}

/* Who asked, and how it is told. */
struct teller {
	sbx_provision_fn *tell;
	void *arg;
};

static int
tell(const struct teller *teller, const struct sbx_provision *job, int created, struct sbx_err *err)
{
	return teller->tell == NULL ? 0 : teller->tell(teller->arg, &job->record, created, err);
}

/* What runs lives on without us once the lease is durable and the record says ready and names it. */
static int
settle(struct sbx_provision *job, int *lease, struct sbx_err *err)
{
	if (sbx_lease_commit(&job->tool->state, sbx_take_fd(lease), err) < 0)
		return -1;
	job->record.state = SBX_ENV_READY;
	if (sbx_env_write(&job->env, &job->record, err) < 0)
		return -1;
	return job->mech->keep(sbx_take_ptr(job->birth), err);
}

/* An environment counts as made when it is settled and told of. */
static int
make(struct sbx_provision *job, const struct teller *teller, int *lease, struct sbx_err *err)
{
	const struct sbx_mech_host *host = &job->tool->host;

	sbx_provision_record(job);
	if (sbx_env_write_spec(&job->env, job->spec->canonical, err) < 0 ||
		sbx_env_write(&job->env, &job->record, err) < 0 ||
		(!job->mech->own_workspace && make_workspace(job, err) < 0) ||
		job->mech->provision(host, &job->env, job->spec, &job->record, &job->birth, err) <
			0 ||
		(job->mech->files != NULL && take_snapshot(&job->env, err) < 0) ||
		settle(job, lease, err) < 0)
		return -1;
	if (sbx_tool_deferred())
		return sbx_fail(err, SBX_E_CANCELLED, "ended by a signal");
	return tell(teller, job, 1, err);
}

/* Take it all down again; err keeps why, unless something stays, which matters more. */
static void
undo(struct sbx_provision *job, struct sbx_err *err)
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
claim_and_make(struct sbx_provision *job, const struct teller *teller, int *lease,
	struct sbx_err *err)
{
	int status, there = sbx_provision_claim(job, err);

	if (there < 0)
		return -1;
	if (there == 0) {
		status = make(job, teller, lease, err);
		if (status < 0) {
			undo(job, err);
			return -1;
		}
	} else {
		status = sbx_lease_commit(&job->tool->state, sbx_take_fd(lease), err);
		if (status == 0)
			status = tell(teller, job, 0, err);
	}
	sbx_env_close(&job->env);
	return status;
}

int
sbx_provision(const struct sbx_tool *tool, const struct sbx_spec *spec, sbx_provision_fn *fn,
	void *arg, struct sbx_err *err)
{
	const struct teller teller = { .tell = fn, .arg = arg };
	struct sbx_provision job;
	SBX_AUTO_FD lease = -1;

	if (sbx_provision_init(tool, spec, &job, err) < 0)
		return -1;
	sbx_tool_defer();
	if (sbx_lease_take(&tool->state, spec->tenant, spec->run, spec->epoch,
		    job.now_wall_ms + job.expires_ms, &lease, err) < 0)
		return -1;
	return claim_and_make(&job, &teller, &lease, err);
}

int
sbx_provision_read_spec(const char *path, const struct sbx_config *config, struct sbx_spec *spec,
	struct sbx_err *err)
{
	SBX_AUTO_BUF text = SBX_BUF_INIT(SBX_SPEC_MAX);
	SBX_AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	*spec = (struct sbx_spec){ 0 };
	if (fd < 0)
		return sbx_fail_sys(err, errno == ENOENT ? SBX_E_NOT_FOUND : SBX_E_IO, "spec %s",
			path);
	if (sbx_io_read_all(fd, &text, "spec", err) < 0)
		return -1;
	return sbx_spec_read(sbx_buf_str(&text), text.length, config, spec, err);
}
