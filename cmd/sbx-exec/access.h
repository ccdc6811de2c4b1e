/*
 * The workspace as plain commands: --get, --put, --ls, --authorize, and whole trees as archives. access.c
 * asks for one operation and waits for it, listing.c writes names for people.
 */
#ifndef SBX_EXEC_ACCESS_H
#define SBX_EXEC_ACCESS_H

#include "exec.h"
#include "flow.h"

/* Lines of a listing, as the reader's bytes come. */
struct listing {
	struct exec_writer *writer; /* borrowed */
	struct sbx_buf held; /* an entry that has not come whole */
	int broken; /* what came is no entry */
};
void listing_open(struct listing *listing, struct exec_writer *writer);
void listing_bytes(void *listing, const char *bytes, size_t length); /* a tap of exec_stream */
void listing_close(struct listing *listing);

/*
 * Do what the options ask for, within `hold`, which the caller has opened: the exit status, or -1 with
 * err. `run` and `plan` are the caller's to close.
 */
int exec_access(const struct exec_options *options, struct exec_hold *hold, struct exec_run *run,
	struct exec_plan *plan, struct sbx_err *err) __attribute__((warn_unused_result));

#endif
