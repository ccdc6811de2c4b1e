/*
 * Snapshots of anybody's making, sealed so that each entry is looked at: what is accepted is walked
 * to its end, compared with itself and with nothing, and found again by name.
 */
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "workspace/snap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned sum; /* so that each byte is looked at */

static int
tell(void *arg, const struct sbx_snap_difference *difference)
{
	unsigned *count = arg;

	if (difference->path_bytes > SBX_SNAP_PATH_MAX)
		abort();
	for (size_t i = 0; i < difference->path_bytes; i++)
		sum += (unsigned char)difference->path[i];
	++*count;
	return 0;
}

static void
use(const struct sbx_snap *snap)
{
	const struct sbx_snap_entry *entry;
	struct sbx_snap_match match;
	uint32_t next = SBX_SNAP_FIRST, place = next;
	unsigned count = 0;

	sbx_snap_match_init(&match, snap);
	for (; (entry = sbx_snap_next(snap, &next)) != NULL; place = next) {
		const unsigned char *digest = sbx_snap_digest(entry);

		sum += digest != NULL ? digest[0] + digest[31] : 0;
		match.expected = SBX_SNAP_FIRST; /* by the table, too */
		if (sbx_snap_match_name(&match, entry->parent, sbx_snap_name(entry),
			    entry->name_bytes) == 0)
			abort();
		if (entry->digest == SBX_SNAP_SETTLED &&
			sbx_snap_at(snap, sbx_snap_match_inode(&match, entry->ino))->ino !=
				entry->ino)
			abort();
	}
	sbx_snap_match_done(&match);
	(void)place;
	(void)sbx_snap_diff(snap, snap, tell, &count);
}

/* The head and the foot are ours where the input leaves them out; the rest is entries. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sbx_snap_head head = { .magic = SBX_SNAP_MAGIC, .version = SBX_SNAP_VERSION };
	size_t body = size > 8 ? (size - 1) & ~(size_t)7 : 0;
	size_t length = sizeof(head) + body + sizeof(struct sbx_snap_foot);
	unsigned char *bytes = sbx_mem_alloc(length, 1);
	struct sbx_snap_foot foot = { .mark = SBX_SNAP_FOOT };
	struct sbx_snap snap;
	struct sbx_err err = { 0 };

	memcpy(bytes, &head, sizeof(head));
	if (body > 0)
		memcpy(bytes + sizeof(head), data + 1, body);
	/* As many entries as there would be, if they all were sound, or what the input says. */
	foot.entries = size > 0 ? data[0] : 0;
	memcpy(bytes + sizeof(head) + body, &foot, sizeof(foot));
	crypto_generichash(bytes + length - SBX_SNAP_DIGEST_BYTES, SBX_SNAP_DIGEST_BYTES, bytes,
		length - SBX_SNAP_DIGEST_BYTES, NULL, 0);
	if (sbx_snap_borrow(bytes, length, &snap, &err) == 0)
		use(&snap);
	else if (err.code != SBX_E_CORRUPT)
		abort();
	free(bytes);
	return 0;
}
