/*
 * Workspace access in a stream: what a request asks of the mechanism, and what came back as a
 * record. Names and contents are a stranger's bytes: they are quoted or in base64, and never decide
 * how the record reads.
 */
#include "exec.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "data/entry_out.h"
#include "data/json.h"
#include "data/json_out.h"
#include "run.h"

#define READ_BYTES ((uint64_t)64 * 1024)
#define LIST_NAMES ((uint64_t)200)
#define ENTRY_MOST (sizeof(struct sbx_files_entry) + (uint64_t)SBX_FILES_PATH_MAX)

static void
want_of(const struct sbx_request *request, struct sbx_files_want *want)
{
	static const enum sbx_files_op ops[SBX_REQUEST_OPS] = { [SBX_REQUEST_READ] = SBX_FILES_READ,
		[SBX_REQUEST_STAT] = SBX_FILES_STAT,
		[SBX_REQUEST_LIST] = SBX_FILES_LIST,
		[SBX_REQUEST_MEASURE] = SBX_FILES_MEASURE,
		[SBX_REQUEST_WRITE] = SBX_FILES_WRITE,
		[SBX_REQUEST_MKDIR] = SBX_FILES_MKDIR,
		[SBX_REQUEST_RENAME] = SBX_FILES_RENAME,
		[SBX_REQUEST_REMOVE] = SBX_FILES_REMOVE };

	*want = (struct sbx_files_want){ .op = ops[request->op],
		.flags = (request->recursive ? SBX_FILES_RECURSIVE : 0u) |
			(request->parents ? SBX_FILES_PARENTS : 0u) |
			(request->create ? SBX_FILES_NEW : 0u) |
			(request->append ? SBX_FILES_APPEND : 0u) |
			(request->op == SBX_REQUEST_LIST ? SBX_FILES_PAGED : 0u),
		.mode = request->has_mode ? request->mode : SBX_FILES_MODE_KEPT,
		.path = request->path,
		.to = request->to,
		.offset = request->offset,
		.limit = request->limit,
		.uid = -1,
		.gid = -1 };
}

void
exec_files_make(const struct sbx_request *request, const struct sbx_limits *limits,
	struct exec_files *files)
{
	struct sbx_files_want *want = &files->files.want;

	*files = (struct exec_files){ .files = { .in_fd = -1, .out_fd = -1 },
		.limit = sizeof(struct sbx_files_entry) };
	want_of(request, want);
	if (request->op == SBX_REQUEST_READ && request->stream) {
		want->limit = request->limit != 0 ? request->limit : INT64_MAX;
		files->limit = 1; /* it is told, not kept */
	} else if (request->op == SBX_REQUEST_READ) {
		want->limit = request->limit != 0 ? request->limit : READ_BYTES;
		files->limit = want->limit;
	} else if (request->op == SBX_REQUEST_LIST) {
		want->limit = request->limit != 0 ? request->limit : LIST_NAMES;
		files->limit = SBX_FILES_PAGE_MAX + ENTRY_MOST;
	} else if (request->op == SBX_REQUEST_WRITE) {
		want->limit = limits->workspace_bytes;
	}
}

/* Why there is none, by the reader's exit code; TOO_LARGE is an answer. */
static const struct {
	enum sbx_code code;
	const char *what;
} failures[SBX_FILES_FAILURES] = {
	[SBX_FILES_OK] = { SBX_OK, "" },
	[SBX_FILES_NOT_FOUND] = { SBX_E_NOT_FOUND, "does not exist" },
	[SBX_FILES_NOT_A_DIRECTORY] = { SBX_E_BAD_REQUEST, "is not a directory" },
	[SBX_FILES_IS_A_DIRECTORY] = { SBX_E_BAD_REQUEST, "is a directory" },
	[SBX_FILES_SYMLINK] = { SBX_E_DENIED, "is or goes through a symbolic link" },
	[SBX_FILES_SPECIAL] = { SBX_E_BAD_REQUEST, "is a special file" },
	[SBX_FILES_OUTSIDE] = { SBX_E_DENIED, "is outside the workspace" },
	[SBX_FILES_TOO_LARGE] = { SBX_OK, "" },
	[SBX_FILES_IO] = { SBX_E_IO, "cannot be read or written" },
	[SBX_FILES_EXISTS] = { SBX_E_CONFLICT, "exists already" },
	[SBX_FILES_NOT_EMPTY] = { SBX_E_CONFLICT, "is not empty" },
	[SBX_FILES_DENIED] = { SBX_E_DENIED, "may not be changed by its owner" },
	[SBX_FILES_NO_SPACE] = { SBX_E_QUOTA, "no space left" },
	[SBX_FILES_BROKEN] = { SBX_E_CANCELLED, "what was to be written ended in the middle" },
};

static void
put_failure(unsigned code, const struct sbx_files_want *want, struct sbx_err *err)
{
	if (want->to != NULL && want->to[0] != '\0')
		sbx_fail(err, failures[code].code, "\"%.90s\" to \"%.90s\": %s", want->path,
			want->to, failures[code].what);
	else
		sbx_fail(err, failures[code].code, "\"%.100s\" %s", want->path,
			failures[code].what);
}

int
exec_files_check(const struct sbx_files_want *want, const struct exec_outcome *outcome,
	struct sbx_err *err)
{
	unsigned code = WIFEXITED(outcome->status) ? (unsigned)WEXITSTATUS(outcome->status) :
						     SBX_FILES_IO;

	if (outcome->lost || outcome->restarted)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "the environment was %s meanwhile",
			outcome->lost ? "lost" : "restarted");
	if (outcome->forced != SBX_REASON_EXITED && code != SBX_FILES_OK)
		return sbx_fail(err,
			outcome->forced == SBX_REASON_CANCELLED ? SBX_E_CANCELLED : SBX_E_TIMEOUT,
			"work on the workspace was ended: %s", sbx_reason_names[outcome->forced]);
	if (outcome->start_error != 0 || code >= SBX_FILES_FAILURES)
		return sbx_fail(err, SBX_E_IO, "the workspace cannot be worked on");
	if (failures[code].code == SBX_OK)
		return 0;
	put_failure(code, want, err);
	return -1;
}

static void
put_entry(struct sbx_json_out *out, const struct sbx_files_entry *entry)
{
	char mode[8];

	snprintf(mode, sizeof(mode), "%04o", entry->mode & 07777);
	sbx_json_out_string(out, "kind", sbx_entry_kind(entry->mode));
	sbx_json_out_u64(out, "size", entry->size);
	sbx_json_out_u64(out, "allocated", entry->blocks * 512);
	sbx_json_out_string(out, "mode", mode);
	sbx_json_out_u64(out, "nlink", entry->nlink);
	sbx_json_out_i64(out, "mtime", entry->mtime_sec);
	sbx_json_out_i64(out, "mtime_ns", entry->mtime_nsec);
}

/* What came out of a container may be anything: whole entries with sound names are taken. */
static void
put_entries(struct sbx_json_out *out, const char *bytes, size_t length)
{
	struct sbx_files_entry entry;

	sbx_json_out_array(out, "entries");
	while (length >= sizeof(entry)) {
		memcpy(&entry, bytes, sizeof(entry));
		bytes += sizeof(entry);
		length -= sizeof(entry);
		if (entry.name_bytes == 0 || entry.name_bytes > length)
			break;
		sbx_json_out_object(out, NULL);
		sbx_entry_name_out(out, "name", "name_b64", bytes, entry.name_bytes);
		put_entry(out, &entry);
		sbx_json_out_end(out);
		bytes += entry.name_bytes;
		length -= entry.name_bytes;
	}
	sbx_json_out_end(out);
}

static int
put_answer(struct sbx_json_out *out, const struct sbx_request *request,
	const struct sbx_result_stream *got, int more, struct sbx_err *err)
{
	struct sbx_files_measured measured;
	struct sbx_files_entry entry;

	if ((request->op == SBX_REQUEST_MEASURE && got->head_length != sizeof(measured)) ||
		(request->op == SBX_REQUEST_STAT && got->head_length != sizeof(entry)))
		return sbx_fail(err, SBX_E_IO, "the workspace's reader did not answer whole");
	if (request->op == SBX_REQUEST_MEASURE) {
		memcpy(&measured, got->head, sizeof(measured));
		sbx_json_out_u64(out, "bytes", measured.bytes);
		sbx_json_out_u64(out, "inodes", measured.inodes);
	} else if (request->op == SBX_REQUEST_STAT) {
		memcpy(&entry, got->head, sizeof(entry));
		put_entry(out, &entry);
	} else if (request->op == SBX_REQUEST_LIST) {
		put_entries(out, got->head, got->head_length);
		sbx_json_out_bool(out, "more", more);
	} else if (request->op == SBX_REQUEST_READ) {
		sbx_json_out_u64(out, "offset", request->offset);
		sbx_json_out_u64(out, "bytes", got->bytes);
		sbx_json_out_bool(out, "more", more);
		if (!request->stream)
			sbx_json_out_bytes(out, got->head, got->head_length);
	}
	return 0;
}

int
exec_files_answer(const struct sbx_request *request, struct exec_run *run, struct sbx_buf *line,
	struct sbx_err *err)
{
	static const char *const types[SBX_REQUEST_OPS] = { [SBX_REQUEST_READ] = "file",
		[SBX_REQUEST_STAT] = "entry",
		[SBX_REQUEST_LIST] = "entries",
		[SBX_REQUEST_MEASURE] = "usage",
		[SBX_REQUEST_WRITE] = "ok",
		[SBX_REQUEST_MKDIR] = "ok",
		[SBX_REQUEST_RENAME] = "ok",
		[SBX_REQUEST_REMOVE] = "ok" };
	struct sbx_files_want want;
	struct sbx_result_stream got;
	struct sbx_json_out out;

	want_of(request, &want);
	if (exec_files_check(&want, &run->outcome, err) < 0)
		return sbx_fail_wrap(err, "request.path");
	/* All of it was kept, in one piece. */
	sbx_excerpt_finish(&run->streams[0].excerpt, &got);
	if (got.tail != NULL && !request->stream)
		return sbx_fail(err, SBX_E_IO, "the workspace's reader said more than was asked");
	sbx_json_out_init(&out, line);
	sbx_json_out_object(&out, NULL);
	sbx_json_out_string(&out, "type", types[request->op]);
	if (request->id != NULL)
		sbx_json_out_raw(&out, "id", request->id, strlen(request->id));
	else
		sbx_json_out_null(&out, "id");
	sbx_entry_name_out(&out, "path", "path_b64", request->path, strlen(request->path));
	if (put_answer(&out, request, &got, WEXITSTATUS(run->outcome.status) == SBX_FILES_TOO_LARGE,
		    err) < 0) {
		sbx_buf_clear(line);
		return -1;
	}
	sbx_json_out_end(&out);
	return sbx_json_out_line(&out, "answer", err);
}
