/*
 * Head and tail of a stream in one block of the bound's size: the head fills its half, what follows
 * goes round in the other. The two halves are neighbours, so a stream within the bound lies there
 * whole, in order, and only an overrun ring must be put straight.
 */
#include "data/excerpt.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void
sbx_excerpt_init(struct sbx_excerpt *excerpt, size_t bound_bytes)
{
	*excerpt = (struct sbx_excerpt){
		.head_room = bound_bytes - bound_bytes / 2,
		.ring_room = bound_bytes / 2,
	};
}

void
sbx_excerpt_done(struct sbx_excerpt *excerpt)
{
	if (excerpt == NULL)
		return;
	free(excerpt->head); /* the ring is its second half */
	free(excerpt->flat);
	memset(excerpt, 0, sizeof(*excerpt));
}

/* Only the last ring_room bytes matter; at most two copies. */
static void
add_to_ring(struct sbx_excerpt *excerpt, const char *bytes, size_t length)
{
	size_t first;

	if (excerpt->ring_room == 0)
		return;
	if (length > excerpt->ring_room) {
		bytes += length - excerpt->ring_room;
		length = excerpt->ring_room;
	}
	first = excerpt->ring_room - excerpt->ring_next;
	if (first > length)
		first = length;
	memcpy(excerpt->ring + excerpt->ring_next, bytes, first);
	memcpy(excerpt->ring, bytes + first, length - first);
	excerpt->ring_next = (excerpt->ring_next + length) % excerpt->ring_room;
}

void
sbx_excerpt_add(struct sbx_excerpt *excerpt, const void *bytes, size_t length)
{
	size_t to_head = excerpt->head_room - excerpt->head_length;

	if (length == 0)
		return;
	excerpt->total += length;
	if (excerpt->head_room == 0)
		return;
	if (excerpt->head == NULL) {
		/* Not zeroed: pages of the bound that no output reaches are never touched. */
		excerpt->head = sbx_mem_grow(NULL, excerpt->head_room + excerpt->ring_room, 1);
		excerpt->ring = excerpt->head + excerpt->head_room;
	}
	if (to_head > length)
		to_head = length;
	memcpy(excerpt->head + excerpt->head_length, bytes, to_head);
	excerpt->head_length += to_head;
	if (length > to_head)
		add_to_ring(excerpt, (const char *)bytes + to_head, length - to_head);
}

/* The ring from its oldest byte on. */
static void
straighten(struct sbx_excerpt *excerpt)
{
	size_t older = excerpt->ring_room - excerpt->ring_next;

	free(excerpt->flat);
	excerpt->flat = sbx_mem_grow(NULL, excerpt->ring_room + 1, 1);
	if (excerpt->ring_room == 0)
		return;
	memcpy(excerpt->flat, excerpt->ring + excerpt->ring_next, older);
	memcpy(excerpt->flat + older, excerpt->ring, excerpt->ring_next);
}

void
sbx_excerpt_finish(struct sbx_excerpt *excerpt, struct sbx_result_stream *stream)
{
	*stream = (struct sbx_result_stream){ .bytes = excerpt->total, .head = excerpt->head };
	if (excerpt->head == NULL)
		stream->head = "";
	if (excerpt->total <= excerpt->head_room + excerpt->ring_room) {
		stream->head_length = (size_t)excerpt->total;
	} else {
		straighten(excerpt);
		stream->head_length = excerpt->head_length;
		stream->tail = excerpt->flat;
		stream->tail_length = excerpt->ring_room;
		sbx_result_stream_trim(stream);
	}
	stream->kept = stream->head_length + stream->tail_length;
}
