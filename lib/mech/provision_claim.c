/*
 * Who makes the environment: the same tuple and spec give the one that is there, two that race make
 * one, and what a crash left half made is cleared away first. Makes nothing but the directory that
 * the lock is in.
 */
#include "mech/provision.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "mech/teardown.h"

#define WAIT_MS 60000
#define SLICE_MS 250 /* between two looks at signals that wait */

static int
cancelled(struct sbx_err *err)
{
	return sbx_fail(err, SBX_E_CANCELLED, "ended by a signal");
}

/* Signals are held back already: a directory that is made here is never left alone. */
static int
lock(struct sbx_provision *job, int64_t deadline_ms, int *created, struct sbx_err *err)
{
	int64_t wait_ms = 0, left;

	for (;;) {
		if (sbx_env_lock(&job->tool->state, job->id, 1, wait_ms, &job->env, created, err) ==
			0)
			return 0;
		if (sbx_tool_deferred())
			return cancelled(err);
		left = deadline_ms - sbx_clock_mono_ms();
		if (err->code != SBX_E_BUSY || left <= 0)
			return -1;
		wait_ms = left < SLICE_MS ? left : SLICE_MS;
		memset(err, 0, sizeof(*err));
	}
}

/* A ready one is the answer, if it is what was asked for and still there. */
static int
judge_ready(struct sbx_provision *job, struct sbx_err *err)
{
	SBX_AUTO_BUF spec = SBX_BUF_INIT(SBX_SPEC_MAX);
	const struct sbx_mech *mech = sbx_mech_find(job->record.mechanism, err);
	int lives;

	if (mech == NULL || sbx_env_read_spec(&job->env, &spec, err) < 0)
		return -1;
	if (strcmp(sbx_buf_str(&spec), job->spec->canonical) != 0) {
		sbx_fail(err, SBX_E_CONFLICT, "%s exists with another spec", job->id);
		return sbx_fail_hint(err, "release it, or name another run or a higher epoch");
	}
	if (sbx_env_left_ms(&job->record) <= 0) {
		sbx_fail(err, SBX_E_EXPIRED, "%s is past its expiry", job->id);
		return sbx_fail_hint(err, "release it: sbx-reap --env %s", job->id);
	}
	lives = mech->answers(&job->tool->host, &job->env, &job->record);
	if (lives > 0)
		return 1;
	if (lives < 0) {
		sbx_fail(err, SBX_E_UNAVAILABLE, "whether %s lives cannot be told now", job->id);
		return sbx_fail_hint(err, "see that the engine of mechanism %s answers",
			mech->name);
	}
	sbx_log(SBX_LOG_WARN, "%s had died: it is made again with an empty workspace", job->id);
	return 0;
}

/* 1: the answer; 0: to be cleared away; -1: neither, and why. */
static int
judge(struct sbx_provision *job, struct sbx_err *err)
{
	if (sbx_env_read(&job->env, &job->record, err) < 0) {
		/* Nothing is made before the record, so without one there is only the directory. */
		if (err->code != SBX_E_NOT_FOUND && err->code != SBX_E_CORRUPT)
			return -1;
		memset(err, 0, sizeof(*err));
		memset(&job->record, 0, sizeof(job->record));
		memcpy(job->record.id, job->id, sizeof(job->id));
		job->record.slot = -1;
		return 0;
	}
	switch ((enum sbx_env_state)job->record.state) {
	case SBX_ENV_READY:
		return judge_ready(job, err);
	case SBX_ENV_RELEASING:
		return sbx_fail(err, SBX_E_RELEASING, "%s is being released", job->id);
	case SBX_ENV_PROVISIONING:
	case SBX_ENV_FAILED:
		sbx_log(SBX_LOG_WARN, "%s was left %s: it is made again", job->id,
			sbx_env_state_names[job->record.state]);
		return 0;
	}
	return sbx_fail(err, SBX_E_CORRUPT, "%s is in no known state", job->id);
}

static int
clear_away(struct sbx_provision *job, struct sbx_err *err)
{
	const struct sbx_mech *mech = job->mech;
	struct sbx_teardown report;

	if (job->record.mechanism[0] != '\0' &&
		(mech = sbx_mech_find(job->record.mechanism, err)) == NULL)
		return -1;
	return sbx_teardown(&job->tool->host, mech, &job->env, &job->record, &report, err);
}

int
sbx_provision_claim(struct sbx_provision *job, struct sbx_err *err)
{
	int64_t deadline_ms = sbx_clock_mono_ms() + WAIT_MS;
	int created, verdict;

	if (sbx_env_sweep_remnant(&job->tool->state, job->id, err) < 0)
		return -1;
	for (;;) {
		if (lock(job, deadline_ms, &created, err) < 0)
			return -1;
		if (created)
			return 0;
		verdict = judge(job, err);
		if (verdict == 0 && clear_away(job, err) == 0)
			continue; /* the lock went with it: whoever comes first makes it */
		if (verdict <= 0) {
			sbx_env_close(&job->env);
			return -1;
		}
		return 1;
	}
}
