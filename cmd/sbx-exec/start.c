/*
 * Ask for a command: pipes of its own for all three streams (none of our descriptors ever becomes
 * its own), and the request. From there to its end it is the pump's.
 */
#include "exec.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scoped.h"
#include "run.h"

#define STREAM_COUNT 3

static void
close_theirs(struct exec_run *run)
{
	for (int i = 0; i < STREAM_COUNT; i++) {
		sbx_scoped_close(&run->theirs[i]);
		run->theirs[i] = -1;
	}
}

void
exec_run_init(struct exec_run *run)
{
	*run = (struct exec_run){ .ends = { -1, -1, -1 }, .theirs = { -1, -1, -1 } };
	run->feed.fd = run->feed.source.fd = -1;
	for (int i = 0; i < 2; i++)
		run->streams[i].fd = run->streams[i].outer.fd = run->streams[i].spill.fd = -1;
}

int
exec_run_open(struct exec_run *run, const struct exec_plan *plan, int raw, struct sbx_err *err)
{
	run->plan = plan;
	for (int i = 0; i < 2; i++)
		if (exec_stream_open(&run->streams[i], raw ? i + 1 : -1, plan->output_bytes, err) <
			0)
			return -1;
	return 0;
}

static void
spill(struct exec_run *run, const struct exec_target *target)
{
	static const char *const kinds[] = { "stdout", "stderr" };
	const struct sbx_config *config = &target->tool.config;

	for (int i = 0; i < 2 && config->spool_factor > 0; i++)
		run->streams[i].spill = (struct exec_spill){ .env = &target->env,
			.kind = kinds[i],
			.most_bytes = run->plan->output_bytes * config->spool_factor,
			.total_bytes = config->spool_bytes,
			.fd = -1 };
}

/*
 * One pipe, our end non-blocking. It is the command's user who owns it, so that /dev/stdout can be
 * opened inside; where we may not give it away, it is that user who runs us.
 */
static int
make_pipe(const struct sbx_env_record *record, int ours_is_read, int *ours, int *theirs,
	struct sbx_err *err)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "pipe");
	*ours = fds[ours_is_read ? 0 : 1];
	*theirs = fds[ours_is_read ? 1 : 0];
	if (sbx_fd_nonblock(*ours, 1) < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "pipe");
	if (record->uid >= 0 && geteuid() == 0 &&
		fchown(*theirs, (uid_t)record->uid, (gid_t)record->gid) < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "give a pipe to uid %lld",
			(long long)record->uid);
	return 0;
}

static int
make_ends(struct exec_run *run, const struct sbx_env_record *record, struct sbx_err *err)
{
	if (run->feed.wanted) {
		if (make_pipe(record, 0, &run->ends[0], &run->theirs[0], err) < 0)
			return -1;
	} else {
		run->theirs[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (run->theirs[0] < 0)
			return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "open /dev/null");
	}
	for (int i = 1; i < STREAM_COUNT; i++)
		if (make_pipe(record, 1, &run->ends[i], &run->theirs[i], err) < 0)
			return -1;
	return 0;
}

/*
 * A terminal for all three: its master is read and written by us, each by a descriptor of its own.
 * Where the mechanism carries its bytes, pipes do, and a third that nobody uses.
 */
static int
make_terminal(struct exec_run *run, const struct sbx_mech_tty *size, struct sbx_err *err)
{
	const struct sbx_mech *mech = run->hold->target->mech;
	int ends[2] = { -1, -1 };
	SBX_AUTO_FD nobody = -1;

	if (mech->pty == NULL && mech->resize == NULL)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "mechanism %s makes no terminals",
			mech->name);
	if (mech->pty == NULL)
		return make_ends(run, &run->hold->target->record, err);
	if (mech->pty(run->hold->session, size, ends, err) < 0)
		return -1;
	run->ends[1] = ends[0];
	run->theirs[0] = ends[1];
	run->ends[0] = fcntl(ends[0], F_DUPFD_CLOEXEC, STREAM_COUNT);
	run->theirs[1] = fcntl(ends[1], F_DUPFD_CLOEXEC, STREAM_COUNT);
	run->theirs[2] = fcntl(ends[1], F_DUPFD_CLOEXEC, STREAM_COUNT);
	if (run->ends[0] < 0 || run->theirs[1] < 0 || run->theirs[2] < 0 ||
		sbx_fd_nonblock(ends[0], 1) < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "take the terminal");
	/* There is one output; the other is a pipe that nobody writes. */
	return make_pipe(&run->hold->target->record, 1, &run->ends[2], &nobody, err);
}

void
exec_run_resize(struct exec_run *run, const struct sbx_mech_tty *size, struct sbx_err *err)
{
	const struct sbx_mech *mech = run->hold->target->mech;
	struct winsize window = { .ws_row = size->rows, .ws_col = size->columns };

	if (run->step != EXEC_RUNNING)
		return;
	/* A window of the wrong size is nothing to end for. */
	if (mech->resize != NULL)
		(void)mech->resize(run->hold->session, run->id, size, err);
	else if (run->streams[0].fd >= 0)
		(void)ioctl(run->streams[0].fd, TIOCSWINSZ, &window);
}

static int
start_files(struct exec_run *run, struct sbx_err *err)
{
	const struct sbx_mech *mech = run->hold->target->mech;
	struct sbx_mech_files files = *run->wish->files;

	if (mech->files == NULL)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "mechanism %s has no workspace",
			mech->name);
	files.out_fd = run->theirs[1];
	files.in_fd = run->feed.wanted ? run->theirs[0] : -1;
	run->is_files = 1;
	return mech->files(run->hold->session, &files, &run->id, err);
}

/* Ask the mechanism: from success on it runs, as far as we know. */
static int
ask(struct exec_run *run, struct sbx_err *err)
{
	struct exec_hold *hold = run->hold;
	const struct exec_wish *wish = run->wish;
	const struct sbx_mech *mech = hold->target->mech;
	const struct sbx_mech_command command = {
		.argv = wish->argv,
		.envp = run->plan->variables.items,
		.cwd = wish->cwd,
		.tty = wish->tty,
		.background = wish->background,
		.stdin_fd = run->theirs[0],
		.stdout_fd = run->theirs[1],
		.stderr_fd = run->theirs[2],
	};

	if (exec_hold_session(hold, err) < 0)
		return -1;
	if (wish->files != NULL)
		return start_files(run, err);
	if (exec_changes_enter(run, err) < 0)
		return -1;
	spill(run, hold->target);
	return mech->start(hold->session, &command, &run->id, err);
}

static int
launch(struct exec_run *run, struct sbx_err *err)
{
	if (ask(run, err) < 0)
		return -1;
	close_theirs(run);
	run->step = EXEC_RUNNING;
	if (exec_pump_begin(run, err) == 0)
		return 0;
	err->executed = SBX_EXECUTED_UNKNOWN; /* it was asked for */
	return -1;
}

void
exec_run_launch(struct exec_run *run)
{
	if (launch(run, &run->failure) < 0)
		exec_pump_fail(run);
}

int
exec_run_start(struct exec_run *run, struct exec_hold *hold, const struct exec_wish *wish,
	void (*over)(void *arg), void *arg, struct sbx_err *err)
{
	const struct sbx_mech *mech = hold->target->mech;

	run->hold = hold;
	run->wish = wish;
	run->over = over;
	run->arg = arg;
	run->on_terminal = wish->tty != NULL;
	run->outcome.asked_us = sbx_clock_mono_us();
	if (wish->background && mech->background == NULL)
		return sbx_fail(err, SBX_E_UNAVAILABLE,
			"mechanism %s keeps no process beyond its command", mech->name);
	if (wish->tty == NULL && make_ends(run, &hold->target->record, err) < 0)
		return -1;
	if (exec_hold_session(hold, err) < 0 ||
		(wish->tty != NULL && make_terminal(run, wish->tty, err) < 0))
		return -1;
	run->next = hold->runs;
	hold->runs = run;
	if (wish->files == NULL && exec_changes_is_busy(hold)) {
		run->step = EXEC_WAITING;
		return 0;
	}
	return launch(run, err);
}

void
exec_run_close(struct exec_run *run)
{
	struct exec_hold *hold = run->hold;

	for (struct exec_run **at = hold != NULL ? &hold->runs : NULL; at != NULL && *at != NULL;
		at = &(*at)->next)
		if (*at == run) {
			*at = run->next;
			break;
		}
	if (hold != NULL && hold->loop != NULL) {
		exec_changes_leave(run);
		sbx_loop_cancel(hold->loop, run->limit);
		sbx_loop_cancel(hold->loop, run->guard);
	}
	sbx_buf_done(&run->changes.json);
	exec_feed_close(&run->feed);
	for (int i = 0; i < 2; i++)
		exec_stream_close(&run->streams[i]);
	for (int i = 0; i < STREAM_COUNT; i++)
		sbx_scoped_close(&run->ends[i]);
	close_theirs(run);
	exec_run_init(run);
}
