/*
 * Slots, slot/<n>: each environment that root makes gets a host uid of its own, first + n. A
 * symbolic link that names the environment; made before the uid is used and removed after the last
 * file of that uid is gone.
 */
#ifndef SBX_STATE_SLOT_H
#define SBX_STATE_SLOT_H

#include <stdint.h>

#include "base/err.h"
#include "state/root.h"

/*
 * Take a free slot for env (idempotent: the one it has already, if it has): the search begins at a
 * place derived from the id, so that it is nearly always the first try. SBX_E_BUSY if all `count`
 * are taken.
 */
int sbx_slot_take(const struct sbx_state *state, const char *env, uint64_t count, int64_t *slot,
	struct sbx_err *err) __attribute__((warn_unused_result));

/* Free it, if it is env's, and one that env was taking when it died (slot -1: only that). Success if
 * there is none. */
int sbx_slot_free(const struct sbx_state *state, const char *env, int64_t slot, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* SBX_E_CONFIG if [first, first+count) meets a range of /etc/subuid or /etc/subgid of somebody
 * but root, or a uid of /etc/passwd. Names the line. */
int sbx_slot_check_range(uint64_t first, uint64_t count, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* The same with another directory's passwd, subuid and subgid. */
int sbx_slot_check_range_at(int etc_fd, uint64_t first, uint64_t count, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* The uids and gids that a plain user may give away: as many of both. */
struct sbx_slot_range {
	uint64_t uid_first, gid_first, count;
};

/*
 * The first ranges of the calling user in /etc/subuid and /etc/subgid, by its name or its number.
 * SBX_E_UNAVAILABLE that names the file which has none.
 */
int sbx_slot_user_range(struct sbx_slot_range *range, struct sbx_err *err)
	__attribute__((warn_unused_result));

#endif
