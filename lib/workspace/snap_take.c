/*
 * A snapshot in the making: a walk in steps, so that who takes it can do other things between; each
 * entry is looked at once, and its bytes are read only where an earlier snapshot's digest does not
 * hold (snap_stamps.c). Never changes the tree, and opens nothing but directories and regular files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "workspace/linked.h"
#include "workspace/snap_impl.h"
#include "workspace/tree.h"

#define NOWHERE UINT32_MAX /* a directory that the earlier snapshot does not have */

struct level {
	uint32_t place, before; /* of the directory's entry here, and in the earlier snapshot */
};

struct sbx_snap_take {
	struct sbx_tree tree;
	struct sbx_snap_out *out; /* large: not zeroed with the rest */
	struct sbx_snap_stamps stamps;
	struct sbx_snap_foot foot;
	struct sbx_linked linked;
	uint64_t holes_left;
	int reuse; /* digests of the earlier one may be used */
	struct sbx_snap_match match; /* of the earlier one; without a snap there is none */
	struct level *levels; /* beside the tree's */
	size_t room, reserved_depth;
	/* The entry in hand, while its bytes are read. */
	struct sbx_snap_hash *hash;
	struct sbx_snap_entry entry;
	struct stat st;
	uint32_t before;
	int tries;
};

static int
put_entry(struct sbx_snap_take *take, const unsigned char *digest, struct sbx_err *err)
{
	take->foot.entries++;
	return sbx_snap_out_entry(take->out, &take->entry, take->tree.name, digest, err);
}

static const struct sbx_snap_entry *
find_before(struct sbx_snap_take *take)
{
	const struct sbx_snap_entry *entry;

	if (!take->reuse)
		return NULL;
	if (take->before != 0) {
		entry = sbx_snap_at(take->match.snap, take->before);
		if (sbx_snap_holds(entry, &take->st))
			return entry;
	}
	/* It may have had another name. */
	entry = sbx_snap_at(take->match.snap, sbx_snap_match_inode(&take->match, take->st.st_ino));
	return (const void *)entry != (const void *)take->match.snap->bytes &&
			sbx_snap_holds(entry, &take->st) ?
		entry :
		NULL;
}

/* A directory's entry is put before what it holds; one that cannot be entered is told all the same. */
static int
enter(struct sbx_snap_take *take, uint32_t place)
{
	size_t depth = take->tree.depth;
	enum sbx_files_failure failure = depth < SBX_SNAP_LEVELS_MAX ? sbx_tree_enter(&take->tree) :
								       SBX_FILES_DENIED;

	if (failure == SBX_FILES_DENIED)
		take->foot.flags |= SBX_SNAP_PARTIAL;
	else if (failure != SBX_FILES_OK && failure != SBX_FILES_OUTSIDE)
		take->foot.flags |= SBX_SNAP_MOVED;
	if (failure != SBX_FILES_OK)
		return 0;
	if (depth == take->room) {
		take->room *= 2;
		take->levels = sbx_mem_grow(take->levels, take->room, sizeof(*take->levels));
	}
	take->levels[depth] = (struct level){ .place = place,
		.before = take->before != 0 ? take->before : NOWHERE };
	return 0;
}

static void
describe(struct sbx_snap_take *take, size_t name_bytes)
{
	const struct stat *st = &take->st;

	take->entry = (struct sbx_snap_entry){
		.parent = take->levels[take->tree.depth - 1].place,
		.mode = (uint16_t)st->st_mode,
		.name_bytes = (uint8_t)name_bytes,
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.blocks = (uint64_t)st->st_blocks,
		.mtime_sec = st->st_mtim.tv_sec,
		.ctime_sec = st->st_ctim.tv_sec,
		.mtime_nsec = (uint32_t)st->st_mtim.tv_nsec,
		.ctime_nsec = (uint32_t)st->st_ctim.tv_nsec,
		.nlink = (uint32_t)st->st_nlink,
	};
}

/* The bytes are read by steps of their own; what cannot be read is told without a digest. */
static int
begin_hash(struct sbx_snap_take *take, struct sbx_err *err)
{
	int failed;

	take->hash = sbx_snap_hash_begin(take->tree.dir, take->tree.name, &take->st,
		&take->holes_left, &failed);
	if (take->hash != NULL)
		return 0;
	take->entry.digest = (uint8_t)failed;
	if (failed == SBX_SNAP_UNSTEADY)
		take->foot.flags |= SBX_SNAP_MOVED;
	return put_entry(take, NULL, err);
}

static int
take_link(struct sbx_snap_take *take, struct sbx_err *err)
{
	unsigned char digest[SBX_SNAP_DIGEST_BYTES];

	take->entry.digest = SBX_SNAP_UNSTEADY;
	if (sbx_snap_hash_link(take->tree.dir, take->tree.name, digest) == 0)
		take->entry.digest = sbx_snap_settles(&take->stamps, &take->st) ? SBX_SNAP_SETTLED :
										  SBX_SNAP_FRESH;
	else
		take->foot.flags |= SBX_SNAP_MOVED;
	return put_entry(take, sbx_snap_has_digest(&take->entry) ? digest : NULL, err);
}

static int
take_entry(struct sbx_snap_take *take, struct sbx_err *err)
{
	size_t name_bytes = strlen(take->tree.name);
	uint32_t parent = take->levels[take->tree.depth - 1].before;
	uint32_t place = (uint32_t)(take->out->length / 8);
	const struct sbx_snap_entry *before;

	describe(take, name_bytes);
	take->before = take->match.snap == NULL || parent == NOWHERE ?
		0 :
		sbx_snap_match_name(&take->match, parent, take->tree.name, name_bytes);
	if (S_ISDIR(take->st.st_mode))
		return put_entry(take, NULL, err) != 0 ? -1 : enter(take, place);
	if ((!S_ISREG(take->st.st_mode) || take->st.st_size == 0) && !S_ISLNK(take->st.st_mode))
		return put_entry(take, NULL, err);
	before = find_before(take);
	if (before != NULL) {
		take->entry.digest = SBX_SNAP_SETTLED;
		return put_entry(take, sbx_snap_digest(before), err);
	}
	take->tries = 0;
	return S_ISLNK(take->st.st_mode) ? take_link(take, err) : begin_hash(take, err);
}

/* Counted is everything, also what lies in the reserved directory. */
static int
look(struct sbx_snap_take *take, struct sbx_err *err)
{
	struct sbx_tree *tree = &take->tree;
	struct stat *st = &take->st;

	if (fstatat(tree->dir, tree->name, st, AT_SYMLINK_NOFOLLOW) != 0) {
		/* In a directory that may be read and not searched nothing can be looked at. */
		take->foot.flags |= errno == EACCES ? SBX_SNAP_PARTIAL : SBX_SNAP_MOVED;
		take->foot.inodes += errno == EACCES;
		return errno == ENOENT || errno == EACCES ?
			0 :
			sbx_fail_sys(err, SBX_E_IO, "look at an entry");
	}
	if (st->st_dev != tree->dev)
		return 0;
	take->foot.inodes++;
	if (S_ISDIR(st->st_mode) || st->st_nlink < 2 ||
		sbx_linked_is_new(&take->linked, st->st_ino))
		take->foot.bytes += (uint64_t)st->st_blocks * 512;
	if (take->reserved_depth >= tree->depth)
		take->reserved_depth = 0;
	if (take->reserved_depth == 0 &&
		(tree->depth > 1 || strcmp(tree->name, SBX_SNAP_RESERVED) != 0))
		return take_entry(take, err);
	if (take->reserved_depth == 0)
		take->reserved_depth = tree->depth;
	return S_ISDIR(st->st_mode) ? enter(take, 0) : 0;
}

/* A file that changed while it was read is read once more. */
static int
go_on_hashing(struct sbx_snap_take *take, struct sbx_err *err)
{
	unsigned char digest[SBX_SNAP_DIGEST_BYTES];
	int rc = sbx_snap_hash_step(take->hash, digest);

	if (rc > 0)
		return 0;
	sbx_snap_hash_end(take->hash);
	take->hash = NULL;
	if (rc == 0) {
		take->entry.digest = sbx_snap_settles(&take->stamps, &take->st) ? SBX_SNAP_SETTLED :
										  SBX_SNAP_FRESH;
		return put_entry(take, digest, err);
	}
	take->foot.flags |= SBX_SNAP_MOVED;
	if (take->tries++ == 0 &&
		fstatat(take->tree.dir, take->tree.name, &take->st, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISREG(take->st.st_mode) && take->st.st_dev == take->tree.dev) {
		describe(take, take->entry.name_bytes);
		return begin_hash(take, err);
	}
	take->entry.digest = SBX_SNAP_UNSTEADY;
	return put_entry(take, NULL, err);
}

/* ---- the whole */

struct sbx_snap_take *
sbx_snap_begin(int dir, const struct sbx_snap *before, int quiet, const struct sbx_snap_sink *sink,
	struct sbx_err *err)
{
	struct sbx_snap_head head = { .magic = SBX_SNAP_MAGIC, .version = SBX_SNAP_VERSION };
	struct sbx_snap_take *take = sbx_mem_alloc(1, sizeof(*take));
	int opened = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	take->out = sbx_mem_grow(NULL, 1, sizeof(*take->out));
	take->holes_left = SBX_SNAP_HOLES_MAX;
	take->room = 16;
	take->levels = sbx_mem_alloc(take->room, sizeof(*take->levels));
	take->levels[0].before = before == NULL ? NOWHERE : 0;
	if (before != NULL)
		sbx_snap_match_init(&take->match, before);
	if (opened < 0 || sbx_tree_open(&take->tree, opened, NULL) != SBX_FILES_OK) {
		sbx_fail_sys(err, errno == EACCES ? SBX_E_DENIED : SBX_E_IO, "open the directory");
		sbx_snap_end(take);
		return NULL;
	}
	head.dev = take->tree.dev;
	if (sbx_snap_stamps_begin(&take->stamps, &head, dir, quiet, err) != 0 ||
		sbx_snap_out_begin(take->out, sink, &head, err) != 0) {
		sbx_snap_end(take);
		return NULL;
	}
	take->reuse = before != NULL && sbx_snap_stamps_continue(before->head, &head);
	return take;
}

int
sbx_snap_step(struct sbx_snap_take *take, int64_t budget_us, struct sbx_err *err)
{
	int64_t until_us = sbx_clock_mono_us() + budget_us;
	int rc = 0;

	for (unsigned steps = 0; rc == 0; steps++) {
		/* The clock is looked at once in a while only. */
		if ((take->hash != NULL || steps % 64 == 63) && sbx_clock_mono_us() >= until_us)
			return 1;
		if (take->hash != NULL) {
			rc = go_on_hashing(take, err);
			continue;
		}
		switch (sbx_tree_next(&take->tree)) {
		case 0:
			return sbx_snap_out_end(take->out, &take->foot, err);
		case 1:
			rc = look(take, err);
			break;
		default:
			return sbx_fail_sys(err, SBX_E_IO, "walk the tree");
		}
	}
	return rc;
}

const struct sbx_snap_foot *
sbx_snap_total(const struct sbx_snap_take *take)
{
	return &take->foot;
}

void
sbx_snap_end(struct sbx_snap_take *take)
{
	if (take == NULL)
		return;
	sbx_snap_hash_end(take->hash);
	sbx_snap_match_done(&take->match);
	sbx_linked_done(&take->linked);
	sbx_tree_done(&take->tree);
	free(take->levels);
	free(take->out);
	free(take);
}
