/*
 * sbx-exec: one command in a live environment. The stages in the order of their doing, each a file:
 * gather (options, intake), open (target, feed, plan), start, pump (stream, outer), verdict.
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
#include "data/result.h"
#include "mech/mech.h"
#include "mech/tool.h"

/* ---- options.c: the command line */
struct exec_options {
	int raw, exit_code;
	const char *stdin_from; /* "-", FILE or "@TEXT"; NULL: nothing, or our own with raw */
	const char *cwd;
	struct sbx_opt_list env;
	uint64_t timeout_ms, output_bytes; /* 0: not given */
	struct sbx_opt_common common;
};
extern const struct sbx_tool_about exec_about;
int exec_options_check(const struct exec_options *options, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* ---- intake.c: what is asked */
struct exec_request {
	char env_id[SBX_ENV_ID_SIZE];
	char *const *argv;
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
	int64_t left_ms; /* until it expires, as it was when it was opened; more than 0 */
};
int exec_target_open(const struct exec_options *options, const char *env_id,
	struct exec_target *target, struct sbx_err *err) __attribute__((warn_unused_result));
void exec_target_close(struct exec_target *target); /* a zeroed one is fine */

/* ---- plan.c: request x environment x options; touches nothing */
struct exec_plan {
	uint64_t limit_ms; /* the command is ended after that */
	enum sbx_reason overrun; /* and why: TIMEOUT or EXPIRED */
	size_t output_bytes; /* kept of each stream */
	struct sbx_cmd_env variables;
};
int exec_plan_make(const struct exec_options *options, const struct exec_request *request,
	const struct exec_target *target, char *const *caller, struct exec_plan *plan,
	struct sbx_err *err) __attribute__((warn_unused_result));

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
/* stdin_is_taken: the environment's record came that way. */
int exec_feed_open(const struct exec_options *options, int stdin_is_taken, struct exec_feed *feed,
	struct sbx_err *err) __attribute__((warn_unused_result));
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

/* ---- signals.c: those that end us wait until the command is ended */
void exec_signals_hold(sigset_t *held);
void exec_signals_release(const sigset_t *held);
void exec_signals_die(int signo) __attribute__((noreturn));

/* ---- start.c: the command, running, and our hold on it */
struct exec_run {
	const struct sbx_mech *mech;
	struct sbx_session *session;
	struct sbx_loop *loop;
	uint32_t id;
	int64_t asked_us; /* monotonic */
	int ends[3]; /* our ends of its stdin, stdout and stderr, until the pump takes them */
	struct exec_feed feed;
	struct exec_stream streams[2]; /* stdout, stderr */
	sigset_t held;
	int holding;
};
void exec_run_init(struct exec_run *run);
/* Our own side of its streams: what feeds its stdin, where its outputs go. */
int exec_run_open(const struct exec_options *options, const struct exec_request *request,
	const struct exec_plan *plan, struct exec_run *run, struct sbx_err *err)
	__attribute__((warn_unused_result));
int exec_start(const struct exec_request *request, const struct exec_target *target,
	const struct exec_plan *plan, const char *cwd, struct exec_run *run, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* Ends the command if it still runs, and lets signals through again. Keeps the excerpts. */
void exec_run_stop(struct exec_run *run);
void exec_run_close(struct exec_run *run);

/* ---- pump.c: until the command and all that came from it is over */
struct exec_outcome {
	int start_error; /* errno; 0: it started */
	char stage[24]; /* where it did not start */
	int lost, restarted; /* the environment died; another command's kill took it */
	int status; /* as wait(2) */
	enum sbx_reason forced; /* why we killed it; SBX_REASON_EXITED: we did not */
	int kill_restarted; /* our kill took the whole environment */
	int oom;
	int pipes_held;
	int signal; /* that told us to end; 0: none */
	int64_t started_us, ended_us; /* monotonic; 0: never */
	int has_usage;
	struct sbx_mech_usage usage;
	struct sbx_err trouble; /* ending it was not clean; code SBX_OK: it was */
};
int exec_pump(struct exec_run *run, const struct exec_plan *plan, struct exec_outcome *outcome,
	struct sbx_err *err) __attribute__((warn_unused_result));

/* ---- verdict.c: what to say about it */
int exec_answer(const struct exec_options *options, const struct exec_request *request,
	const struct exec_target *target, const struct exec_plan *plan, struct exec_run *run,
	const struct exec_outcome *outcome, int64_t began_us, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* The end of a run that has no result: the exit status. */
int exec_fail(const struct exec_options *options, const struct exec_request *request,
	const struct sbx_err *err);

#endif
