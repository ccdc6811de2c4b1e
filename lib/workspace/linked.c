/* The table of linked.h, open addressing. Never touches a file. */
#include "workspace/linked.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/scoped.h"

#define LEAST ((size_t)1 << 10)

static size_t
slot_of(const uint64_t *table, size_t room, uint64_t ino)
{
	size_t at = (size_t)(ino * 0x9e3779b97f4a7c15u >> 20) & (room - 1);

	while (table[at] != 0 && table[at] != ino)
		at = (at + 1) & (room - 1);
	return at;
}

static void
widen(struct sbx_linked *linked)
{
	size_t room = linked->room == 0 ? LEAST : linked->room * 2;
	uint64_t *table = sbx_mem_alloc(room, sizeof(*table));

	for (size_t i = 0; i < linked->room; i++) {
		if (linked->inodes[i] != 0)
			table[slot_of(table, room, linked->inodes[i])] = linked->inodes[i];
	}
	free(linked->inodes);
	linked->inodes = table;
	linked->room = room;
}

int
sbx_linked_is_new(struct sbx_linked *linked, uint64_t ino)
{
	size_t at;

	if (linked->count * 2 >= linked->room && linked->count < SBX_LINKED_MAX)
		widen(linked);
	at = slot_of(linked->inodes, linked->room, ino);
	if (linked->inodes[at] == ino)
		return 0;
	if (linked->count < SBX_LINKED_MAX) {
		linked->inodes[at] = ino;
		linked->count++;
	}
	return 1;
}

void
sbx_linked_done(struct sbx_linked *linked)
{
	free(sbx_take_ptr(linked->inodes));
	linked->count = linked->room = 0;
}
