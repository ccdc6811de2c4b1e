/*
 * Two snapshots beside each other, each a file or taken of a directory now: a record for each change
 * and one with their number. A damaged snapshot is refused and never taken for an empty tree.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/num.h"
#include "base/scoped.h"
#include "data/entry_out.h"
#include "data/errors.h"
#include "quota.h"
#include "state/snapshot.h"

struct diff {
	int table;
	uint64_t counts[SBX_SNAP_MODE_CHANGED + 1];
	uint64_t total;
	struct sbx_buf lines;
	struct sbx_err *err;
};

/* Of a directory it lies in memory. */
static int
open_side(const char *path, const struct sbx_snap *before, struct sbx_snap *snap,
	struct sbx_err *err)
{
	SBX_AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	SBX_AUTO_FD memory = -1;
	const struct sbx_snap_sink sink = { .put = quota_put, .arg = &memory };
	struct sbx_snap_foot foot;
	struct stat st;

	if (fd < 0)
		return sbx_fail_sys(err,
			errno == ENOENT		? SBX_E_NOT_FOUND :
				errno == EACCES ? SBX_E_DENIED :
						  SBX_E_IO,
			"%s", path);
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		memory = memfd_create("snapshot", MFD_CLOEXEC);
		if (memory < 0)
			return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "memfd_create");
		if (quota_take(fd, before, 0, &sink, &foot, err) != 0)
			return sbx_fail_wrap(err, "%s", path);
	}
	if (sbx_snap_open(memory >= 0 ? memory : fd, snap, err) != 0)
		return sbx_fail_wrap(err, "%s", path);
	return 0;
}

static void
put_line(struct diff *diff, const struct sbx_snap_difference *difference)
{
	static const char letters[] = { 'A', 'M', 'D', 'T', 'P' };
	const struct sbx_snap_entry *entry = difference->is != NULL ? difference->is :
								      difference->was;
	char size[16];

	sbx_num_format_size(entry->size, size);
	(void)sbx_buf_printf(&diff->lines, "%c %-9s %10s  ", letters[difference->change],
		sbx_entry_kind(entry->mode), size);
	sbx_entry_name_print(&diff->lines, difference->path, difference->path_bytes);
	(void)sbx_buf_add_char(&diff->lines, '\n');
}

static int
put_record(struct diff *diff, const struct sbx_snap_difference *difference)
{
	struct sbx_json_out out;

	sbx_json_out_init(&out, &diff->lines);
	sbx_json_out_object(&out, NULL);
	sbx_json_out_string(&out, "type", "change");
	sbx_snapshot_change_out(&out, difference);
	sbx_json_out_end(&out);
	return sbx_json_out_line(&out, "change record", diff->err);
}

static int
on_difference(void *arg, const struct sbx_snap_difference *difference)
{
	struct diff *diff = arg;

	diff->counts[difference->change]++;
	diff->total++;
	if (diff->table)
		put_line(diff, difference);
	else if (put_record(diff, difference) < 0)
		return -1;
	return quota_flush(&diff->lines, 0, diff->err);
}

static int
put_sum(struct diff *diff, uint32_t flags)
{
	struct sbx_json_out out;

	if (diff->table) {
		(void)sbx_buf_printf(&diff->lines, "%llu changes%s%s\n",
			(unsigned long long)diff->total,
			flags & SBX_SNAP_PARTIAL ? ", not every directory could be read" : "",
			flags & SBX_SNAP_MOVED ? ", it moved meanwhile" : "");
		return 0;
	}
	sbx_json_out_init(&out, &diff->lines);
	sbx_json_out_object(&out, NULL);
	sbx_json_out_string(&out, "type", "changes");
	for (size_t i = 0; i <= SBX_SNAP_MODE_CHANGED; i++)
		sbx_json_out_u64(&out, sbx_snap_change_names[i], diff->counts[i]);
	sbx_json_out_bool(&out, "complete", (flags & SBX_SNAP_PARTIAL) == 0);
	sbx_json_out_bool(&out, "consistent", (flags & SBX_SNAP_MOVED) == 0);
	sbx_json_out_end(&out);
	return sbx_json_out_line(&out, "changes record", diff->err);
}

static int
compare(const struct quota_options *options, const struct sbx_snap *before,
	const struct sbx_snap *now, struct sbx_err *err)
{
	struct diff diff = { .table = options->table || isatty(STDOUT_FILENO),
		.lines = QUOTA_LINES_INIT,
		.err = err };
	int rc = sbx_snap_diff(before, now, on_difference, &diff);

	if (rc == 0)
		rc = put_sum(&diff, before->foot->flags | now->foot->flags);
	if (rc == 0)
		rc = quota_flush(&diff.lines, 1, err);
	sbx_buf_done(&diff.lines);
	if (rc < 0)
		return -1;
	return options->exit_code && diff.total > 0 ? 1 : SBX_EXIT_OK;
}

int
quota_diff(const struct quota_options *options, char *const *paths, struct sbx_err *err)
{
	struct sbx_snap before, now;
	int status;

	if (open_side(paths[0], NULL, &before, err) != 0)
		return -1;
	if (open_side(paths[1], &before, &now, err) != 0) {
		sbx_snap_close(&before);
		return -1;
	}
	status = compare(options, &before, &now, err);
	sbx_snap_close(&before);
	sbx_snap_close(&now);
	return status;
}
