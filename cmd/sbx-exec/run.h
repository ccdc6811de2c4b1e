/*
 * The parts of sbx-exec that follow commands: our hold on the environment, a run from its start to
 * the end of all that came from it (start, pump), and what a person at a terminal gets of it.
 */
#ifndef SBX_EXEC_RUN_H
#define SBX_EXEC_RUN_H

#include <signal.h>
#include <stdint.h>
#include <termios.h>

#include "bytes.h"
#include "mech/mech.h"
#include "state/snapshot.h"

struct exec_plan;
struct exec_target;
struct exec_wish;
struct exec_walker;

struct exec_run;
struct exec_hold;

/* ---- changes.c, told.c: what a command changed in the workspace */
struct exec_changes { /* of the hold */
	int dir; /* the workspace; -1: not opened, or the mechanism has to look */
	int lock_fd; /* of those who run commands; -1: not opened */
	unsigned running; /* of ours */
	/* The last that ended, while the snapshot is taken. */
	struct exec_run *run;
	void (*told)(struct exec_run *run);
	struct sbx_snap before;
	enum sbx_code unknown; /* why there is no `before`; SBX_OK: there is */
	struct sbx_snapshot_write write;
	struct sbx_snap_take *take;
	struct sbx_loop_timer *timer;
	struct exec_walker *walker; /* where the mechanism takes it; else NULL */
};

/* ---- watch.c: how much the workspace takes up, while commands run */
struct exec_watch { /* of the hold */
	struct sbx_files_measured most; /* more than this is a violation */
	struct sbx_files_measured last;
	int64_t pause_us; /* between two looks */
	int64_t began_us; /* the present one */
	struct sbx_measure *measure; /* where we look ourselves */
	struct exec_walker *walker; /* where the mechanism does */
	struct sbx_buf answer;
	struct sbx_loop_timer *timer;
};
/* Commands run from here to stop(): one that makes it too much is ended, and with it all. */
void exec_watch_start(struct exec_hold *hold);
void exec_watch_stop(struct exec_hold *hold); /* idempotent */
/* The limit that what was measured is over, by name, or NULL. */
const char *exec_watch_judge(const struct exec_hold *hold,
	const struct sbx_files_measured *measured);

struct exec_told { /* of a run */
	int counted; /* among those that run */
	struct sbx_buf json; /* an object for the result; empty: nobody looks */
	int measured;
	uint64_t bytes, inodes; /* of the workspace, then */
};
int exec_changes_is_busy(const struct exec_hold *hold); /* the workspace is being compared */
/* A command is about to be asked for: nobody looks at the tree from here to leave() or tell(). */
int exec_changes_enter(struct exec_run *run, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* It ended, and nothing of it lives: told(run) is called, now or from the loop. */
void exec_changes_tell(struct exec_run *run, void (*told)(struct exec_run *run));
void exec_changes_leave(struct exec_run *run); /* it has no result; idempotent */
void exec_changes_close(struct exec_hold *hold);

/* ---- hold.c: our hold on the environment: a loop, a session, and the commands over it */
struct exec_hold {
	struct exec_target *target; /* borrowed; ready before there is a session */
	struct sbx_loop *loop;
	struct sbx_session *session; /* NULL: not open, or the environment died */
	struct sbx_loop_io *events;
	int lost;
	struct exec_run *runs; /* asked for and not over */
	struct exec_changes changes;
	struct exec_watch watch;
	sigset_t held;
	int holding;
	/* On SIGWINCH, SIGTSTP and SIGCONT, which are held for it as all that would end us are; or NULL. */
	void (*terminal)(void *arg, int signo);
	void *terminal_arg;
	int signal; /* that told us to end; 0: none */
};
/* From here to exec_hold_close() the signals that end us are held: they cancel what runs, and stop
 * the loop when nothing does, or at the second. */
int exec_hold_open(struct exec_hold *hold, struct exec_target *target, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* The session, opened if it is not; again after the environment died. */
int exec_hold_session(struct exec_hold *hold, struct sbx_err *err)
	__attribute__((warn_unused_result));
void exec_hold_close(struct exec_hold *hold); /* ends what runs */

/* ---- start.c, pump.c: a command, until it and all that came from it is over */
struct exec_outcome {
	int start_error; /* errno; 0: it started */
	char stage[24]; /* where it did not start */
	int lost, restarted; /* the environment died; another command's kill took it */
	int status; /* as wait(2) */
	enum sbx_reason forced; /* why we killed it; SBX_REASON_EXITED: we did not */
	int kill_restarted; /* our kill took the whole environment */
	int oom;
	const char *quota; /* the limit of the workspace that it broke; NULL: none */
	int pipes_held;
	int64_t asked_us, started_us, ended_us; /* monotonic; 0: never */
	int has_usage;
	struct sbx_mech_usage usage;
	struct sbx_err trouble; /* ending it was not clean; code SBX_OK: it was */
};
enum exec_step {
	EXEC_IDLE = 0,
	EXEC_WAITING, /* to be asked for, until the workspace is compared */
	EXEC_RUNNING,
	EXEC_DRAINING,
	EXEC_COMPARING, /* the workspace with what it was */
	EXEC_DELIVERING,
	EXEC_OVER
};
struct exec_run {
	struct exec_run *next; /* of the hold's */
	struct exec_hold *hold;
	const struct exec_plan *plan; /* borrowed until it is closed */
	uint32_t id;
	enum exec_step step;
	int is_files; /* work on the workspace, and no command */
	int on_terminal; /* stream 0 and the feed are the two directions of one */
	const struct exec_wish *wish; /* borrowed, as the plan */
	int ends[3]; /* our ends of its stdin, stdout and stderr, until the pump takes them */
	int theirs[3]; /* and the command's, until it has them */
	struct exec_feed feed;
	struct exec_stream streams[2]; /* stdout, stderr */
	struct sbx_loop_timer *limit;
	struct sbx_loop_timer *guard; /* of the step: killing, draining, delivering takes an end */
	int64_t moved_us, drain_until_us;
	struct exec_outcome outcome;
	struct exec_told changes;
	struct sbx_err failure; /* why there will be no result; code SBX_OK: there is one */
	void (*started)(void *arg); /* it runs; NULL: nobody asks */
	/* Called once, last, when it is over; may close and free the run. */
	void (*over)(void *arg);
	void *arg;
};
void exec_run_init(struct exec_run *run);
/* Our own side of its outputs: passed on to our 1 and 2 with `raw`, else kept as the plan says. */
int exec_run_open(struct exec_run *run, const struct exec_plan *plan, int raw, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* start.c: ask for it. From success on, over(arg) is called from the loop. */
int exec_run_start(struct exec_run *run, struct exec_hold *hold, const struct exec_wish *wish,
	void (*over)(void *arg), void *arg, struct sbx_err *err)
	__attribute__((warn_unused_result));
void exec_run_launch(struct exec_run *run); /* one that waits */
/* Of the terminal that it has. */
void exec_run_resize(struct exec_run *run, const struct sbx_mech_tty *size, struct sbx_err *err);
void exec_run_close(struct exec_run *run); /* when over, or never started; a closed one is fine */
/* pump.c */
int exec_pump_begin(struct exec_run *run, struct sbx_err *err) __attribute__((warn_unused_result));
void exec_pump_event(struct exec_run *run, const struct sbx_mech_event *event);
void exec_pump_end(struct exec_run *run,
	enum sbx_reason reason); /* kill it; the first reason counts */
/* To a command that runs: SBX_E_NOT_FOUND where none does (any more). */
int exec_pump_signal(struct exec_run *run, int signo, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* It could not be asked for, as its failure says. */
void exec_pump_fail(struct exec_run *run);
void exec_pump_hurry(struct exec_run *run); /* it is being ended: wait for nothing more */

/* ---- tty.c: the caller's terminal, with --tty */
struct exec_tty {
	int entered; /* `was` is to be restored */
	struct termios was;
};
int exec_tty_check(struct sbx_err *err) __attribute__((warn_unused_result));
void exec_tty_size(struct sbx_mech_tty *size);
/* "TERM=..." of a sound name: 1, else 0, and then it is none of our variables any more. */
int exec_tty_term(const char *term, char *variable, size_t size);
int exec_tty_enter(struct exec_tty *tty, struct sbx_err *err) __attribute__((warn_unused_result));
/* By SIGWINCH or SIGCONT, or 0: it has started; or SIGTSTP: stop until we are continued. */
void exec_tty_changed(struct exec_tty *tty, struct exec_run *run, int signo);
void exec_tty_leave(struct exec_tty *tty); /* idempotent */

/* ---- meter.c: a line for a person, while a plain command runs */
struct exec_meter {
	const struct exec_hold *hold; /* borrowed, as is run; NULL: not started */
	const struct exec_run *run;
	struct sbx_loop_timer *timer;
	int shown;
};
void exec_meter_start(struct exec_meter *meter, const struct exec_hold *hold,
	const struct exec_run *run); /* does nothing where stderr is no terminal */
void exec_meter_stop(struct exec_meter *meter); /* wipes it; before the loop is freed */

/* ---- signals.c: those that end us wait until the command is ended */
/* terminal: one of ours is in raw mode meanwhile, so more of them, and those that a terminal needs. */
void exec_signals_hold(sigset_t *held, int terminal);
void exec_signals_release(const sigset_t *held);
void exec_signals_die(int signo) __attribute__((noreturn));

#endif
