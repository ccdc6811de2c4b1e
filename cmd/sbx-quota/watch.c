/*
 * A directory while it grows: a record when something moved, and the end at the first count that is
 * over a limit. It is counted every 250 ms and, while nothing moves, up to every second; no more
 * than a tenth of a processor is spent on that.
 */
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/scoped.h"
#include "data/entry_out.h"
#include "data/errors.h"
#include "quota.h"
#include "workspace/measure.h"

#define INTERVAL_MS 250
#define BACKED_OFF 4 /* intervals, while nothing moves */
#define SHARE 9
#define SLICE_US 20000

struct watch {
	const struct quota_options *options;
	const char *path;
	int dir;
	struct sbx_files_measured last;
	int is_partial; /* the last look: a directory may not be read */
	uint64_t records;
	int64_t pause_us;
};

static const char *
broken_limit(const struct watch *watch, const struct sbx_files_measured *measured)
{
	const struct quota_options *options = watch->options;

	if (options->bytes != 0 && measured->bytes > options->bytes)
		return "bytes";
	return options->inodes != 0 && measured->inodes > options->inodes ? "inodes" : NULL;
}

/* 1 when all was counted or a limit is broken already, 0 when the tree moved under us. */
static int
look(struct watch *watch, struct sbx_files_measured *measured, struct sbx_err *err)
{
	struct sbx_measure *measure = sbx_measure_begin(watch->dir, err);
	int more = 1, is_moved;

	if (measure == NULL)
		return -1;
	while (more > 0) {
		more = sbx_measure_step(measure, SLICE_US, err);
		*measured = *sbx_measure_total(measure);
		if (broken_limit(watch, measured) != NULL)
			more = 0;
	}
	watch->is_partial = sbx_measure_is_partial(measure);
	sbx_measure_end(measure);
	is_moved = more < 0 && err->code == SBX_E_IO;
	if (more < 0 && !is_moved)
		return -1;
	if (is_moved)
		*err = (struct sbx_err){ 0 };
	return !is_moved;
}

static int
put(struct watch *watch, const struct sbx_files_measured *measured, const char *limit,
	struct sbx_err *err)
{
	SBX_AUTO_BUF line = QUOTA_LINES_INIT;
	struct sbx_json_out out;
	char now[32];

	sbx_clock_format(sbx_clock_wall_ms(), now);
	sbx_json_out_init(&out, &line);
	sbx_json_out_object(&out, NULL);
	sbx_json_out_string(&out, "type", limit == NULL ? "usage" : "violation");
	sbx_json_out_string(&out, "time", now);
	sbx_entry_name_out(&out, "path", "path_b64", watch->path, strlen(watch->path));
	if (limit != NULL) {
		sbx_json_out_string(&out, "limit", limit);
		sbx_json_out_u64(&out, "limit_value",
			strcmp(limit, "bytes") == 0 ? watch->options->bytes :
						      watch->options->inodes);
	}
	sbx_json_out_u64(&out, "bytes", measured->bytes);
	sbx_json_out_u64(&out, "inodes", measured->inodes);
	sbx_json_out_bool(&out, "complete", !watch->is_partial);
	sbx_json_out_end(&out);
	if (sbx_json_out_line(&out, "usage record", err) < 0)
		return -1;
	watch->records++;
	return quota_flush(&line, 1, err);
}

/* -1 when nobody reads any more: a tree that does not move would never tell. */
static int
rest(struct watch *watch, int64_t took_us, struct sbx_err *err)
{
	int64_t pause_us = took_us * SHARE > watch->pause_us ? took_us * SHARE : watch->pause_us;
	const struct timespec pause = { .tv_sec = pause_us / 1000000,
		.tv_nsec = pause_us % 1000000 * 1000 };
	struct pollfd reader = { .fd = STDOUT_FILENO };

	if (ppoll(&reader, 1, &pause, NULL) <= 0)
		return 0;
	return sbx_fail(err, SBX_E_IO, "stdout: nobody reads it any more");
}

/* One look and what follows: -1, 0 go on, or 1 with *status. */
static int
turn(struct watch *watch, int *status, struct sbx_err *err)
{
	int64_t began_us = sbx_clock_mono_us(), least_us;
	struct sbx_files_measured measured;
	int whole = look(watch, &measured, err), moved;
	const char *limit;
	struct stat st;

	if (whole < 0)
		return -1;
	if (fstat(watch->dir, &st) == 0 && st.st_nlink == 0)
		return sbx_fail(err, SBX_E_NOT_FOUND, "%s was removed", watch->path);
	limit = broken_limit(watch, &measured);
	moved = whole && memcmp(&measured, &watch->last, sizeof(measured)) != 0;
	if ((moved || limit != NULL) && put(watch, &measured, limit, err) < 0)
		return -1;
	if (limit != NULL ||
		(watch->options->count != 0 && watch->records >= watch->options->count)) {
		*status = limit != NULL ? sbx_code_exit(SBX_E_QUOTA) : SBX_EXIT_OK;
		return 1;
	}
	if (whole)
		watch->last = measured;
	least_us = (int64_t)(watch->options->interval_ms != 0 ? watch->options->interval_ms :
								INTERVAL_MS) *
		1000;
	watch->pause_us = moved || watch->pause_us == 0 ? least_us : watch->pause_us * 2;
	if (watch->pause_us > least_us * BACKED_OFF)
		watch->pause_us = least_us * BACKED_OFF;
	return rest(watch, sbx_clock_mono_us() - began_us, err);
}

int
quota_watch(const struct quota_options *options, char *const *paths, struct sbx_err *err)
{
	SBX_AUTO_FD dir = quota_open_dir(paths[0], err);
	struct watch watch = {
		.options = options, .path = paths[0], .dir = dir, .last = { .bytes = UINT64_MAX }
	};
	int status = SBX_EXIT_OK, over = 0;

	if (dir < 0)
		return -1;
	while (over == 0)
		over = turn(&watch, &status, err);
	return over < 0 ? -1 : status;
}
