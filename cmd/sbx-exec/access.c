/*
 * One operation on the workspace from the command line: bytes to our stdout or from our stdin, a
 * listing, or a judgement of a path. It is the same operation as in a stream of requests, by the
 * same walk.
 */
#include "access.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "base/scoped.h"
#include "data/errors.h"
#include "data/json.h"
#include "data/entry_out.h"
#include "data/json_out.h"
#include "mech/channel.h"

#define UNREAD_MAX ((size_t)1024 * 1024)

struct access {
	const struct exec_options *options;
	struct exec_hold *hold;
	struct exec_run *run;
	struct sbx_mech_files files;
	struct exec_writer writer; /* of a listing */
	struct listing listing;
	struct tar tar;
	int over;
};

/* The loop goes on while lines of a listing wait for our reader. */
static void
end_loop(const struct access *access)
{
	if (access->over && (access->writer.queue.length == 0 || access->hold->signal != 0))
		sbx_loop_stop(access->hold->loop);
}

static void
on_over(void *arg)
{
	struct access *access = arg;

	access->over = 1;
	end_loop(access);
}

static void
on_writer(void *arg)
{
	struct access *access = arg;
	struct exec_stream *stream = &access->run->streams[0];

	exec_stream_pause(stream, access->writer.queue.length > (stream->paused ? 0 : UNREAD_MAX));
	end_loop(access);
}

/* The options that name a path: what each asks for, and whether the workspace's size bounds it. */
static const struct {
	size_t option;
	enum sbx_files_op op;
	int bounded;
} asked[] = {
	{ offsetof(struct exec_options, get), SBX_FILES_READ, 0 },
	{ offsetof(struct exec_options, put), SBX_FILES_WRITE, 1 },
	{ offsetof(struct exec_options, ls), SBX_FILES_LIST, 0 },
	{ offsetof(struct exec_options, tar_out), SBX_FILES_EXPORT, 1 },
	{ offsetof(struct exec_options, tar_in), SBX_FILES_IMPORT, 1 },
	{ offsetof(struct exec_options, authorize), SBX_FILES_STAT, 0 },
};

/* As the code inside names it. */
static const char *
from_inside(const char *path)
{
	size_t length = strlen(SBX_CHAN_WORKSPACE);

	if (strncmp(path, SBX_CHAN_WORKSPACE, length) != 0 ||
		(path[length] != '/' && path[length] != '\0'))
		return path;
	return path + length + (path[length] == '/');
}

/* What is asked of the mechanism. */
static void
spell(struct access *access)
{
	const struct exec_options *options = access->options;
	struct sbx_files_want *want = &access->files.want;

	access->files.in_fd = access->files.out_fd = -1;
	*want = (struct sbx_files_want){ .flags = options->recursive ? SBX_FILES_RECURSIVE : 0,
		.mode = SBX_FILES_MODE_KEPT,
		.uid = -1,
		.gid = -1 };
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		const char *path;

		memcpy(&path, (const char *)options + asked[i].option, sizeof(path));
		if (path == NULL)
			continue;
		want->op = asked[i].op;
		want->path = path;
		want->limit = asked[i].bounded ?
			access->hold->target->record.limits.workspace_bytes :
			INT64_MAX;
	}
	if (options->authorize != NULL)
		want->path = from_inside(options->authorize);
}

/* sbx-tar writes our stdout, or reads our stdin; we have the other end of it. */
static int
connect_tar(struct access *access, const struct exec_plan *plan, struct sbx_err *err)
{
	const struct sbx_tool *tool = &access->hold->target->tool;
	struct exec_run *run = access->run;

	if (access->options->tar_in != NULL) {
		exec_feed_open_queue(&run->feed, 0);
		return exec_run_open(run, plan, 0, err) < 0 ||
				tar_begin_in(&access->tar, tool->host.libexec,
					access->files.want.limit, err) < 0 ||
				exec_outer_open(access->tar.ours, O_RDONLY, &run->feed.source,
					err) < 0 ?
			-1 :
			0;
	}
	run->plan = plan;
	return tar_begin_out(&access->tar, tool->host.libexec, err) < 0 ||
			exec_stream_open(&run->streams[0], access->tar.ours, 0, err) < 0 ||
			exec_stream_open(&run->streams[1], -1, plan->output_bytes, err) < 0 ?
		-1 :
		0;
}

/* Our own side of its bytes. */
static int
connect_ends(struct access *access, const struct exec_plan *plan, struct sbx_err *err)
{
	struct exec_run *run = access->run;
	struct exec_stream *stream = &run->streams[0];

	if (access->options->tar_in != NULL || access->options->tar_out != NULL)
		return connect_tar(access, plan, err);
	if (exec_run_open(run, plan, access->options->get != NULL, err) < 0)
		return -1;
	if (access->options->put != NULL)
		return exec_feed_open_stdin(&run->feed, 1, err);
	if (access->options->ls == NULL)
		return 0;
	if (exec_writer_open(&access->writer, access->hold->loop, on_writer, access, err) < 0)
		return -1;
	listing_open(&access->listing, &access->writer);
	stream->tap = listing_bytes;
	stream->tap_arg = &access->listing;
	return 0;
}

/* {"type": ..., "env": ..., "path": ...} and, of a judgement, what it is. */
static int
print(const struct access *access, const char *type, const char *path, const char *reason,
	struct sbx_err *err)
{
	SBX_AUTO_BUF line = SBX_BUF_INIT(SBX_JSON_LINE_MAX);
	struct sbx_json_out out;

	sbx_json_out_init(&out, &line);
	sbx_json_out_object(&out, NULL);
	sbx_json_out_string(&out, "type", type);
	sbx_json_out_string(&out, "env", access->hold->target->record.id);
	sbx_entry_name_out(&out, "path", "path_b64", path, strlen(path));
	if (access->options->authorize != NULL) {
		sbx_json_out_bool(&out, "allowed", reason == NULL);
		sbx_json_out_string(&out, "reason", reason);
	}
	sbx_json_out_end(&out);
	if (sbx_json_out_line(&out, type, err) < 0)
		return -1;
	return sbx_tool_print(&line, err);
}

/*
 * Two took part. What the walk refused counts first, unless its stream was only cut off: then
 * sbx-tar knows why.
 */
static int
answer_tar(struct access *access, struct sbx_err *err)
{
	const struct exec_outcome outcome = access->run->outcome;
	int status = WIFEXITED(outcome.status) ? WEXITSTATUS(outcome.status) : SBX_FILES_IO;
	int failed = exec_files_check(&access->files.want, &outcome, err) < 0 ||
		status == SBX_FILES_TOO_LARGE;
	struct sbx_files_want where = access->files.want;
	SBX_AUTO_FREE char *path = NULL; /* at which it failed */
	struct sbx_result_stream got;
	struct sbx_err why = { 0 };

	if (access->options->tar_in != NULL) {
		sbx_excerpt_finish(&access->run->streams[0].excerpt, &got);
		path = sbx_mem_dup_n(got.head, got.head_length);
	}
	/* Before sbx-tar can come to an end. */
	exec_run_close(access->run);
	if (tar_end(&access->tar, failed && status != SBX_FILES_BROKEN, &why) < 0 &&
		(!failed || status == SBX_FILES_BROKEN)) {
		*err = why;
		err->executed = SBX_EXECUTED_UNKNOWN;
		return -1;
	}
	if (status == SBX_FILES_TOO_LARGE)
		return sbx_fail(err, SBX_E_TOO_LARGE,
			"\"%.100s\" has more bytes than a workspace may hold", where.path);
	if (failed && path != NULL && path[0] != '\0') {
		where.path = path;
		(void)!exec_files_check(&where, &outcome, err);
	}
	err->executed = failed ? SBX_EXECUTED_UNKNOWN : err->executed; /* what came in stays */
	if (failed)
		return -1;
	return access->options->tar_in != NULL ?
		print(access, "ok", access->options->tar_in, NULL, err) :
		SBX_EXIT_OK;
}

static int
answer(struct access *access, struct sbx_err *err)
{
	const struct exec_options *options = access->options;
	const struct exec_stream *stream = &access->run->streams[0];
	const char *reason;

	if (options->tar_in != NULL || options->tar_out != NULL)
		return answer_tar(access, err);
	if (options->authorize != NULL) {
		if (access_judge(access->run, &access->files.want, &reason, err) < 0 ||
			print(access, "authorization", options->authorize, reason, err) < 0)
			return -1;
		return reason == NULL ? SBX_EXIT_OK : SBX_EXIT_DENIED;
	}
	if (stream->gone || access->writer.failure.sys == EPIPE)
		return SBX_EXIT_OK; /* who read us has enough */
	if (stream->failure.code != SBX_OK || access->writer.failure.code != SBX_OK) {
		*err = stream->failure.code != SBX_OK ? stream->failure : access->writer.failure;
		return -1;
	}
	if (exec_files_check(&access->files.want, &access->run->outcome, err) < 0)
		return -1;
	if (access->listing.broken)
		return sbx_fail(err, SBX_E_IO, "the workspace's reader sent no listing");
	return options->put != NULL ? print(access, "ok", options->put, NULL, err) : SBX_EXIT_OK;
}

static int
work(struct access *access, struct exec_plan *plan, struct sbx_err *err)
{
	char *no_variables[] = { NULL };
	struct exec_wish wish = { .files = &access->files,
		.env = no_variables,
		.timeout_ms = access->options->timeout_ms,
		.output_bytes = SBX_FILES_PATH_MAX,
		.timeout_name = "--timeout" };

	spell(access);
	if (exec_plan_make(&wish, access->hold->target, no_variables, plan, err) < 0 ||
		connect_ends(access, plan, err) < 0 ||
		exec_run_start(access->run, access->hold, &wish, on_over, access, err) < 0 ||
		sbx_loop_run(access->hold->loop, err) < 0)
		return -1;
	if (access->hold->signal != 0)
		return SBX_EXIT_OK; /* it is died of */
	if (access->run->failure.code != SBX_OK) {
		*err = access->run->failure;
		return -1;
	}
	return answer(access, err);
}

int
exec_access(const struct exec_options *options, struct exec_hold *hold, struct exec_run *run,
	struct exec_plan *plan, struct sbx_err *err)
{
	struct access access = {
		.options = options, .hold = hold, .run = run, .tar = { .ours = -1, .said = -1 }
	};
	int status = work(&access, plan, err);

	/* Before its loop is gone, and what it taps. */
	exec_run_close(run);
	tar_end(&access.tar, 1, NULL);
	exec_writer_close(&access.writer);
	listing_close(&access.listing);
	return status;
}
