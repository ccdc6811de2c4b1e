/*
 * What a command changed in the workspace: a snapshot when it has ended and nothing runs any more,
 * beside the one of the command before. With several commands at once the changes go to the last
 * that ends, in whatever process. It is taken in steps, so that nobody waits for a large tree but
 * who wants a command to begin in it.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/scoped.h"
#include "data/errors.h"
#include "exec.h"
#include "run.h"
#include "told.h"
#include "walker.h"

#define SLICE_US 3000 /* of work on a snapshot at a time */

/* Once. Where we may not look at the workspace ourselves there is no directory. */
static int
open_all(struct exec_hold *hold, struct sbx_err *err)
{
	struct exec_changes *changes = &hold->changes;
	const struct sbx_mech *mech = hold->target->mech;

	if (changes->lock_fd >= 0)
		return 0;
	if (mech->workspace != NULL) {
		changes->dir = mech->workspace(hold->session, err);
		if (changes->dir < 0 && err->code != SBX_E_UNAVAILABLE)
			return -1;
		*err = (struct sbx_err){ 0 };
	}
	changes->lock_fd = sbx_snapshot_lock_open(&hold->target->env, err);
	return changes->lock_fd < 0 ? -1 : 0;
}

static void
stop(struct exec_changes *changes)
{
	sbx_snap_end(sbx_take_ptr(changes->take));
	exec_walker_free(sbx_take_ptr(changes->walker));
	sbx_snapshot_end(&changes->write);
	sbx_snap_close(&changes->before);
}

/* All of it was put. */
static int
keep(struct exec_hold *hold, struct exec_told *told, struct sbx_err *err)
{
	struct exec_changes *changes = &hold->changes;
	const struct sbx_snap *before = changes->unknown == SBX_OK ? &changes->before : NULL;
	struct sbx_snap now = { 0 };
	int rc = sbx_snapshot_keep(&changes->write, before, &now, err);
	const struct sbx_snap *is = rc > 0 ? &now : before;

	if (rc < 0 || is == NULL)
		return -1;
	told->measured = 1;
	told->bytes = is->foot->bytes;
	told->inodes = is->foot->inodes;
	/* The last look: what was written since the one before it, or by a quick command. */
	if (changes->run->outcome.quota == NULL)
		changes->run->outcome.quota = exec_watch_judge(hold,
			&(struct sbx_files_measured){
				.bytes = told->bytes, .inodes = told->inodes });
	if (before == NULL)
		exec_told_unknown(told, changes->unknown);
	else
		exec_told_changes(told, hold->target, before, is);
	sbx_snap_close(&now);
	return 0;
}

/* Commands that were asked for meanwhile begin when the last one has been told. */
static void
launch_waiting(struct exec_hold *hold)
{
	struct exec_run *run = hold->runs;

	while (run != NULL && !exec_changes_is_busy(hold)) {
		if (run->step == EXEC_WAITING) {
			exec_run_launch(run);
			run = hold->runs; /* it may have ended at once */
		} else {
			run = run->next;
		}
	}
}

static void
end(struct exec_hold *hold)
{
	struct exec_changes *changes = &hold->changes;
	struct exec_run *run = sbx_take_ptr(changes->run);

	stop(changes);
	sbx_loop_cancel(hold->loop, changes->timer);
	changes->timer = NULL;
	sbx_snapshot_unlock(changes->lock_fd);
	if (run != NULL)
		changes->told(run);
}

static void
conclude(struct exec_hold *hold, struct sbx_err *err)
{
	struct exec_told *told = &hold->changes.run->changes;

	if (err->code != SBX_OK || keep(hold, told, err) != 0) {
		sbx_log_err(err);
		exec_told_unknown(told, err->code);
	}
	end(hold);
	launch_waiting(hold);
}

static void
on_slice(void *arg)
{
	struct exec_hold *hold = arg;
	struct sbx_err err = { 0 };

	hold->changes.timer = NULL;
	if (sbx_snap_step(hold->changes.take, SLICE_US, &err) > 0)
		hold->changes.timer = sbx_loop_at(hold->loop, sbx_clock_mono_us(), on_slice, hold);
	else
		conclude(hold, &err);
}

/* Whatever the earlier snapshot is worth: without one, or with a damaged one, all is read again. */
static const struct sbx_snap *
read_before(struct exec_hold *hold)
{
	struct exec_changes *changes = &hold->changes;
	struct sbx_err err = { 0 };

	changes->unknown = SBX_OK;
	if (sbx_snapshot_read(&hold->target->env, &changes->before, &err) == 0)
		return &changes->before;
	changes->unknown = err.code;
	if (err.code != SBX_E_NOT_FOUND)
		sbx_log_err(&err);
	return NULL;
}

static int
begin(struct exec_hold *hold, struct sbx_err *err)
{
	struct exec_changes *changes = &hold->changes;
	const struct exec_target *target = hold->target;
	const struct sbx_snap *before = read_before(hold);
	struct sbx_mech_background list[SBX_MECH_BACKGROUND_MAX];
	struct sbx_snap_sink sink;
	int quiet = target->mech->background == NULL ||
		target->mech->background(hold->session, list, err) == 0;

	sbx_snapshot_begin(&target->env, &changes->write, &sink);
	if (changes->dir >= 0) {
		changes->take = sbx_snap_begin(changes->dir, before, quiet, &sink, err);
		if (changes->take != NULL)
			return 0;
	} else {
		changes->walker = exec_walker_start(hold, SBX_FILES_SNAPSHOT,
			quiet ? SBX_FILES_QUIET : 0u,
			before != NULL ? sbx_snapshot_open(&target->env) : -1, &sink, conclude,
			err);
		if (changes->walker != NULL)
			return 0;
	}
	stop(changes);
	return -1;
}

int
exec_changes_is_busy(const struct exec_hold *hold)
{
	return hold->changes.run != NULL;
}

int
exec_changes_enter(struct exec_run *run, struct sbx_err *err)
{
	struct exec_hold *hold = run->hold;
	struct exec_changes *changes = &hold->changes;

	if (hold->target->mech->files == NULL)
		return 0; /* there is no workspace */
	if (open_all(hold, err) != 0 ||
		(changes->running == 0 && sbx_snapshot_lock_shared(changes->lock_fd, err) != 0))
		return -1;
	if (changes->running++ == 0)
		exec_watch_start(hold);
	run->changes.counted = 1;
	return 0;
}

void
exec_changes_leave(struct exec_run *run)
{
	struct exec_hold *hold = run->hold;
	struct exec_changes *changes = &hold->changes;

	if (changes->run == run) {
		changes->run = NULL;
		end(hold);
		launch_waiting(hold);
	}
	if (!run->changes.counted)
		return;
	run->changes.counted = 0;
	if (--changes->running > 0)
		return;
	exec_watch_stop(hold);
	sbx_snapshot_unlock(changes->lock_fd);
}

void
exec_changes_tell(struct exec_run *run, void (*told)(struct exec_run *run))
{
	struct exec_hold *hold = run->hold;
	struct exec_changes *changes = &hold->changes;
	struct sbx_err err = { 0 };

	if (!run->changes.counted) {
		told(run);
		return;
	}
	run->changes.counted = 0;
	if (--changes->running == 0)
		exec_watch_stop(hold);
	if (changes->running > 0 || !sbx_snapshot_lock_alone(changes->lock_fd)) {
		exec_told_shared(&run->changes);
		told(run);
		return;
	}
	changes->run = run;
	changes->told = told;
	if (begin(hold, &err) != 0)
		conclude(hold, &err);
	else if (changes->take != NULL)
		on_slice(hold);
}

void
exec_changes_close(struct exec_hold *hold)
{
	struct exec_changes *changes = &hold->changes;

	changes->run = NULL;
	exec_watch_stop(hold);
	if (changes->lock_fd >= 0)
		end(hold);
	sbx_scoped_close(&changes->lock_fd);
	sbx_scoped_close(&changes->dir);
	changes->dir = changes->lock_fd = -1;
}
