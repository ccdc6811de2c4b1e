/*
 * Changes of the workspace as an object for the result. What is listed is bounded; the whole list,
 * when it is longer, goes to the spool, a record a line. Never decides what a change is.
 */
#include "told.h"

#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/scoped.h"
#include "data/errors.h"
#include "data/json.h"
#include "data/json_out.h"
#include "exec.h"
#include "state/spool.h"

#define LISTED_MAX 100
#define LISTED_BYTES ((size_t)64 * 1024)
#define JSON_BYTES (LISTED_BYTES + 1024)
#define PIECE ((size_t)64 * 1024)
#define LINE_BYTES ((size_t)6 * SBX_SNAP_PATH_MAX + 1024)
#define COUNTS (SBX_SNAP_MODE_CHANGED + 1)

/* A list in the making. */
struct listing {
	const struct exec_target *target;
	uint64_t counts[COUNTS];
	uint64_t total, listed;
	struct sbx_buf list; /* the first ones, with commas between */
	size_t ends[LISTED_MAX]; /* of each in it */
	struct sbx_buf line, piece; /* one, and lines for the spool */
	char spool[SBX_SPOOL_NAME_SIZE];
	int spool_fd; /* -1: not begun, or over */
	uint64_t spooled, room; /* lines that are there; bytes that may still be */
};

static void
flush(struct listing *listing)
{
	if (listing->spool_fd < 0 || listing->piece.length == 0)
		return;
	if (sbx_io_write_all(listing->spool_fd, sbx_buf_str(&listing->piece),
		    listing->piece.length) < 0) {
		sbx_log(SBX_LOG_WARN, "the spool of changes ends early: %s", strerror(errno));
		sbx_scoped_close(&listing->spool_fd);
		listing->spool_fd = -1;
	}
	sbx_buf_clear(&listing->piece);
}

static void
spool_line(struct listing *listing, const char *json, size_t length)
{
	if (listing->spool_fd < 0)
		return;
	if (length + 1 > listing->room) {
		listing->room = 0; /* it ends between two lines */
		return;
	}
	if (listing->piece.length + length + 1 > PIECE)
		flush(listing);
	(void)sbx_buf_add(&listing->piece, json, length);
	(void)sbx_buf_add_char(&listing->piece, '\n');
	listing->room -= length + 1;
	listing->spooled++;
}

/* With the first that is not listed; those that are go before it. */
static void
begin_spool(struct listing *listing)
{
	const struct sbx_config *config = &listing->target->tool.config;
	struct sbx_err err = { 0 };
	size_t at = 0;

	if (config->spool_factor == 0)
		return;
	listing->room = config->spool_bytes / 4;
	listing->spool_fd = sbx_spool_open(&listing->target->env, "changes", listing->room,
		config->spool_bytes, listing->spool, &err);
	if (listing->spool_fd < 0)
		sbx_log_err(&err);
	for (size_t i = 0; i < listing->listed; i++) {
		spool_line(listing, listing->list.data + at, listing->ends[i] - at);
		at = listing->ends[i] + 1;
	}
}

static int
on_difference(void *arg, const struct sbx_snap_difference *difference)
{
	struct listing *listing = arg;
	struct sbx_json_out out;
	int is_first_left_out;

	sbx_buf_clear(&listing->line);
	sbx_json_out_init(&out, &listing->line);
	sbx_json_out_object(&out, NULL);
	sbx_snapshot_change_out(&out, difference);
	sbx_json_out_end(&out);
	is_first_left_out = listing->listed == listing->total &&
		(listing->listed == LISTED_MAX ||
			listing->list.length + listing->line.length >= LISTED_BYTES);
	if (is_first_left_out)
		begin_spool(listing);
	listing->counts[difference->change]++;
	if (is_first_left_out || listing->listed < listing->total) {
		spool_line(listing, sbx_buf_str(&listing->line), listing->line.length);
	} else {
		if (listing->listed > 0)
			(void)sbx_buf_add_char(&listing->list, ',');
		(void)sbx_buf_add(&listing->list, sbx_buf_str(&listing->line),
			listing->line.length);
		listing->ends[listing->listed++] = listing->list.length;
	}
	listing->total++;
	return 0;
}

static void
begin(struct exec_told *told, struct sbx_json_out *out)
{
	sbx_buf_done(&told->json);
	sbx_buf_init(&told->json, JSON_BYTES);
	sbx_json_out_init(out, &told->json);
	sbx_json_out_object(out, NULL);
}

static void
write_list(struct exec_told *told, const struct listing *listing, uint32_t flags)
{
	struct sbx_json_out out;

	begin(told, &out);
	for (size_t i = 0; i < COUNTS; i++)
		sbx_json_out_u64(&out, sbx_snap_change_names[i], listing->counts[i]);
	sbx_json_out_bool(&out, "complete", (flags & SBX_SNAP_PARTIAL) == 0);
	sbx_json_out_bool(&out, "consistent", (flags & SBX_SNAP_MOVED) == 0);
	sbx_json_out_bool(&out, "truncated", listing->listed < listing->total);
	if (listing->spooled > 0) {
		sbx_json_out_string(&out, "spool", listing->spool);
		sbx_json_out_u64(&out, "spooled", listing->spooled);
	}
	sbx_json_out_array(&out, "list");
	if (listing->listed > 0)
		sbx_json_out_raw(&out, NULL, listing->list.data, listing->list.length);
	sbx_json_out_end(&out);
	sbx_json_out_end(&out);
}

void
exec_told_changes(struct exec_told *told, const struct exec_target *target,
	const struct sbx_snap *before, const struct sbx_snap *now)
{
	struct listing listing = { .target = target,
		.list = SBX_BUF_INIT(LISTED_BYTES),
		.line = SBX_BUF_INIT(LINE_BYTES),
		.piece = SBX_BUF_INIT(PIECE + LINE_BYTES),
		.spool_fd = -1 };

	if (before != now)
		(void)sbx_snap_diff(before, now, on_difference, &listing);
	flush(&listing);
	sbx_scoped_close(&listing.spool_fd);
	write_list(told, &listing, now->foot->flags | before->foot->flags);
	sbx_buf_done(&listing.list);
	sbx_buf_done(&listing.line);
	sbx_buf_done(&listing.piece);
}

void
exec_told_shared(struct exec_told *told)
{
	struct sbx_json_out out;

	begin(told, &out);
	sbx_json_out_bool(&out, "shared", 1);
	sbx_json_out_end(&out);
}

void
exec_told_unknown(struct exec_told *told, enum sbx_code why)
{
	struct sbx_json_out out;

	begin(told, &out);
	sbx_json_out_string(&out, "unknown", sbx_code_name(why));
	sbx_json_out_end(&out);
}
