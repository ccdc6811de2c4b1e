/*
 * sbx-exec: commands in a live environment, one from the command line or many from a stream of
 * requests. The stages in the order of their doing, each a file: gather (options, intake), open
 * (target, hold), then for each command plan, start, pump (feed, stream, outer) and verdict. serve.c
 * and writer.c are the stream's two ends; a plain command is a stream of one.
 */
#ifndef SBX_EXEC_H
#define SBX_EXEC_H

#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/opt.h"
#include "data/cmd_env.h"
#include "data/request.h"
#include "data/result.h"
#include "data/spec.h"
#include "mech/mech.h"
#include "mech/tool.h"

/* ---- options.c: the command line */
enum exec_on_eof { EXEC_ON_EOF_FINISH = 0, EXEC_ON_EOF_CANCEL };
struct exec_options {
	int raw, exit_code, stream;
	int on_eof; /* enum exec_on_eof */
	int release;
	/* One of them instead of a command. */
	const char *get, *put, *ls, *authorize, *tar_in, *tar_out;
	int recursive;
	int tty;
	const char *spec; /* a file, instead of an environment that is there */
	int background, list_background;
	const char *end_background;
	const char *stdin_from; /* "-", FILE or "@TEXT"; NULL: nothing, or our own with raw */
	const char *cwd;
	struct sbx_opt_list env;
	uint64_t timeout_ms, output_bytes; /* 0: not given */
	struct sbx_opt_common common;
};
extern const struct sbx_tool_about exec_about;
/* Whether the workspace is asked for, and no command. */
int exec_options_access(const struct exec_options *options);
/* Or what background commands left. */
int exec_options_background(const struct exec_options *options);
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

/* ---- target.c: the environment, which has to be there and ready, or is made when it is needed */
struct exec_target {
	struct sbx_tool tool;
	struct sbx_spec spec; /* with --spec */
	struct sbx_env env;
	int tool_open, env_open;
	struct sbx_env_record record;
	char **variables; /* of its spec, NULL-terminated */
	const struct sbx_mech *mech;
};
/* argv: of main, should we have to run again in a scope of our own (mech/provision.h). */
int exec_target_open(const struct exec_options *options, const char *env_id, char **argv,
	struct exec_target *target, struct sbx_err *err) __attribute__((warn_unused_result));
/* From here on the rest of the struct is there. With --spec it provisions, once. */
int exec_target_ready(struct exec_target *target, struct sbx_err *err)
	__attribute__((warn_unused_result));
void exec_target_close(struct exec_target *target); /* a zeroed one is fine */

struct exec_run;
struct exec_hold;

/* ---- plan.c: command x environment x configuration; touches nothing */
struct exec_wish { /* a command as it was asked for, by options or by a request; all borrowed */
	const char *id; /* a JSON text; NULL: none */
	char *const *argv;
	const struct sbx_mech_files *files; /* instead of a command; its out_fd is ours to fill */
	char *const *env; /* "NAME=value", NULL-terminated */
	const char *cwd; /* NULL: the workspace */
	uint64_t timeout_ms, output_bytes; /* 0: not given */
	const char *timeout_name; /* what errors call it */
	int background;
	const struct sbx_mech_tty *tty; /* NULL: none */
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

/* ---- background.c: what background commands left */
int exec_background_parse(const char *name, const char *what, int *number, struct sbx_err *err)
	__attribute__((warn_unused_result)); /* "b0" */
/* One record of all of them. */
int exec_background_list(struct exec_hold *hold, const char *id, struct sbx_buf *line,
	struct sbx_err *err) __attribute__((warn_unused_result));
int exec_background_end(struct exec_hold *hold, int number, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* What the options ask for: 0 and a record, or -1. */
int exec_background(const struct exec_options *options, struct exec_hold *hold, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* ---- files.c: workspace access: what is asked of the mechanism, and its answer as one line */
struct exec_files {
	struct sbx_mech_files files;
	uint64_t limit; /* of what is kept, in bytes */
};
void exec_files_make(const struct sbx_request *request, const struct sbx_limits *limits,
	struct exec_files *files);
/* Whether it was done, or was too large to be done whole; else why not. */
struct exec_outcome;
int exec_files_check(const struct sbx_files_want *want, const struct exec_outcome *outcome,
	struct sbx_err *err) __attribute__((warn_unused_result));
int exec_files_answer(const struct sbx_request *request, struct exec_run *run, struct sbx_buf *line,
	struct sbx_err *err) __attribute__((warn_unused_result));

/* ---- serve.c: requests until the end of stdin: the exit status, or -1 with err */
int exec_serve(const struct exec_options *options, struct exec_hold *hold, struct sbx_err *err)
	__attribute__((warn_unused_result));

#endif
