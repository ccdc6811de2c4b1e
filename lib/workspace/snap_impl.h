/* What the snap_*.c files share and nobody else includes. */
#ifndef SBX_WORKSPACE_SNAP_IMPL_H
#define SBX_WORKSPACE_SNAP_IMPL_H

#include <sodium.h>
#include <sys/stat.h>

#include "workspace/snap.h"

static inline int
sbx_snap_has_digest(const struct sbx_snap_entry *entry)
{
	return entry->digest == SBX_SNAP_SETTLED || entry->digest == SBX_SNAP_FRESH;
}

/* Of an entry with all that follows it. */
static inline size_t
sbx_snap_entry_bytes(const struct sbx_snap_entry *entry)
{
	size_t tail = entry->name_bytes +
		(sbx_snap_has_digest(entry) ? (size_t)SBX_SNAP_DIGEST_BYTES : 0);

	return sizeof(*entry) + ((tail + 7) & ~(size_t)7);
}

/* ---- snap_hash.c: the bytes of one file, in pieces */

/* libsodium takes 30 us to find out which of its ways suits this processor: only for many bytes. */
void sbx_snap_hash_fast(uint64_t bytes);

struct sbx_snap_hash;
/*
 * Begin with a file that an entry of `dir` was seen to be: NULL, and `failed` the enum
 * sbx_snap_digest that says why. *holes_left is what may be hashed of holes, and is taken from.
 */
struct sbx_snap_hash *sbx_snap_hash_begin(int dir, const char *name, const struct stat *seen,
	uint64_t *holes_left, int *failed) __attribute__((warn_unused_result));
/* Some 256 KiB more: 1 go on, 0 it is done, -1 it is another file by now, or cannot be read. */
int sbx_snap_hash_step(struct sbx_snap_hash *hash, unsigned char digest[SBX_SNAP_DIGEST_BYTES]);
void sbx_snap_hash_end(struct sbx_snap_hash *hash); /* NULL is fine */

/* A link's target. 0, or -1. */
int sbx_snap_hash_link(int dir, const char *name, unsigned char digest[SBX_SNAP_DIGEST_BYTES]);

/* ---- snap_stamps.c */
struct sbx_snap_stamps {
	int64_t now_ns; /* by the clock of the stamps: older ones would move at the next store */
	int tell; /* and all stores do move them */
};
/* At the beginning of a walk: fills in the head what later ones compare. */
int sbx_snap_stamps_begin(struct sbx_snap_stamps *stamps, struct sbx_snap_head *head, int dir,
	int quiet, struct sbx_err *err) __attribute__((warn_unused_result));
/* Whether stamps of the two walks can be compared: no reboot, no step of the clock between, one file
 * system that stamps. */
int sbx_snap_stamps_continue(const struct sbx_snap_head *before, const struct sbx_snap_head *now);
/* Whether an earlier digest is right for what is there now: not one of its stamps has moved. */
int sbx_snap_holds(const struct sbx_snap_entry *before, const struct stat *st);
/* Whether a digest that was just taken will be believed later. */
int sbx_snap_settles(const struct sbx_snap_stamps *stamps, const struct stat *st);
/* Whether nothing was stored between two looks at a file. */
int sbx_snap_same_stamps(const struct stat *a, const struct stat *b);

/* ---- snap_out.c */
struct sbx_snap_out {
	struct sbx_snap_sink sink;
	crypto_generichash_state state;
	uint64_t length; /* so far: where the next entry will be */
	size_t held;
	char bytes[65536];
};
int sbx_snap_out_begin(struct sbx_snap_out *out, const struct sbx_snap_sink *sink,
	const struct sbx_snap_head *head, struct sbx_err *err) __attribute__((warn_unused_result));
int sbx_snap_out_entry(struct sbx_snap_out *out, const struct sbx_snap_entry *entry,
	const char *name, const unsigned char *digest, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* Fills its digest. */
int sbx_snap_out_end(struct sbx_snap_out *out, struct sbx_snap_foot *foot, struct sbx_err *err)
	__attribute__((warn_unused_result));

#endif
