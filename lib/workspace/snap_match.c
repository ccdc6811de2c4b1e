/*
 * Finding an entry of an earlier snapshot. Two walks of a tree that hardly changed go the same way,
 * so the entry behind the last one that was found is nearly always the right one; only a walk that
 * went another way pays for a table. Never changes a snapshot.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/scoped.h"
#include "workspace/snap_impl.h"

void
sbx_snap_match_init(struct sbx_snap_match *match, const struct sbx_snap *snap)
{
	*match = (struct sbx_snap_match){ .snap = snap, .expected = SBX_SNAP_FIRST };
	match->mask = 63;
	while (match->mask < snap->foot->entries * 2)
		match->mask = match->mask * 2 + 1;
}

void
sbx_snap_match_done(struct sbx_snap_match *match)
{
	free(sbx_take_ptr(match->by_name));
	free(sbx_take_ptr(match->by_inode));
}

static size_t
hash_of(const struct sbx_snap_match *match, uint32_t parent, const char *name, size_t length)
{
	unsigned char bytes[sizeof(parent) + UINT8_MAX];
	uint64_t hash;

	memcpy(bytes, &parent, sizeof(parent));
	memcpy(bytes + sizeof(parent), name, length);
	crypto_shorthash((unsigned char *)&hash, bytes, sizeof(parent) + length, match->key);
	return (size_t)hash & match->mask;
}

/* Where it is, or would be: a file of many names is there once. */
static size_t
slot_of_inode(const struct sbx_snap_match *match, uint64_t ino)
{
	size_t at = (size_t)(ino * 0x9e3779b97f4a7c15u >> 20) & match->mask;

	while (match->by_inode[at] != 0 &&
		sbx_snap_at(match->snap, match->by_inode[at])->ino != ino)
		at = (at + 1) & match->mask;
	return at;
}

static int
is_named(const struct sbx_snap_entry *entry, uint32_t parent, const char *name, size_t length)
{
	return entry->parent == parent && entry->name_bytes == length &&
		memcmp(sbx_snap_name(entry), name, length) == 0;
}

static void
fill_names(struct sbx_snap_match *match)
{
	const struct sbx_snap_entry *entry;

	crypto_shorthash_keygen(match->key);
	match->by_name = sbx_mem_alloc(match->mask + 1, sizeof(*match->by_name));
	for (uint32_t at = SBX_SNAP_FIRST, place = at;
		(entry = sbx_snap_next(match->snap, &at)) != NULL; place = at) {
		size_t slot = hash_of(match, entry->parent, sbx_snap_name(entry),
			entry->name_bytes);

		while (match->by_name[slot] != 0)
			slot = (slot + 1) & match->mask;
		match->by_name[slot] = place;
	}
}

static void
fill_inodes(struct sbx_snap_match *match)
{
	const struct sbx_snap_entry *entry;

	match->by_inode = sbx_mem_alloc(match->mask + 1, sizeof(*match->by_inode));
	for (uint32_t at = SBX_SNAP_FIRST, place = at;
		(entry = sbx_snap_next(match->snap, &at)) != NULL; place = at)
		if (entry->digest == SBX_SNAP_SETTLED)
			match->by_inode[slot_of_inode(match, entry->ino)] = place;
}

uint32_t
sbx_snap_match_name(struct sbx_snap_match *match, uint32_t parent, const char *name, size_t length)
{
	const struct sbx_snap_entry *entry = sbx_snap_at(match->snap, match->expected);
	uint32_t place = match->expected;

	if (length > UINT8_MAX)
		return 0;
	if (!is_named(entry, parent, name, length)) {
		size_t at;

		if (match->by_name == NULL)
			fill_names(match);
		at = hash_of(match, parent, name, length);
		while ((place = match->by_name[at]) != 0 &&
			!is_named(sbx_snap_at(match->snap, place), parent, name, length))
			at = (at + 1) & match->mask;
		if (place == 0)
			return 0;
		entry = sbx_snap_at(match->snap, place);
	}
	match->expected = place + (uint32_t)(sbx_snap_entry_bytes(entry) / 8);
	return place;
}

uint32_t
sbx_snap_match_inode(struct sbx_snap_match *match, uint64_t ino)
{
	if (match->by_inode == NULL)
		fill_inodes(match);
	return match->by_inode[slot_of_inode(match, ino)];
}
