/*
 * The parts of sbx-exec that move bytes and follow commands, all driven by one loop: our own stdin and
 * stdout (outer, reader, writer), a command's three streams (feed, stream), our hold on the
 * environment, and a run from its start to the end of all that came from it (start, pump).
 */
#ifndef SBX_EXEC_FLOW_H
#define SBX_EXEC_FLOW_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>
#include <termios.h>

#include "base/buf.h"
#include "base/loop.h"
#include "data/excerpt.h"
#include "mech/mech.h"
#include "state/spool.h"

struct exec_options;
struct exec_plan;
struct exec_target;
struct exec_wish;

/* ---- outer.c: one of our own 0, 1 and 2, in a form that never blocks */
struct exec_outer {
	int fd; /* owned */
	int is_socket;
	int may_block; /* could not be opened anew: asked before each use, and used in small pieces */
};
int exec_outer_open(int fd, int access, struct exec_outer *outer, struct sbx_err *err)
	__attribute__((warn_unused_result));
void exec_outer_close(struct exec_outer *outer);
/* As read(2) and write(2); EAGAIN instead of waiting. */
ssize_t exec_outer_read(const struct exec_outer *outer, void *bytes, size_t length);
ssize_t exec_outer_write(const struct exec_outer *outer, const void *bytes, size_t length);

/* ---- feed.c: what goes into a command's stdin, or into a file */
struct exec_feed {
	struct sbx_loop *loop; /* borrowed */
	int wanted; /* 0: /dev/null does */
	int framed; /* in chunks, as state/workspace.h has it: a broken end is told from a right one */
	struct exec_outer source; /* fd -1: there is none */
	int fd; /* our end of the pipe; -1: not started, or nobody reads it any more */
	struct sbx_buf queue; /* from queue_at on: goes in next */
	size_t queue_at;
	int ended; /* no more comes */
	int end_framed; /* and it has been told so */
	uint64_t given, taken; /* bytes of the queue, ever */
	void (*moved)(void *arg); /* called when taken has grown, or fd is gone; may be NULL */
	void *arg;
	struct sbx_loop_io *reading, *writing;
};
/* A plain command's, by its options. stdin_is_taken: the environment's record came that way. */
int exec_feed_open(const struct exec_options *options, int stdin_is_taken, struct exec_feed *feed,
	struct sbx_err *err) __attribute__((warn_unused_result));
void exec_feed_open_queue(struct exec_feed *feed, int framed); /* bytes come by give() alone */
int exec_feed_open_stdin(struct exec_feed *feed, int framed, struct sbx_err *err)
	__attribute__((warn_unused_result)); /* ours, to its end */
/* Before or after the start. SBX_E_BUSY: too much waits already; SBX_E_NOT_FOUND: nobody reads it. */
int exec_feed_give(struct exec_feed *feed, const void *bytes, size_t length, struct sbx_err *err)
	__attribute__((warn_unused_result));
void exec_feed_end(struct exec_feed *feed); /* no more is given */
/* Take over our end of the pipe and begin. */
int exec_feed_start(struct exec_feed *feed, struct sbx_loop *loop, int fd, struct sbx_err *err)
	__attribute__((warn_unused_result));
void exec_feed_stop(struct exec_feed *feed); /* before its loop is freed */
void exec_feed_close(struct exec_feed *feed);

/* ---- spill.c: the whole of an output that is longer than what is kept of it */
struct exec_spill {
	const struct sbx_env *env; /* borrowed; NULL: nothing is spooled */
	const char *kind; /* static */
	uint64_t most_bytes, total_bytes; /* of this output, of the environment's spool */
	uint64_t bytes; /* there */
	int begun, fd; /* -1: none, or it could not be written */
	char name[SBX_SPOOL_NAME_SIZE];
};
/* Bytes that come next, before the excerpt takes them. */
void exec_spill_add(struct exec_spill *spill, const struct sbx_excerpt *excerpt, const char *bytes,
	size_t length);
void exec_spill_close(struct exec_spill *spill);

/* ---- stream.c: one of the command's outputs, kept as an excerpt or passed on */
struct exec_stream {
	struct sbx_loop *loop; /* borrowed */
	void (*moved)(void *arg); /* called after each step */
	void *arg;
	int fd; /* our end of the pipe; -1: at its end */
	int draining; /* the command is over: take what is there, wait for nothing more */
	size_t left; /* while draining: bytes that were there when it began */
	int pass_on;
	struct exec_outer outer; /* where to, with pass_on */
	struct sbx_excerpt excerpt; /* without */
	struct exec_spill spill;
	void (*tap)(void *arg, const char *bytes, size_t length); /* sees what is kept, or NULL */
	void *tap_arg;
	int paused; /* nothing is read, until it drains */
	char *chunk;
	size_t chunk_at, chunk_end; /* read and not yet written out */
	struct sbx_loop_io *reading, *writing;
	struct sbx_err failure; /* of writing out; code SBX_OK: none */
	int gone; /* our reader is, which is no failure */
};
/* pass_to: 1 or 2, or -1 to keep an excerpt of at most bound_bytes. */
int exec_stream_open(struct exec_stream *stream, int pass_to, size_t bound_bytes,
	struct sbx_err *err) __attribute__((warn_unused_result));
/* Take over our end of the pipe and watch it. */
int exec_stream_start(struct exec_stream *stream, struct sbx_loop *loop, int fd,
	void (*moved)(void *arg), void *arg, struct sbx_err *err)
	__attribute__((warn_unused_result));
void exec_stream_pause(struct exec_stream *stream, int paused);
/* Nobody writes any more, or nobody who counts: read what the pipe holds now and end it. What our
 * own stdout does not take at once is still to be written by the loop. */
void exec_stream_drain(struct exec_stream *stream);
int exec_stream_is_over(const struct exec_stream *stream); /* read to its end and written out */
void exec_stream_stop(struct exec_stream *stream); /* before its loop is freed */
void exec_stream_close(struct exec_stream *stream);

/* ---- hold.c: our hold on the environment: a loop, a session, and the commands over it */
struct exec_run;
struct exec_hold {
	struct exec_target *target; /* borrowed; ready before there is a session */
	struct sbx_loop *loop;
	struct sbx_session *session; /* NULL: not open, or the environment died */
	struct sbx_loop_io *events;
	int lost;
	struct exec_run *runs; /* asked for and not over */
	sigset_t held;
	int holding;
	void (*terminal)(void *arg); /* on SIGWINCH and SIGCONT, which are held for it; or NULL */
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
	int pipes_held;
	int64_t asked_us, started_us, ended_us; /* monotonic; 0: never */
	int has_usage;
	struct sbx_mech_usage usage;
	struct sbx_err trouble; /* ending it was not clean; code SBX_OK: it was */
};
enum exec_step { EXEC_IDLE = 0, EXEC_RUNNING, EXEC_DRAINING, EXEC_DELIVERING, EXEC_OVER };
struct exec_run {
	struct exec_run *next; /* of the hold's */
	struct exec_hold *hold;
	const struct exec_plan *plan; /* borrowed until it is closed */
	uint32_t id;
	enum exec_step step;
	int takes_files; /* workspace access that takes bytes */
	int ends[3]; /* our ends of its stdin, stdout and stderr, until the pump takes them */
	struct exec_feed feed;
	struct exec_stream streams[2]; /* stdout, stderr */
	struct sbx_loop_timer *limit;
	struct sbx_loop_timer *guard; /* of the step: killing, draining, delivering takes an end */
	int64_t moved_us, drain_until_us;
	struct exec_outcome outcome;
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
void exec_pump_hurry(struct exec_run *run); /* it is being ended: wait for nothing more */

/* ---- tty.c: the caller's terminal, with --tty */
struct exec_tty {
	int raw; /* `was` is to be restored */
	struct termios was;
};
int exec_tty_check(struct sbx_err *err) __attribute__((warn_unused_result));
void exec_tty_size(struct sbx_mech_tty *size);
/* "TERM=..." of a sound name: 1, else 0. */
int exec_tty_term(const char *term, char *variable, size_t size);
int exec_tty_enter(struct exec_tty *tty, struct sbx_err *err) __attribute__((warn_unused_result));
void exec_tty_changed(struct exec_tty *tty, struct exec_run *run); /* SIGWINCH, SIGCONT */
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

/* ---- writer.c: records to our stdout, none lost and none waited for */
struct exec_writer {
	struct sbx_loop *loop; /* borrowed */
	struct exec_outer outer;
	struct sbx_buf queue;
	struct sbx_loop_io *writing;
	void (*moved)(void *arg); /* called when the queue has grown or shrunk */
	void *arg;
	struct sbx_err failure; /* code SBX_OK: none */
};
int exec_writer_open(struct exec_writer *writer, struct sbx_loop *loop, void (*moved)(void *arg),
	void *arg, struct sbx_err *err) __attribute__((warn_unused_result));
void exec_writer_put(struct exec_writer *writer, const struct sbx_buf *lines);
void exec_writer_close(struct exec_writer *writer);

/* ---- reader.c: lines from our stdin, each at most 1 MiB */
struct exec_reader {
	struct sbx_loop *loop; /* borrowed */
	struct exec_outer outer;
	struct sbx_buf line;
	size_t seen; /* of it without a newline */
	int skipping; /* the rest of a line that was too long */
	int paused, ended;
	struct sbx_loop_io *reading;
	struct sbx_loop_timer *again; /* a file cannot be watched */
	/* A line without its newline; NULL: one that was too long; once more with ended set at the end. */
	void (*take)(void *arg, const char *line, size_t length);
	void *arg;
};
int exec_reader_open(struct exec_reader *reader, struct sbx_loop *loop,
	void (*take)(void *arg, const char *line, size_t length), void *arg, struct sbx_err *err)
	__attribute__((warn_unused_result));
void exec_reader_pause(struct exec_reader *reader, int paused); /* take no more lines for now */
void exec_reader_close(struct exec_reader *reader);

/* ---- signals.c: those that end us wait until the command is ended */
void exec_signals_hold(sigset_t *held, int terminal); /* terminal: SIGWINCH and SIGCONT, too */
void exec_signals_release(const sigset_t *held);
void exec_signals_die(int signo) __attribute__((noreturn));

#endif
