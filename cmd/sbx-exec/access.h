/*
 * The workspace as plain commands: --get, --put, --ls, --authorize, and whole trees as archives.
 * access.c asks for one operation and waits for it, authorize.c judges a path, listing.c writes
 * names for people, tar.c runs sbx-tar.
 */
#ifndef SBX_EXEC_ACCESS_H
#define SBX_EXEC_ACCESS_H

#include "exec.h"
#include "run.h"

/* Lines of a listing, as the reader's bytes come. */
struct listing {
	struct exec_writer *writer; /* borrowed */
	struct sbx_buf held; /* an entry that has not come whole */
	int broken; /* what came is no entry */
};
void listing_open(struct listing *listing, struct exec_writer *writer);
void listing_bytes(void *listing, const char *bytes, size_t length); /* a tap of exec_stream */
void listing_close(struct listing *listing);

/* authorize.c: *reason is NULL, "outside" or "symlink"; -1 where it could not be looked at. */
int access_judge(struct exec_run *run, const struct sbx_files_want *want, const char **reason,
	struct sbx_err *err) __attribute__((warn_unused_result));

/* ---- tar.c: sbx-tar beside us */
struct tar {
	pid_t pid; /* 0: none */
	int ours; /* our end of its stream: to be written (out) or read (in); owned */
	int said; /* what it complains about, or -1; owned */
};
int tar_begin_out(struct tar *tar, const char *libexec, struct sbx_err *err)
	__attribute__((warn_unused_result));
int tar_begin_in(struct tar *tar, const char *libexec, uint64_t max_bytes, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* Close our end and wait for it, or kill it first: 0 if it did all it had to, else -1 with err (may
 * be NULL), its own words. Idempotent. */
int tar_end(struct tar *tar, int at_once, struct sbx_err *err);

/*
 * Do what the options ask for, within `hold`, which the caller has opened: the exit status, or -1
 * with err. `run` and `plan` are the caller's to close.
 */
int exec_access(const struct exec_options *options, struct exec_hold *hold, struct exec_run *run,
	struct exec_plan *plan, struct sbx_err *err) __attribute__((warn_unused_result));

#endif
