/*
 * What a walk has below each directory that it is in, and a list of the biggest that it left. Keeps no
 * more paths than are asked for.
 */
#include "top.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/scoped.h"

void
top_init(struct top *top, size_t most)
{
	*top = (struct top){ .directories.most = most, .files.most = most, .depth = 1, .room = 64 };
	top->directories.items = sbx_mem_alloc(most, sizeof(*top->directories.items));
	top->files.items = sbx_mem_alloc(most, sizeof(*top->files.items));
	top->levels = sbx_mem_alloc(top->room, sizeof(*top->levels));
	top->path = sbx_mem_alloc(SBX_FILES_PATH_MAX, 1);
}

static void
offer(struct top_list *list, const char *path, size_t path_bytes, uint64_t bytes, uint64_t inodes)
{
	size_t at = list->count;

	if (at == list->most && bytes <= list->items[at - 1].bytes)
		return;
	if (at == list->most)
		free(list->items[--at].path);
	else
		list->count++;
	for (; at > 0 && list->items[at - 1].bytes < bytes; at--)
		list->items[at] = list->items[at - 1];
	if (path_bytes > SBX_FILES_PATH_MAX)
		path_bytes = SBX_FILES_PATH_MAX;
	list->items[at] = (struct top_item){ .bytes = bytes,
		.inodes = inodes,
		.path = sbx_mem_dup_n(path, path_bytes),
		.path_bytes = path_bytes };
}

/* The walk has left the deepest directory. */
static void
leave(struct top *top)
{
	const struct top_level *left = &top->levels[--top->depth];
	struct top_level *above = &top->levels[top->depth - 1];

	offer(&top->directories, top->path, left->path_bytes, left->bytes, left->inodes);
	above->bytes += left->bytes;
	above->inodes += left->inodes;
}

static void
set_name(struct top *top, const char *name)
{
	size_t at = top->levels[top->depth - 1].path_bytes, length = strlen(name);

	if (at > 0 && at < SBX_FILES_PATH_MAX)
		top->path[at] = '/';
	at += at > 0;
	top->entry_bytes = at + length;
	if (at < SBX_FILES_PATH_MAX)
		memcpy(top->path + at, name,
			length < SBX_FILES_PATH_MAX - at ? length : SBX_FILES_PATH_MAX - at);
}

void
top_add(struct top *top, size_t depth, const char *name, int is_directory, uint64_t bytes)
{
	struct top_level *level;

	while (top->depth > depth)
		leave(top);
	set_name(top, name);
	level = &top->levels[top->depth - 1];
	level->inodes++;
	/* A directory's own blocks are with what it holds; it may turn out that it cannot be entered. */
	level->bytes += bytes;
	if (!is_directory)
		offer(&top->files, top->path, top->entry_bytes, bytes, 1);
}

void
top_enter(struct top *top, uint64_t bytes)
{
	if (top->depth == top->room) {
		top->room *= 2;
		top->levels = sbx_mem_grow(top->levels, top->room, sizeof(*top->levels));
	}
	top->levels[top->depth - 1].bytes -= bytes;
	top->levels[top->depth++] = (struct top_level){ .bytes = bytes,
		.path_bytes = top->entry_bytes };
}

void
top_end(struct top *top)
{
	while (top->depth > 1)
		leave(top);
}

static void
free_list(struct top_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].path);
	free(sbx_take_ptr(list->items));
	list->count = 0;
}

void
top_done(struct top *top)
{
	free_list(&top->directories);
	free_list(&top->files);
	free(sbx_take_ptr(top->levels));
	free(sbx_take_ptr(top->path));
}
