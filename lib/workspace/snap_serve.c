/*
 * A snapshot as an operation of the workspace's reader: the earlier one comes in, in chunks, and the
 * new one goes out. For trees that the host cannot see.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "base/scoped.h"
#include "workspace/impl.h"
#include "workspace/snap.h"

/* What is longer is not held, and so every file is read again: memory here is the environment's. */
#define BEFORE_MAX ((size_t)64 * 1024 * 1024)

struct earlier {
	char *bytes;
	size_t length, room;
	int dropped;
};

static int
take_chunk(int in, struct earlier *earlier, uint32_t length)
{
	char piece[4096];

	if (length > BEFORE_MAX - earlier->length)
		earlier->dropped = 1;
	if (!earlier->dropped) {
		while (earlier->room < earlier->length + length)
			earlier->room = earlier->room == 0 ? 65536 : earlier->room * 2;
		earlier->bytes = sbx_mem_grow(earlier->bytes, earlier->room, 1);
		if (sbx_workspace_take(in, earlier->bytes + earlier->length, length) != 0)
			return -1;
		earlier->length += length;
		return 0;
	}
	for (uint32_t n; length > 0; length -= n) {
		n = length < sizeof(piece) ? length : (uint32_t)sizeof(piece);
		if (sbx_workspace_take(in, piece, n) != 0)
			return -1;
	}
	return 0;
}

static int
take_earlier(int in, struct earlier *earlier)
{
	uint32_t length;

	for (;;) {
		if (sbx_workspace_take(in, &length, sizeof(length)) != 0)
			return -1;
		if (length == 0)
			return 0;
		if (take_chunk(in, earlier, length) != 0)
			return -1;
	}
}

static int
put(void *arg, const void *bytes, size_t length, struct sbx_err *err)
{
	const int *out = arg;

	if (sbx_workspace_send(*out, bytes, length) == SBX_FILES_OK)
		return 0;
	return sbx_fail_sys(err, SBX_E_IO, "send the snapshot");
}

static enum sbx_files_failure
serve(int dir, const struct sbx_snap *before, int quiet, int out)
{
	const struct sbx_snap_sink sink = { .put = put, .arg = &out };
	struct sbx_err err = { 0 };
	struct sbx_snap_take *take = sbx_snap_begin(dir, before, quiet, &sink, &err);
	int rc = take == NULL ? -1 : sbx_snap_step(take, INT64_MAX / 2, &err);

	sbx_snap_end(take);
	return rc == 0 ? SBX_FILES_OK : SBX_FILES_IO;
}

enum sbx_files_failure
sbx_workspace_snapshot(int workspace_fd, const struct sbx_files_want *want, int in, int out)
{
	struct earlier earlier = { 0 };
	SBX_AUTO_FREE char *bytes = NULL;
	struct sbx_snap before = { 0 };
	struct sbx_err err = { 0 };
	int there;

	if (take_earlier(in, &earlier) != 0) {
		free(earlier.bytes);
		return SBX_FILES_BROKEN;
	}
	bytes = earlier.bytes;
	/* The host has looked at it already: one that is not sound is none. */
	there = !earlier.dropped && earlier.length > 0 &&
		sbx_snap_borrow(bytes, earlier.length, &before, &err) == 0;
	return serve(workspace_fd, there ? &before : NULL, (want->flags & SBX_FILES_QUIET) != 0,
		out);
}
