/*
 * The limits of the workspace where no kernel enforces them: while commands run it is counted, every
 * 250 ms and, while nothing moves, up to every second; but no more than a tenth of a processor is
 * spent on it. The first count that is over a limit ends every command of ours, as the tree is of
 * all. What was over a limit before a command began may not grow. Never changes the tree.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/scoped.h"
#include "exec.h"
#include "run.h"
#include "walker.h"
#include "workspace/measure.h"

#define PAUSE_LEAST_US (INT64_C(250) * 1000)
#define PAUSE_MOST_US (INT64_C(1000) * 1000)
#define SHARE 9 /* a look's own time, so often, is paused after it */
#define SLICE_US 3000

static void on_time(void *arg);

const char *
exec_watch_judge(const struct exec_hold *hold, const struct sbx_files_measured *measured)
{
	const struct exec_watch *watch = &hold->watch;

	if (measured->bytes > watch->most.bytes)
		return "workspace_bytes";
	return measured->inodes > watch->most.inodes ? "workspace_inodes" : NULL;
}

static void
pause_for(struct exec_hold *hold, int64_t pause_us)
{
	hold->watch.timer = sbx_loop_at(hold->loop, sbx_clock_mono_us() + pause_us, on_time, hold);
}

/* The look is over, well or not: when is the next one? */
static void
rest(struct exec_hold *hold)
{
	struct exec_watch *watch = &hold->watch;
	int64_t took_us = sbx_clock_mono_us() - watch->began_us;

	sbx_measure_end(sbx_take_ptr(watch->measure));
	pause_for(hold, took_us * SHARE > watch->pause_us ? took_us * SHARE : watch->pause_us);
}

static void
end_all(struct exec_hold *hold, const char *limit)
{
	struct exec_run *run = hold->runs, *next;

	for (; run != NULL; run = next) {
		next = run->next;
		if (run->is_files || run->step != EXEC_RUNNING)
			continue;
		if (run->outcome.quota == NULL)
			run->outcome.quota = limit;
		exec_pump_end(run, SBX_REASON_QUOTA);
	}
}

/* 1: it is too much, and nothing more is to be looked at. */
static int
judge(struct exec_hold *hold, const struct sbx_files_measured *measured)
{
	const char *limit = exec_watch_judge(hold, measured);

	if (limit == NULL)
		return 0;
	sbx_measure_end(sbx_take_ptr(hold->watch.measure));
	/* One that is started between its siblings' end and its own is looked at, too. */
	pause_for(hold, PAUSE_LEAST_US);
	end_all(hold, limit);
	return 1;
}

static void
conclude(struct exec_hold *hold, const struct sbx_files_measured *measured)
{
	struct exec_watch *watch = &hold->watch;
	int moved = memcmp(measured, &watch->last, sizeof(*measured)) != 0;

	watch->last = *measured;
	watch->pause_us = moved ? PAUSE_LEAST_US : watch->pause_us * 2;
	if (watch->pause_us > PAUSE_MOST_US)
		watch->pause_us = PAUSE_MOST_US;
	if (!judge(hold, measured))
		rest(hold);
}

/* Beside what has a name: what has none any more, where that can be seen. */
static struct sbx_files_measured
total(struct exec_hold *hold, struct sbx_files_measured measured)
{
	const struct sbx_mech *mech = hold->target->mech;
	struct stat st;

	if (mech->held != NULL &&
		fstatat(hold->target->env.dir_fd, "workspace", &st, AT_SYMLINK_NOFOLLOW) == 0)
		measured.bytes += mech->held(hold->session, st.st_dev);
	return measured;
}

/* A directory that is moved while we are in it is no reason to stop looking. */
static void
on_slice(void *arg)
{
	struct exec_hold *hold = arg;
	struct exec_watch *watch = &hold->watch;
	struct sbx_err err = { 0 };
	int more = sbx_measure_step(watch->measure, SLICE_US, &err);

	watch->timer = NULL;
	if (more == 0) {
		const struct sbx_files_measured measured = total(hold,
			*sbx_measure_total(watch->measure));

		conclude(hold, &measured);
		return;
	}
	if (judge(hold, sbx_measure_total(watch->measure)))
		return;
	if (more > 0)
		pause_for(hold, 0);
	else
		rest(hold);
}

static void
on_walked(struct exec_hold *hold, struct sbx_err *err)
{
	struct exec_watch *watch = &hold->watch;
	struct sbx_files_measured measured;

	exec_walker_free(sbx_take_ptr(watch->walker));
	if (err->code != SBX_OK || watch->answer.length != sizeof(measured)) {
		rest(hold);
		return;
	}
	memcpy(&measured, watch->answer.data, sizeof(measured));
	measured = total(hold, measured);
	conclude(hold, &measured);
}

static int
take_answer(void *arg, const void *bytes, size_t length, struct sbx_err *err)
{
	struct exec_watch *watch = arg;

	if (sbx_buf_add(&watch->answer, bytes, length) == 0)
		return 0;
	return sbx_buf_check(&watch->answer, "the workspace's measure", err);
}

static void
on_time(void *arg)
{
	struct exec_hold *hold = arg;
	struct exec_watch *watch = &hold->watch;
	const struct sbx_snap_sink sink = { .put = take_answer, .arg = watch };
	struct sbx_err err = { 0 };

	watch->timer = NULL;
	watch->began_us = sbx_clock_mono_us();
	if (hold->changes.dir >= 0) {
		watch->measure = sbx_measure_begin(hold->changes.dir, &err);
		if (watch->measure != NULL) {
			on_slice(hold);
			return;
		}
	} else {
		sbx_buf_clear(&watch->answer);
		watch->walker = exec_walker_start(hold, SBX_FILES_MEASURE, 0, -1, &sink, on_walked,
			&err);
		if (watch->walker != NULL)
			return;
	}
	sbx_log_err(&err);
	rest(hold);
}

static int
is_bounded(const struct sbx_env_record *record)
{
	return record->quota[0] != '\0' &&
		strcmp(record->quota, sbx_quota_names[SBX_QUOTA_MONITOR]) != 0;
}

void
exec_watch_start(struct exec_hold *hold)
{
	const struct sbx_limits *limits = &hold->target->record.limits;
	struct exec_watch *watch = &hold->watch;
	struct sbx_files_measured before = { 0 };

	sbx_snapshot_usage(&hold->target->env, &before.bytes, &before.inodes);
	*watch = (struct exec_watch){ .most = { .bytes = limits->workspace_bytes,
					      .inodes = limits->workspace_inodes },
		.last = before,
		.pause_us = PAUSE_LEAST_US,
		.answer = SBX_BUF_INIT(sizeof(before)) };
	/* What the kernel bounds needs no look: whoever wrote too much was told ENOSPC. */
	if (is_bounded(&hold->target->record)) {
		watch->most = (struct sbx_files_measured){ .bytes = UINT64_MAX,
			.inodes = UINT64_MAX };
		return;
	}
	if (before.bytes > watch->most.bytes)
		watch->most.bytes = before.bytes;
	if (before.inodes > watch->most.inodes)
		watch->most.inodes = before.inodes;
	pause_for(hold, PAUSE_LEAST_US);
}

void
exec_watch_stop(struct exec_hold *hold)
{
	struct exec_watch *watch = &hold->watch;

	sbx_loop_cancel(hold->loop, watch->timer);
	watch->timer = NULL;
	sbx_measure_end(sbx_take_ptr(watch->measure));
	exec_walker_free(sbx_take_ptr(watch->walker));
	sbx_buf_done(&watch->answer);
}
