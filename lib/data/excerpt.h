/*
 * What is kept of an endless stream: its head and a ring of its tail, in memory that never grows
 * beyond the bound.
 */
#ifndef SBX_DATA_EXCERPT_H
#define SBX_DATA_EXCERPT_H

#include <stddef.h>
#include <stdint.h>

#include "data/result.h"

struct sbx_excerpt {
	char *head, *ring, *flat; /* flat: the ring put straight by finish() */
	size_t head_room, ring_room, head_length, ring_next;
	uint64_t total;
};

void sbx_excerpt_init(struct sbx_excerpt *excerpt, size_t bound_bytes); /* allocates lazily */
void sbx_excerpt_done(struct sbx_excerpt *excerpt);
void sbx_excerpt_add(struct sbx_excerpt *excerpt, const void *bytes, size_t length);
/* Fill a stream; its pointers are borrowed from the excerpt. Cuts at code points, if it is text. */
void sbx_excerpt_finish(struct sbx_excerpt *excerpt, struct sbx_result_stream *stream);

#endif
