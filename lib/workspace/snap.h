/*
 * Snapshots: what a tree was at one moment, so that what changed can be told later and cannot be
 * hidden: type, size, mode, time stamps, inode and BLAKE2b-256 of each regular file's bytes and each
 * link's target. A file is read again only where its stamps cannot prove that it is the same.
 *
 * Format (version 1, byte order of one machine): a head, entries in the order of the walk, each
 * directory right before what it holds, and a foot with a BLAKE2b-256 of all before it. An entry is
 * followed by its name and, where it has one, its digest; each begins at a multiple of 8 bytes, its
 * `place` in the file being its offset / 8. The tree's first directory has no entry; what it holds
 * has the parent 0. Musl-clean: it is part of sbx-init. Never follows a link, enters no mount.
 */
#ifndef SBX_WORKSPACE_SNAP_H
#define SBX_WORKSPACE_SNAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SBX_SNAP_MAGIC "sbxsnap" /* with its NUL */
#define SBX_SNAP_VERSION 1
#define SBX_SNAP_DIGEST_BYTES 32
#define SBX_SNAP_BYTES_MAX ((uint64_t)8 << 30) /* of the whole: places fit in 32 bits */
#define SBX_SNAP_HOLES_MAX ((uint64_t)1 << 30) /* holes that one snapshot hashes */
#define SBX_SNAP_LEVELS_MAX 65536 /* directories below one another */
#define SBX_SNAP_FOOT UINT32_MAX /* instead of an entry's parent */
#define SBX_SNAP_RESERVED ".sbx" /* in the first directory: counted, and not looked at */

struct sbx_snap_head {
	char magic[8];
	uint32_t version, flags; /* enum sbx_snap_flag */
	uint64_t dev; /* of the tree's first directory */
	int64_t stamps_ns; /* the clock of time stamps when the walk began */
	int64_t wall_less_boot_ns; /* CLOCK_REALTIME - CLOCK_BOOTTIME then */
	char boot_id[40];
};

enum sbx_snap_flag {
	SBX_SNAP_STAMPED = 1, /* every store moves a stamp of the file: file systems known for it */
	SBX_SNAP_MOVED = 2, /* in the foot: the tree changed while it was walked */
	SBX_SNAP_PARTIAL = 4, /* in the foot: a directory could not be read */
};

enum sbx_snap_digest {
	SBX_SNAP_NONE = 0, /* nothing to hash: an empty file, neither file nor link */
	SBX_SNAP_SETTLED, /* holds as long as the stamps do */
	SBX_SNAP_FRESH, /* was right, but the stamps are too recent to prove it next time */
	/* and without a digest: */
	SBX_SNAP_TOO_LARGE, /* holes beyond SBX_SNAP_HOLES_MAX */
	SBX_SNAP_DENIED, /* may not be read */
	SBX_SNAP_UNSTEADY, /* changed while it was read, twice; or it failed */
};

struct sbx_snap_entry {
	uint32_t parent; /* the place of its directory's entry */
	uint16_t mode; /* type and permissions, as stat(2) */
	uint8_t name_bytes, digest; /* enum sbx_snap_digest */
	uint64_t ino, size, blocks; /* blocks of 512 bytes */
	int64_t mtime_sec, ctime_sec;
	uint32_t mtime_nsec, ctime_nsec;
	uint32_t nlink, reserved;
};
_Static_assert(sizeof(struct sbx_snap_entry) == 64, "entries keep their places");

struct sbx_snap_foot {
	uint32_t mark, flags;
	uint64_t entries;
	uint64_t bytes,
		inodes; /* blocks allocated, hard links once; all names, also those of .sbx */
	unsigned char digest[SBX_SNAP_DIGEST_BYTES];
};

/* ---- snap_read.c */
struct sbx_snap {
	const unsigned char *bytes;
	int mapped; /* by us */
	size_t length;
	const struct sbx_snap_head *head;
	const struct sbx_snap_foot *foot;
};
/*
 * Map a snapshot and check all of it. SBX_E_CORRUPT that says how, SBX_E_UNAVAILABLE for another
 * version, SBX_E_TOO_LARGE, SBX_E_IO. fd stays the caller's and must not change while it is open.
 */
int sbx_snap_open(int fd, struct sbx_snap *snap, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* The same of bytes in memory at a multiple of 8, which stay the caller's. */
int sbx_snap_borrow(const void *bytes, size_t length, struct sbx_snap *snap, struct sbx_err *err)
	__attribute__((warn_unused_result));
void sbx_snap_close(struct sbx_snap *snap); /* a zeroed one is fine */
/* The entry at *place, which goes on to the next; NULL at the end. Begins at sbx_snap_first. */
#define SBX_SNAP_FIRST ((uint32_t)(sizeof(struct sbx_snap_head) / 8))
const struct sbx_snap_entry *sbx_snap_next(const struct sbx_snap *snap, uint32_t *place);
const struct sbx_snap_entry *sbx_snap_at(const struct sbx_snap *snap, uint32_t place);
const char *sbx_snap_name(const struct sbx_snap_entry *entry); /* name_bytes, no NUL */
/* Its 32 bytes, those of nothing for an empty file, or NULL. */
const unsigned char *sbx_snap_digest(const struct sbx_snap_entry *entry);

/* ---- snap_take.c */
struct sbx_snap_sink {
	int (*put)(void *arg, const void *bytes, size_t length, struct sbx_err *err);
	void *arg;
};
struct sbx_snap_take;
/*
 * Begin at `dir`, which stays the caller's; `before` (borrowed until end(), may be NULL) is an
 * earlier snapshot of the same tree, whose digests are used where they still hold. `quiet`: no
 * process that may write the tree lives from here to the end. NULL with err.
 */
struct sbx_snap_take *sbx_snap_begin(int dir, const struct sbx_snap *before, int quiet,
	const struct sbx_snap_sink *sink, struct sbx_err *err) __attribute__((warn_unused_result));
/*
 * Go on for about budget_us: 1 there is more, 0 all of it was put, -1. Blocks as disks do. A tree
 * that moves meanwhile is told by the foot's flags, as are directories that may not be read.
 */
int sbx_snap_step(struct sbx_snap_take *take, int64_t budget_us, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* When step() answered 0: what the foot says. */
const struct sbx_snap_foot *sbx_snap_total(const struct sbx_snap_take *take);
void sbx_snap_end(struct sbx_snap_take *take); /* NULL is fine */

/* Put a snapshot of a directory that holds one empty file, of which nothing else is known. */
int sbx_snap_put_marker(const struct sbx_snap_sink *sink, const char *name, uint32_t permissions,
	struct sbx_err *err) __attribute__((warn_unused_result));

/* ---- snap_match.c: entries of one snapshot, found by where they are or by their inode */
struct sbx_snap_match {
	const struct sbx_snap *snap;
	uint32_t expected; /* the place that is tried first */
	uint32_t *by_name, *by_inode; /* hash tables of places; NULL: not needed yet */
	size_t mask;
	unsigned char key[16]; /* names are the code's choice */
};
void sbx_snap_match_init(struct sbx_snap_match *match, const struct sbx_snap *snap);
void sbx_snap_match_done(struct sbx_snap_match *match);
/* The place of `name` in the directory at place `parent`; 0: there is none. Quick in walk order. */
uint32_t sbx_snap_match_name(struct sbx_snap_match *match, uint32_t parent, const char *name,
	size_t length);
/* A regular file's or link's entry with a settled digest. */
uint32_t sbx_snap_match_inode(struct sbx_snap_match *match, uint64_t ino);

/* ---- snap_diff.c */
enum sbx_snap_change {
	SBX_SNAP_CREATED,
	SBX_SNAP_MODIFIED, /* bytes, or a link's target */
	SBX_SNAP_DELETED,
	SBX_SNAP_TYPE_CHANGED,
	SBX_SNAP_MODE_CHANGED, /* permissions alone */
};
extern const char *const sbx_snap_change_names[];
/*
 * Call `tell` for each difference: entries that are there now in the order of `now`, then those
 * that are gone. `was` is NULL for what was created, `is` for what was deleted; the path is
 * relative and valid for the call. A tell() that answers not 0 ends it, with that answer.
 */
struct sbx_snap_difference {
	enum sbx_snap_change change;
	const struct sbx_snap_entry *was, *is;
	const char *path;
	size_t path_bytes; /* SBX_SNAP_PATH_MAX at most: what is deeper has its path's end missing */
};
#define SBX_SNAP_PATH_MAX 65536
int sbx_snap_diff(const struct sbx_snap *before, const struct sbx_snap *now,
	int (*tell)(void *arg, const struct sbx_snap_difference *difference), void *arg);

#endif
