/*
 * The verdict over one command as one line. What the command printed is a stranger's: it is quoted,
 * bounded, and never decides how the record reads.
 */
#include "data/result.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "data/json.h"
#include "data/json_out.h"

#define ARGV_BYTES_MAX (16 * 1024)

const char *const sbx_reason_names[] = {
	[SBX_REASON_EXITED] = "exited",
	[SBX_REASON_SIGNAL] = "signal",
	[SBX_REASON_TIMEOUT] = "timeout",
	[SBX_REASON_MEMORY] = "memory",
	[SBX_REASON_QUOTA] = "quota",
	[SBX_REASON_CANCELLED] = "cancelled",
	[SBX_REASON_EXPIRED] = "expired",
	[SBX_REASON_RESTARTED] = "restarted",
	[SBX_REASON_START_FAILED] = "start_failed",
	[SBX_REASON_LOST] = "lost",
	[SBX_REASON_COUNT] = NULL,
};
_Static_assert(sizeof(sbx_reason_names) / sizeof(char *) == SBX_REASON_COUNT + 1,
	"a name for every reason");

void
sbx_result_stream_trim(struct sbx_result_stream *stream)
{
	size_t head = stream->head_length, skip = 0;

	if (stream->tail != NULL) {
		head = sbx_utf8_floor(stream->head, head);
		skip = sbx_utf8_ceil(stream->tail, stream->tail_length, 0);
		if (sbx_utf8_valid(stream->head, head) &&
			sbx_utf8_valid(stream->tail + skip, stream->tail_length - skip)) {
			stream->head_length = head;
			stream->tail += skip;
			stream->tail_length -= skip;
		}
	}
	stream->kept = stream->head_length + stream->tail_length;
}

/* The same stream with at most `most` bytes kept, half of them from each end. */
static struct sbx_result_stream
shortened(const struct sbx_result_stream *stream, size_t most)
{
	struct sbx_result_stream cut = *stream;
	size_t half = most / 2;

	if (cut.head == NULL)
		cut.head = ""; /* a stream that was never captured */
	if (stream->tail != NULL) {
		if (cut.head_length > half)
			cut.head_length = half;
		if (cut.tail_length > half) {
			cut.tail += cut.tail_length - half;
			cut.tail_length = half;
		}
	} else if (stream->head_length > most) {
		cut.head_length = half;
		cut.tail = stream->head + stream->head_length - half;
		cut.tail_length = half;
	}
	sbx_result_stream_trim(&cut);
	return cut;
}

static void
stream_out(struct sbx_json_out *out, const char *key, const struct sbx_result_stream *whole,
	size_t most)
{
	struct sbx_result_stream stream = shortened(whole, most);
	uint64_t left_out = stream.bytes - stream.kept;
	SBX_AUTO_BUF text = SBX_BUF_INIT(stream.kept + 192);

	assert(stream.bytes >= stream.kept);
	sbx_json_out_object(out, key);
	sbx_json_out_u64(out, "bytes", stream.bytes);
	sbx_json_out_u64(out, "kept", stream.kept);
	sbx_json_out_bool(out, "truncated", left_out > 0);
	if (left_out > 0) {
		sbx_json_out_u64(out, "head_bytes", stream.head_length);
		sbx_json_out_u64(out, "left_out", left_out);
	}
	if (left_out > 0 && stream.spool != NULL) {
		sbx_json_out_string(out, "spool", stream.spool);
		sbx_json_out_u64(out, "spooled", stream.spooled);
	}
	if (stream.tail == NULL) {
		sbx_json_out_bytes(out, stream.head, stream.head_length);
	} else {
		(void)sbx_buf_add(&text, stream.head, stream.head_length);
		if (sbx_utf8_valid(stream.head, stream.head_length) &&
			sbx_utf8_valid(stream.tail, stream.tail_length))
			(void)sbx_buf_printf(&text, "\n[... %" PRIu64 " bytes left out%s%s ...]\n",
				left_out, stream.spool != NULL ? ", spooled as " : "",
				stream.spool != NULL ? stream.spool : "");
		(void)sbx_buf_add(&text, stream.tail, stream.tail_length);
		sbx_json_out_bytes(out, sbx_buf_str(&text), text.length);
	}
	sbx_json_out_end(out);
}

/* An echo for the reader of a log: whole arguments up to the bound, the rest is said to be missing. */
static void
argv_out(struct sbx_json_out *out, char *const *argv)
{
	size_t total = 0;
	int cut = 0;

	sbx_json_out_array(out, "argv");
	for (; argv != NULL && *argv != NULL && !cut; argv++) {
		size_t length = strlen(*argv);

		total += length + 1;
		if (total > ARGV_BYTES_MAX) {
			cut = 1;
		} else if (sbx_utf8_valid(*argv, length)) {
			sbx_json_out_string_n(out, NULL, *argv, length);
		} else {
			sbx_json_out_object(out, NULL);
			sbx_json_out_bytes(out, *argv, length);
			sbx_json_out_end(out);
		}
	}
	sbx_json_out_end(out);
	if (cut)
		sbx_json_out_bool(out, "argv_truncated", 1);
}

/* How it ended. */
static void
fate_out(struct sbx_json_out *out, const struct sbx_result *result)
{
	sbx_json_out_string(out, "reason", sbx_reason_names[result->reason]);
	/* The status of a program that never ran is ours, not its own. */
	if (result->exit_code >= 0 && result->reason != SBX_REASON_START_FAILED)
		sbx_json_out_i64(out, "exit_code", result->exit_code);
	else
		sbx_json_out_null(out, "exit_code");
	if (result->signal > 0)
		sbx_json_out_i64(out, "signal", result->signal);
	else
		sbx_json_out_null(out, "signal");
	sbx_json_out_bool(out, "oom", result->oom);
	sbx_json_out_string(out, "limit", result->limit);
	if (result->limit != NULL)
		sbx_json_out_u64(out, "limit_value", result->limit_value);
	if (result->error != NULL)
		sbx_json_out_string(out, "error", result->error);
}

/* What it took, what was left of it, and under which layers. */
static void
account_out(struct sbx_json_out *out, const struct sbx_result *result)
{
	if (result->has_usage) {
		sbx_json_out_object(out, "usage");
		sbx_json_out_u64(out, "wall_ms", result->wall_ms);
		sbx_json_out_u64(out, "cpu_ms", result->cpu_ms);
		sbx_json_out_u64(out, "peak_memory_bytes", result->peak_memory_bytes);
		if (result->has_workspace) {
			sbx_json_out_u64(out, "workspace_bytes", result->workspace_bytes);
			sbx_json_out_u64(out, "workspace_inodes", result->workspace_inodes);
		}
		sbx_json_out_bool(out, "exact", result->usage_exact);
		sbx_json_out_end(out);
	}
	sbx_json_out_bool(out, "pipes_held", result->pipes_held);
	if (result->background != NULL)
		sbx_json_out_string(out, "background",
			result->background[0] != '\0' ? result->background : NULL);
	sbx_json_out_u64(out, "killed", result->killed);
	sbx_json_out_bool(out, "restarted", result->restarted);
	sbx_json_out_array(out, "enforced");
	for (const char *const *e = result->enforced; e != NULL && *e != NULL; e++)
		sbx_json_out_string(out, NULL, *e);
	sbx_json_out_end(out);
	sbx_json_out_object(out, "timing_us");
	sbx_json_out_u64(out, "start", result->start_us);
	sbx_json_out_u64(out, "run", result->run_us);
	sbx_json_out_u64(out, "total", result->total_us);
	sbx_json_out_end(out);
}

static int
write_line(const struct sbx_result *result, size_t most, struct sbx_buf *line, struct sbx_err *err)
{
	struct sbx_json_out out;

	sbx_json_out_init(&out, line);
	sbx_json_out_object(&out, NULL);
	sbx_json_out_string(&out, "type", "result");
	if (result->id != NULL)
		sbx_json_out_raw(&out, "id", result->id, strlen(result->id));
	else
		sbx_json_out_null(&out, "id");
	sbx_json_out_string(&out, "env", result->env);
	argv_out(&out, result->argv);
	fate_out(&out, result);
	stream_out(&out, "stdout", &result->out, most);
	stream_out(&out, "stderr", &result->err, most);
	if (result->changes != NULL)
		sbx_json_out_raw(&out, "changes", result->changes, strlen(result->changes));
	else
		sbx_json_out_null(&out, "changes");
	account_out(&out, result);
	sbx_json_out_end(&out);
	return sbx_json_out_line(&out, "result record", err);
}

int
sbx_result_record(const struct sbx_result *result, struct sbx_buf *out, struct sbx_err *err)
{
	SBX_AUTO_BUF line = SBX_BUF_INIT(SBX_JSON_LINE_MAX);
	size_t most = result->out.kept > result->err.kept ? result->out.kept : result->err.kept;

	/*
	 * How long text grows by its escapes, up to sixfold, is known only when it is written. So
	 * write, and if the line is too long, again with half as much.
	 */
	while (write_line(result, most, &line, err) < 0) {
		if (most == 0)
			return -1;
		most /= 2;
		sbx_buf_clear(&line);
	}
	if (sbx_buf_add(out, line.data, line.length) < 0)
		return sbx_buf_check(out, "result record", err);
	return 0;
}

int
sbx_result_status(const struct sbx_result *result)
{
	switch (result->reason) {
	case SBX_REASON_TIMEOUT:
		return 124;
	case SBX_REASON_START_FAILED:
		if (result->exit_code == 126 || result->exit_code == 127)
			return result->exit_code;
		return 125;
	case SBX_REASON_RESTARTED:
	case SBX_REASON_LOST:
		return 125;
	case SBX_REASON_QUOTA:
		/* It may have ended by itself, and well, before it was looked at. */
		if (result->signal == 0 && result->exit_code <= 0)
			return 125;
		break;
	case SBX_REASON_EXITED:
	case SBX_REASON_SIGNAL:
	case SBX_REASON_MEMORY:
	case SBX_REASON_CANCELLED:
	case SBX_REASON_EXPIRED:
	case SBX_REASON_COUNT:
		break;
	}
	if (result->signal > 0)
		return 128 + result->signal;
	return result->exit_code >= 0 ? result->exit_code : 125;
}
