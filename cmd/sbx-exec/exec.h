/*
 * sbx-exec: commands in a live environment, one from the command line or many from a stream of
 * requests. The stages in the order of their doing, each a file: gather (options, intake), open
 * (target, hold), then for each command plan, start, pump (feed, stream, outer) and verdict. serve.c
 * and writer.c are the stream's two ends; a plain command is a stream of one.
 */
#ifndef SBX_EXEC_H
#define SBX_EXEC_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/loop.h"
#include "base/opt.h"
#include "data/cmd_env.h"
#include "data/excerpt.h"
#include "data/request.h"
#include "data/result.h"
#include "mech/mech.h"
#include "mech/tool.h"

/* ---- options.c: the command line */
struct exec_options {
	int raw, exit_code, stream;
	const char *stdin_from; /* "-", FILE or "@TEXT"; NULL: nothing, or our own with raw */
	const char *cwd;
	struct sbx_opt_list env;
	uint64_t timeout_ms, output_bytes; /* 0: not given */
	struct sbx_opt_common common;
};
extern const struct sbx_tool_about exec_about;
int exec_options_check(const struct exec_options *options, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* ---- intake.c: what is asked on the command line */
struct exec_request {
	char env_id[SBX_ENV_ID_SIZE];
	char *const *argv; /* NULL: requests come as a stream */
	int from_stdin; /* the environment was named by a record on stdin */
	struct sbx_buf upstream; /* an error record that came instead of an environment, or empty */
};
/* -1 with upstream filled: err is the failure of the tool before us in the pipeline. */
int exec_intake(const struct exec_options *options, char **operands, struct exec_request *request,
	struct sbx_err *err) __attribute__((warn_unused_result));
void exec_request_done(struct exec_request *request);

/* ---- target.c: the environment, which has to be there and ready */
struct exec_target {
	struct sbx_tool tool;
	struct sbx_env env;
	int tool_open, env_open;
	struct sbx_env_record record;
	char **variables; /* of its spec, NULL-terminated */
	const struct sbx_mech *mech;
};
int exec_target_open(const struct exec_options *options, const char *env_id,
	struct exec_target *target, struct sbx_err *err) __attribute__((warn_unused_result));
void exec_target_close(struct exec_target *target); /* a zeroed one is fine */

/* ---- plan.c: command x environment x configuration; touches nothing */
struct exec_wish { /* a command as it was asked for, by options or by a request; all borrowed */
	const char *id; /* a JSON text; NULL: none */
	char *const *argv;
	const struct sbx_mech_files *files; /* instead of a command; its out_fd is ours to fill */
	char *const *env; /* "NAME=value", NULL-terminated */
	const char *cwd; /* NULL: the workspace */
	uint64_t timeout_ms, output_bytes; /* 0: not given */
	const char *timeout_name; /* what errors call it */
};
struct exec_plan {
	uint64_t limit_ms; /* the command is ended after that */
	enum sbx_reason overrun; /* and why: TIMEOUT or EXPIRED */
	size_t output_bytes; /* kept of each stream */
	struct sbx_cmd_env variables;
};
int exec_plan_make(const struct exec_wish *wish, const struct exec_target *target,
	char *const *caller, struct exec_plan *plan, struct sbx_err *err)
	__attribute__((warn_unused_result));

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

/* ---- feed.c: the command's stdin */
struct exec_feed {
	struct sbx_loop *loop; /* borrowed */
	int wanted; /* 0: /dev/null does */
	struct exec_outer source; /* fd -1: there is only the text */
	int fd; /* our end of the pipe; -1: closed */
	char *chunk; /* read from the source */
	const char *next; /* what goes in next: in chunk, or an option's text */
	size_t length;
	struct sbx_loop_io *reading, *writing;
};
/* A plain command's, by its options. stdin_is_taken: the environment's record came that way. */
int exec_feed_open(const struct exec_options *options, int stdin_is_taken, struct exec_feed *feed,
	struct sbx_err *err) __attribute__((warn_unused_result));
/* Bytes, borrowed until the feed is closed. */
void exec_feed_open_bytes(const void *bytes, size_t length, struct exec_feed *feed);
/* Take over our end of the pipe and begin. */
int exec_feed_start(struct exec_feed *feed, struct sbx_loop *loop, int fd, struct sbx_err *err)
	__attribute__((warn_unused_result));
void exec_feed_stop(struct exec_feed *feed); /* before its loop is freed */
void exec_feed_close(struct exec_feed *feed);

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
	char *chunk;
	size_t chunk_at, chunk_end; /* read and not yet written out */
	struct sbx_loop_io *reading, *writing;
	struct sbx_err failure; /* of writing out; code SBX_OK: none */
};
/* pass_to: 1 or 2, or -1 to keep an excerpt of at most bound_bytes. */
int exec_stream_open(struct exec_stream *stream, int pass_to, size_t bound_bytes,
	struct sbx_err *err) __attribute__((warn_unused_result));
/* Take over our end of the pipe and watch it. */
int exec_stream_start(struct exec_stream *stream, struct sbx_loop *loop, int fd,
	void (*moved)(void *arg), void *arg, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* Nobody writes any more, or nobody who counts: read what the pipe holds now and end it. What our
 * own stdout does not take at once is still to be written by the loop. */
void exec_stream_drain(struct exec_stream *stream);
int exec_stream_is_over(const struct exec_stream *stream); /* read to its end and written out */
void exec_stream_stop(struct exec_stream *stream); /* before its loop is freed */
void exec_stream_close(struct exec_stream *stream);

/* ---- hold.c: our hold on the environment: a loop, a session, and the commands over it */
struct exec_run;
struct exec_hold {
	const struct exec_target *target;
	struct sbx_loop *loop;
	struct sbx_session *session; /* NULL: not open, or the environment died */
	struct sbx_loop_io *events;
	int lost;
	struct exec_run *runs; /* asked for and not over */
	sigset_t held;
	int holding;
	int signal; /* that told us to end; 0: none */
};
/* From here to exec_hold_close() the signals that end us are held: they cancel what runs, and stop
 * the loop when nothing does, or at the second. */
int exec_hold_open(struct exec_hold *hold, const struct exec_target *target, struct sbx_err *err)
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
	int ends[3]; /* our ends of its stdin, stdout and stderr, until the pump takes them */
	struct exec_feed feed;
	struct exec_stream streams[2]; /* stdout, stderr */
	struct sbx_loop_timer *limit;
	struct sbx_loop_timer *guard; /* of the step: killing, draining, delivering takes an end */
	int64_t moved_us, drain_until_us;
	struct exec_outcome outcome;
	struct sbx_err failure; /* why there will be no result; code SBX_OK: there is one */
	void (*over)(void
			*arg); /* called once, last, when it is over; may close and free the run */
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
void exec_run_close(struct exec_run *run); /* when over, or never started; a closed one is fine */
/* pump.c */
int exec_pump_begin(struct exec_run *run, struct sbx_err *err) __attribute__((warn_unused_result));
void exec_pump_event(struct exec_run *run, const struct sbx_mech_event *event);
void exec_pump_end(struct exec_run *run,
	enum sbx_reason reason); /* kill it; the first reason counts */
void exec_pump_hurry(struct exec_run *run); /* it is being ended: wait for nothing more */

/* ---- verdict.c: what to say about it */
/* The result as one line. */
int exec_verdict(const struct exec_target *target, const struct exec_wish *wish,
	struct exec_run *run, int64_t began_us, struct sbx_buf *line, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* A plain command's answer, by its options: the exit status. */
int exec_answer(const struct exec_options *options, const struct exec_target *target,
	const struct exec_wish *wish, struct exec_run *run, int64_t began_us, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* The end of a plain command that has no result: the exit status. */
int exec_fail(const struct exec_options *options, const struct exec_request *request,
	const struct sbx_err *err);

/* ---- files.c: workspace access: what is asked of the mechanism, and its answer as one line */
struct exec_files {
	struct sbx_mech_files files;
	uint64_t limit; /* of what is kept, in bytes */
};
void exec_files_make(const struct sbx_request *request, struct exec_files *files);
int exec_files_answer(const struct sbx_request *request, struct exec_run *run, struct sbx_buf *line,
	struct sbx_err *err) __attribute__((warn_unused_result));

/* ---- writer.c: records to our stdout, none lost and none waited for */
struct exec_writer {
	struct sbx_loop *loop; /* borrowed */
	struct exec_outer outer;
	struct sbx_buf queue;
	struct sbx_loop_io *writing;
	void (*moved)(void *arg); /* called when some of the queue has gone */
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

/* ---- serve.c: requests until the end of stdin: the exit status, or -1 with err */
int exec_serve(struct exec_hold *hold, struct sbx_err *err) __attribute__((warn_unused_result));

/* ---- signals.c: those that end us wait until the command is ended */
void exec_signals_hold(sigset_t *held);
void exec_signals_release(const sigset_t *held);
void exec_signals_die(int signo) __attribute__((noreturn));

#endif
