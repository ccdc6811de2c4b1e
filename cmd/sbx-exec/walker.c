/*
 * Looking at the workspace where only the mechanism sees it: an operation like any other on it, whose
 * answer goes to a sink instead of a caller. Where we see the tree ourselves nothing of this runs.
 */
#include <fcntl.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/scoped.h"
#include "exec.h"
#include "run.h"
#include "walker.h"

#define LIMIT_MS ((uint64_t)10 * 60 * 1000)

struct exec_walker {
	struct exec_run run;
	struct exec_plan plan;
	struct exec_wish wish;
	struct sbx_mech_files files;
	struct sbx_snap_sink sink;
	struct sbx_err failure; /* of the sink */
	void (*over)(struct exec_hold *hold, struct sbx_err *err);
};

static void
on_bytes(void *arg, const char *bytes, size_t length)
{
	struct exec_walker *walker = arg;

	if (walker->failure.code == SBX_OK)
		(void)walker->sink.put(walker->sink.arg, bytes, length, &walker->failure);
}

static void
on_over(void *arg)
{
	struct exec_walker *walker = arg;
	struct exec_hold *hold = walker->run.hold;
	struct sbx_err err = walker->run.failure;

	if (err.code == SBX_OK)
		err = walker->failure;
	if (err.code == SBX_OK)
		(void)!exec_files_check(&walker->files.want, &walker->run.outcome, &err);
	walker->over(hold, &err);
}

struct exec_walker *
exec_walker_start(struct exec_hold *hold, enum sbx_files_op op, uint32_t flags, int before_fd,
	const struct sbx_snap_sink *sink, void (*over)(struct exec_hold *hold, struct sbx_err *err),
	struct sbx_err *err)
{
	struct exec_walker *walker = sbx_mem_alloc(1, sizeof(*walker));
	SBX_AUTO_FD before = before_fd;

	walker->sink = *sink;
	walker->over = over;
	walker->plan = (struct exec_plan){
		.limit_ms = LIMIT_MS, .overrun = SBX_REASON_TIMEOUT, .output_bytes = 1
	};
	walker->files = (struct sbx_mech_files){
		.want = { .op = op, .flags = flags, .path = "", .to = "", .uid = -1, .gid = -1 },
		.in_fd = -1,
		.out_fd = -1
	};
	walker->wish = (struct exec_wish){ .files = &walker->files };
	exec_run_init(&walker->run);
	if (op == SBX_FILES_SNAPSHOT)
		exec_feed_open_queue(&walker->run.feed, 1);
	if (op == SBX_FILES_SNAPSHOT && before < 0)
		exec_feed_end(&walker->run.feed);
	walker->run.feed.source.fd = sbx_take_fd(&before);
	walker->run.streams[0].tap = on_bytes;
	walker->run.streams[0].tap_arg = walker;
	if (exec_run_open(&walker->run, &walker->plan, 0, err) == 0 &&
		exec_run_start(&walker->run, hold, &walker->wish, on_over, walker, err) == 0)
		return walker;
	exec_walker_free(walker);
	return NULL;
}

void
exec_walker_free(struct exec_walker *walker)
{
	if (walker == NULL)
		return;
	exec_run_close(&walker->run);
	free(walker);
}
