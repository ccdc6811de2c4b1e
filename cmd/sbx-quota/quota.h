/*
 * sbx-quota: what directories take up, and what changed in them. Each verb is a file; none needs a
 * state directory, and none changes the tree that it looks at.
 */
#ifndef SBX_QUOTA_H
#define SBX_QUOTA_H

#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"
#include "data/json_out.h"
#include "mech/tool.h"
#include "workspace/snap.h"

struct quota_options {
	struct sbx_opt_common common;
	int table;
	uint64_t top; /* measure: how many directories and files are named; 0: not given */
	const char *output, *since; /* snapshot */
	int still; /* nobody writes meanwhile */
	int exit_code; /* diff */
	uint64_t interval_ms, bytes, inodes, count; /* watch; 0: not given */
};
extern const struct sbx_tool_about quota_about;

/* Each answers the exit status, or -1 with err; `paths` are as many as the verb takes. */
int quota_measure(const struct quota_options *options, char *const *paths, struct sbx_err *err);
int quota_snapshot(const struct quota_options *options, char *const *paths, struct sbx_err *err);
int quota_diff(const struct quota_options *options, char *const *paths, struct sbx_err *err);
int quota_watch(const struct quota_options *options, char *const *paths, struct sbx_err *err);

/* ---- main.c */
/* SBX_E_NOT_FOUND, SBX_E_BAD_REQUEST that it is no directory, SBX_E_DENIED. */
int quota_open_dir(const char *path, struct sbx_err *err) __attribute__((warn_unused_result));
/* Lines so far, when there are many of them or at the end. */
int quota_flush(struct sbx_buf *lines, int all, struct sbx_err *err)
	__attribute__((warn_unused_result));
#define QUOTA_LINES_INIT SBX_BUF_INIT((size_t)4 * 1024 * 1024)

/* ---- snapshot.c: one of a directory, until it is whole */
int quota_take(int dir, const struct sbx_snap *since, int still, const struct sbx_snap_sink *sink,
	struct sbx_snap_foot *foot, struct sbx_err *err) __attribute__((warn_unused_result));
/* The sink of a descriptor: its arg is a pointer to it. */
int quota_put(void *arg, const void *bytes, size_t length, struct sbx_err *err);

#endif
