/*
 * Snapshots as they are read: checked once and whole, so that everybody else may walk the entries
 * without a doubt. A snapshot is nobody's word before its digest was seen to be right, and even then
 * each entry is looked at: it may be a stranger's file. Never changes one.
 */
#include <limits.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/scoped.h"
#include "workspace/snap_impl.h"

const char *
sbx_snap_name(const struct sbx_snap_entry *entry)
{
	return (const char *)(entry + 1) + (sbx_snap_has_digest(entry) ? SBX_SNAP_DIGEST_BYTES : 0);
}

const unsigned char *
sbx_snap_digest(const struct sbx_snap_entry *entry)
{
	/* BLAKE2b-256 of no bytes. */
	static const unsigned char of_nothing[SBX_SNAP_DIGEST_BYTES] = { 0x0e, 0x57, 0x51, 0xc0,
		0x26, 0xe5, 0x43, 0xb2, 0xe8, 0xab, 0x2e, 0xb0, 0x60, 0x99, 0xda, 0xa1, 0xd1, 0xe5,
		0xdf, 0x47, 0x77, 0x8f, 0x77, 0x87, 0xfa, 0xab, 0x45, 0xcd, 0xf1, 0x2f, 0xe3,
		0xa8 };

	if (sbx_snap_has_digest(entry))
		return (const unsigned char *)(entry + 1);
	return entry->digest == SBX_SNAP_NONE && S_ISREG(entry->mode) ? of_nothing : NULL;
}

const struct sbx_snap_entry *
sbx_snap_at(const struct sbx_snap *snap, uint32_t place)
{
	return (const void *)(snap->bytes + (size_t)place * 8);
}

const struct sbx_snap_entry *
sbx_snap_next(const struct sbx_snap *snap, uint32_t *place)
{
	const struct sbx_snap_entry *entry = sbx_snap_at(snap, *place);

	if (entry->parent == SBX_SNAP_FOOT)
		return NULL;
	*place += (uint32_t)(sbx_snap_entry_bytes(entry) / 8);
	return entry;
}

static int
corrupt(struct sbx_err *err, const char *what)
{
	return sbx_fail(err, SBX_E_CORRUPT, "the snapshot is damaged: %s", what);
}

static int
check_whole(const struct sbx_snap *snap, struct sbx_err *err)
{
	unsigned char digest[SBX_SNAP_DIGEST_BYTES];
	size_t length = snap->length - SBX_SNAP_DIGEST_BYTES;

	if (memcmp(snap->head->magic, SBX_SNAP_MAGIC, sizeof(snap->head->magic)) != 0)
		return sbx_fail(err, SBX_E_CORRUPT, "this is no snapshot");
	if (snap->head->version != SBX_SNAP_VERSION)
		return sbx_fail(err, SBX_E_UNAVAILABLE,
			"the snapshot is of version %u, known is %d", snap->head->version,
			SBX_SNAP_VERSION);
	if (snap->foot->mark != SBX_SNAP_FOOT)
		return corrupt(err, "its end is missing");
	sbx_snap_hash_fast(length);
	crypto_generichash(digest, sizeof(digest), snap->bytes, length, NULL, 0);
	return memcmp(digest, snap->foot->digest, sizeof(digest)) == 0 ?
		0 :
		corrupt(err, "its digest is another");
}

static int
is_name(const char *name, size_t length)
{
	if (length == 0 || memchr(name, '/', length) != NULL || memchr(name, '\0', length) != NULL)
		return 0;
	return !(name[0] == '.' && (length == 1 || (length == 2 && name[1] == '.')));
}

/* The directories that are open where the check is, from the first one down. */
struct ancestors {
	uint32_t *places;
	size_t depth, room;
};

static int
check_entry(const struct sbx_snap_entry *entry, uint32_t place, struct ancestors *open)
{
	if (!is_name(sbx_snap_name(entry), entry->name_bytes) ||
		entry->digest > SBX_SNAP_UNSTEADY || entry->mtime_nsec > 999999999 ||
		entry->ctime_nsec > 999999999)
		return -1;
	while (open->depth > 0 && open->places[open->depth - 1] != entry->parent)
		open->depth--;
	if (open->depth == 0 && entry->parent != 0)
		return -1;
	if (!S_ISDIR(entry->mode))
		return 0;
	if (open->depth == SBX_SNAP_LEVELS_MAX)
		return -1;
	if (open->depth == open->room) {
		open->room = open->room == 0 ? 64 : open->room * 2;
		open->places = sbx_mem_grow(open->places, open->room, sizeof(*open->places));
	}
	open->places[open->depth++] = place;
	return 0;
}

static int
check_entries(const struct sbx_snap *snap, struct sbx_err *err)
{
	size_t end = snap->length - sizeof(*snap->foot), at = sizeof(*snap->head);
	struct ancestors open = { 0 };
	uint64_t count = 0;
	int rc = 0;

	for (; rc == 0 && at < end; count++) {
		const struct sbx_snap_entry *entry = sbx_snap_at(snap, (uint32_t)(at / 8));

		if (end - at < sizeof(*entry) || end - at < sbx_snap_entry_bytes(entry) ||
			check_entry(entry, (uint32_t)(at / 8), &open) != 0)
			rc = corrupt(err, "one of its entries cannot be");
		else
			at += sbx_snap_entry_bytes(entry);
	}
	free(open.places);
	return rc == 0 && count != snap->foot->entries ? corrupt(err, "entries are missing") : rc;
}

int
sbx_snap_borrow(const void *bytes, size_t length, struct sbx_snap *snap, struct sbx_err *err)
{
	*snap = (struct sbx_snap){ .bytes = bytes, .length = length, .head = bytes };
	if (length < sizeof(*snap->head) + sizeof(*snap->foot) || length % 8 != 0)
		return corrupt(err, "its length cannot be");
	snap->foot = (const void *)(snap->bytes + length - sizeof(*snap->foot));
	return check_whole(snap, err) == 0 && check_entries(snap, err) == 0 ? 0 : -1;
}

int
sbx_snap_open(int fd, struct sbx_snap *snap, struct sbx_err *err)
{
	struct stat st;
	void *bytes;

	*snap = (struct sbx_snap){ 0 };
	if (fstat(fd, &st) != 0)
		return sbx_fail_sys(err, SBX_E_IO, "read the snapshot");
	if (!S_ISREG(st.st_mode))
		return sbx_fail(err, SBX_E_CORRUPT, "this is no snapshot, but no regular file");
	if ((uint64_t)st.st_size > SBX_SNAP_BYTES_MAX)
		return sbx_fail(err, SBX_E_TOO_LARGE, "the snapshot has more than %llu bytes",
			(unsigned long long)SBX_SNAP_BYTES_MAX);
	if (st.st_size == 0)
		return corrupt(err, "it is empty");
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return sbx_fail_sys(err, SBX_E_IO, "map the snapshot");
	if (sbx_snap_borrow(bytes, (size_t)st.st_size, snap, err) != 0) {
		munmap(bytes, (size_t)st.st_size);
		return -1;
	}
	snap->mapped = 1;
	return 0;
}

void
sbx_snap_close(struct sbx_snap *snap)
{
	if (snap->mapped)
		munmap((void *)(uintptr_t)snap->bytes, snap->length);
	*snap = (struct sbx_snap){ 0 };
}
