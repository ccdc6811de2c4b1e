/*
 * What the tools that work on environments have in common: how their main begins, what they open,
 * and how they answer. The flow of a tool is its own.
 */
#ifndef SBX_MECH_TOOL_H
#define SBX_MECH_TOOL_H

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"
#include "data/config.h"
#include "mech/mech.h"
#include "state/root.h"

/* A tool as its main describes it; all static. */
struct sbx_tool_about {
	const char *name;
	const char *const *usage; /* for --help, NULL-terminated, without the name */
	const struct sbx_opt *table;
	size_t common_offset; /* of struct sbx_opt_common in the options struct */
};

/*
 * The first act of every main: 0, 1 and 2 exist, SIGPIPE is ignored, options are parsed, --help and
 * --version are answered, the log is set up. Answers the index of the first operand, SBX_TOOL_DONE
 * when there was only something to print, or -1 with SBX_E_USAGE, or SBX_E_IO where stdout was
 * closed: what a tool has to say would be lost, so it does nothing.
 */
#define SBX_TOOL_DONE (-2)
int sbx_tool_begin(const struct sbx_tool_about *about, int argc, char **argv, void *options,
	struct sbx_err *err) __attribute__((warn_unused_result));

/* Configuration and state directory, and both with the helpers' directory as a mechanism's host. */
struct sbx_tool {
	struct sbx_config config;
	struct sbx_state state;
	struct sbx_mech_host host; /* borrows the two above: the struct must not move */
};

/*
 * Open what the common options name. libexec is $SBX_LIBEXEC, else where it was installed. The
 * caller calls close() after success only.
 */
int sbx_tool_open(const struct sbx_opt_common *common, struct sbx_tool *tool, struct sbx_err *err)
	__attribute__((warn_unused_result));
void sbx_tool_close(struct sbx_tool *tool);

/*
 * While something is half made or half gone, SIGINT, SIGTERM and SIGHUP wait: defer() holds them
 * back (children inherit the mask), deferred() says whether one has come that would end us, and
 * undefer() lets it: the tool dies by it there.
 */
void sbx_tool_defer(void);
int sbx_tool_deferred(void);
void sbx_tool_undefer(void);

/* Records (whole lines) to stdout, all of them: 0, or -1 with SBX_E_IO ("stdout: ..."). */
int sbx_tool_print(const struct sbx_buf *lines, struct sbx_err *err)
	__attribute__((warn_unused_result));

/*
 * The end of a tool that failed: the error record on stdout (best effort) with the request's id or
 * NULL, its text on stderr. Answers the exit status. A --raw caller, whose stdout is the command's,
 * uses sbx_log_err() and sbx_code_exit() instead.
 */
int sbx_tool_fail(const struct sbx_err *err, const char *id);

#endif
