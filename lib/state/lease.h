/*
 * Leases, lease/<hash>.json: for each (tenant, run) the highest epoch that ever provisioned, which
 * fences the lower ones, also after a reboot: fsynced with its directory.
 */
#ifndef SBX_STATE_LEASE_H
#define SBX_STATE_LEASE_H

#include <stdint.h>

#include "base/err.h"
#include "state/root.h"

struct sbx_lease {
	int64_t epoch;
	int64_t created_wall_ms, expires_wall_ms;
};

/*
 * Take (tenant, run) at `epoch`: an epoch lower than the recorded one is SBX_E_STALE_EPOCH that
 * names both; the same or a higher one is recorded. Under the lease's own lock. *pending gets a
 * descriptor for commit(), or -1 when nothing had to be written.
 */
int sbx_lease_take(const struct sbx_state *state, const char *tenant, const char *run,
	int64_t epoch, int64_t expires_wall_ms, int *pending, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* Make what take() wrote survive a power cut (fsync of file and directory); closes pending. Apart
 * from take(), so that building goes on meanwhile: a provision is reported only after it. */
int sbx_lease_commit(const struct sbx_state *state, int pending, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* SBX_E_NOT_FOUND if there is none. */
int sbx_lease_read(const struct sbx_state *state, const char *tenant, const char *run,
	struct sbx_lease *lease, struct sbx_err *err) __attribute__((warn_unused_result));

#endif
