/* Files with several names, told apart by their inode, so that each is counted once. */
#ifndef SBX_WORKSPACE_LINKED_H
#define SBX_WORKSPACE_LINKED_H

#include <stddef.h>
#include <stdint.h>

#define SBX_LINKED_MAX ((size_t)1 << 20)

struct sbx_linked {
	uint64_t *inodes; /* a hash table; 0: free */
	size_t count, room;
};

/* 1 at the first call with this inode of more than one name, else 0. Past SBX_LINKED_MAX files it
 * answers 1 for each name: more is counted than is there, never less. */
int sbx_linked_is_new(struct sbx_linked *linked, uint64_t ino);
void sbx_linked_done(struct sbx_linked *linked);

#endif
