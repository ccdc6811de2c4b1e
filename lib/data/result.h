/* sbx-result(5): the verdict over one command, as a record. */
#ifndef SBX_DATA_RESULT_H
#define SBX_DATA_RESULT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum sbx_reason {
	SBX_REASON_EXITED = 0,
	SBX_REASON_SIGNAL,
	SBX_REASON_TIMEOUT,
	SBX_REASON_MEMORY,
	SBX_REASON_QUOTA,
	SBX_REASON_CANCELLED,
	SBX_REASON_EXPIRED,
	SBX_REASON_RESTARTED,
	SBX_REASON_START_FAILED,
	SBX_REASON_LOST,
	SBX_REASON_COUNT
};
extern const char *const sbx_reason_names[];

/* One captured stream: the first and the last bytes that were kept, and how many there were. */
struct sbx_result_stream {
	uint64_t bytes; /* written by the command */
	uint64_t kept; /* of them in head and tail */
	const char *head, *tail; /* borrowed; tail NULL when nothing was left out */
	size_t head_length, tail_length;
	const char *spool; /* name of the file in env/<id>/spool that has more of it; NULL: none */
	uint64_t spooled; /* its first bytes that are there */
};

/*
 * If what was kept is text but for code points that were cut in two where bytes are left out, leave
 * those code points out as well, and count `kept` anew. Anything else stays as it is.
 */
void sbx_result_stream_trim(struct sbx_result_stream *stream);

struct sbx_result {
	const char *id; /* of the request, a JSON text; NULL for a plain command */
	const char *env;
	char *const *argv;
	enum sbx_reason reason;
	int exit_code; /* -1: none */
	int signal; /* 0: none */
	int oom; /* the memory limit killed a process of it */
	const char *limit; /* which limit acted: "memory", "pids", "wall_time", ...; NULL */
	uint64_t limit_value;
	const char *error; /* start_failed: what and why */
	struct sbx_result_stream out, err;
	const char *changes; /* in the workspace: a JSON object; NULL: nobody looked */
	int has_usage;
	uint64_t wall_ms, cpu_ms, peak_memory_bytes;
	int usage_exact;
	int has_workspace; /* it was measured when the command had ended */
	uint64_t workspace_bytes, workspace_inodes;
	int pipes_held; /* a descendant kept an output pipe open past the end */
	uint64_t killed; /* descendants that were still running at the end; 0 or 1 ("some") */
	int restarted;
	const char *
		background; /* of processes that it left by request: "b0"; "": none; NULL: not asked */
	const char *const *enforced; /* NULL-terminated */
	uint64_t start_us, run_us, total_us; /* timing_us */
};

/*
 * The record as one line of at most 1 MiB. Streams are {bytes, kept, truncated, head_bytes, left_out,
 * spool, spooled, text | base64}, the four before the last only where something was left out, and spool
 * only where it is spooled. Text is cut only at code
 * points and has the marker "\n[... N bytes left out ...]\n" between head and tail ("left out, spooled as NAME"); base64 has none.
 * Streams that would not fit are cut further, argv is echoed up to 16 KiB. -1 with SBX_E_TOO_LARGE
 * if it cannot be made to fit.
 */
int sbx_result_record(const struct sbx_result *result, struct sbx_buf *out, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* As --exit-code answers: the code, 128+signal, 124, 125, 126, 127. */
int sbx_result_status(const struct sbx_result *result);

#endif
