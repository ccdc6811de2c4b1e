/*
 * A snapshot into a file: whole, durable and under its name, or not there at all; what was there
 * before stays until then.
 */
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/scoped.h"
#include "data/entry_out.h"
#include "data/errors.h"
#include "quota.h"

#define SLICE_US 50000

/* Where it goes: a name in a directory, and until it is whole another name. */
struct place {
	int dir;
	char *name;
	char temporary[40];
	int fd;
};

int
quota_put(void *arg, const void *bytes, size_t length, struct sbx_err *err)
{
	if (sbx_io_write_all(*(const int *)arg, bytes, length) == 0)
		return 0;
	return sbx_fail_sys(err, errno == ENOSPC || errno == EDQUOT ? SBX_E_QUOTA : SBX_E_IO,
		"write the snapshot");
}

int
quota_take(int dir, const struct sbx_snap *since, int still, const struct sbx_snap_sink *sink,
	struct sbx_snap_foot *foot, struct sbx_err *err)
{
	struct sbx_snap_take *take = sbx_snap_begin(dir, since, still, sink, err);
	int rc = take == NULL ? -1 : 1;

	/* Where signals wait, for what would stay behind otherwise, they are asked for. */
	while (rc > 0) {
		rc = sbx_snap_step(take, SLICE_US, err);
		if (rc > 0 && sbx_tool_deferred())
			rc = sbx_fail(err, SBX_E_CANCELLED, "ended by a signal");
	}
	if (rc == 0)
		*foot = *sbx_snap_total(take);
	sbx_snap_end(take);
	return rc;
}

static int
place_open(struct place *place, const char *path, struct sbx_err *err)
{
	SBX_AUTO_FREE char *for_dir = sbx_mem_dup(path), *for_name = sbx_mem_dup(path);
	uint64_t random;

	place->name = sbx_mem_dup(basename(for_name));
	place->dir = quota_open_dir(dirname(for_dir), err);
	if (place->dir < 0)
		return sbx_fail_wrap(err, "--output");
	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return sbx_fail_sys(err, SBX_E_INTERNAL, "getrandom");
	snprintf(place->temporary, sizeof(place->temporary), ".sbx-quota-%016llx",
		(unsigned long long)random);
	place->fd = openat(place->dir, place->temporary,
		O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return place->fd < 0 ? sbx_fail_sys(err,
				       errno == EACCES				  ? SBX_E_DENIED :
					       errno == ENOSPC || errno == EDQUOT ? SBX_E_QUOTA :
										    SBX_E_IO,
				       "--output: make %s", path) :
			       0;
}

static int
place_keep(struct place *place, struct sbx_err *err)
{
	if (fsync(place->fd) != 0 ||
		renameat(place->dir, place->temporary, place->dir, place->name) != 0)
		return sbx_fail_sys(err,
			errno == ENOSPC || errno == EDQUOT ? SBX_E_QUOTA : SBX_E_IO,
			"keep the snapshot");
	place->temporary[0] = '\0';
	return fsync(place->dir) != 0 ? sbx_fail_sys(err, SBX_E_IO, "keep the snapshot") : 0;
}

static void
place_done(struct place *place)
{
	if (place->fd >= 0 && place->temporary[0] != '\0')
		unlinkat(place->dir, place->temporary, 0);
	sbx_scoped_close(&place->fd);
	sbx_scoped_close(&place->dir);
	sbx_scoped_free(&place->name);
}

static int
print(const char *dir, const struct quota_options *options, const struct sbx_snap_foot *foot,
	int64_t took_us, struct sbx_err *err)
{
	SBX_AUTO_BUF line = QUOTA_LINES_INIT;
	struct sbx_json_out out;

	sbx_json_out_init(&out, &line);
	sbx_json_out_object(&out, NULL);
	sbx_json_out_string(&out, "type", "snapshot");
	sbx_entry_name_out(&out, "path", "path_b64", dir, strlen(dir));
	sbx_entry_name_out(&out, "output", "output_b64", options->output, strlen(options->output));
	sbx_json_out_u64(&out, "entries", foot->entries);
	sbx_json_out_u64(&out, "bytes", foot->bytes);
	sbx_json_out_u64(&out, "inodes", foot->inodes);
	sbx_json_out_bool(&out, "complete", (foot->flags & SBX_SNAP_PARTIAL) == 0);
	sbx_json_out_bool(&out, "consistent", (foot->flags & SBX_SNAP_MOVED) == 0);
	sbx_json_out_u64(&out, "total_us", (uint64_t)took_us);
	sbx_json_out_end(&out);
	if (sbx_json_out_line(&out, "snapshot record", err) < 0)
		return -1;
	return quota_flush(&line, 1, err);
}

static int
take_into(const struct quota_options *options, int dir, struct place *place,
	struct sbx_snap_foot *foot, struct sbx_err *err)
{
	const struct sbx_snap_sink sink = { .put = quota_put, .arg = &place->fd };
	struct sbx_snap since = { 0 };
	int rc = 0;

	if (options->since != NULL) {
		SBX_AUTO_FD fd = open(options->since, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

		if (fd < 0)
			return sbx_fail_sys(err,
				errno == ENOENT		? SBX_E_NOT_FOUND :
					errno == EACCES ? SBX_E_DENIED :
							  SBX_E_IO,
				"--since %s", options->since);
		if (sbx_snap_open(fd, &since, err) != 0)
			return sbx_fail_wrap(err, "--since %s", options->since);
	}
	if (place_open(place, options->output, err) != 0 ||
		quota_take(dir, options->since != NULL ? &since : NULL, options->still, &sink, foot,
			err) != 0 ||
		place_keep(place, err) != 0)
		rc = -1;
	sbx_snap_close(&since);
	return rc;
}

int
quota_snapshot(const struct quota_options *options, char *const *paths, struct sbx_err *err)
{
	int64_t began_us = sbx_clock_mono_us();
	SBX_AUTO_FD dir = -1;
	struct place place = { .dir = -1, .fd = -1 };
	struct sbx_snap_foot foot = { 0 };
	int rc;

	if (options->output == NULL)
		return sbx_fail(err, SBX_E_USAGE, "snapshot: --output FILE is needed");
	dir = quota_open_dir(paths[0], err);
	if (dir < 0)
		return -1;
	sbx_tool_defer();
	rc = take_into(options, dir, &place, &foot, err);
	place_done(&place);
	if (rc != 0)
		return -1;
	return print(paths[0], options, &foot, sbx_clock_mono_us() - began_us, err) < 0 ?
		-1 :
		SBX_EXIT_OK;
}
