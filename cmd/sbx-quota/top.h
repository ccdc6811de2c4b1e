/* The biggest directories, with all below them, and files of a walk. For measure.c alone. */
#ifndef SBX_QUOTA_TOP_H
#define SBX_QUOTA_TOP_H

#include <stddef.h>
#include <stdint.h>

#include "workspace/workspace.h"

struct top_item {
	uint64_t bytes, inodes;
	char *path; /* owned; its end is missing beyond SBX_FILES_PATH_MAX */
	size_t path_bytes;
};
struct top_list {
	struct top_item *items; /* the biggest first */
	size_t count, most;
};

struct top_level {
	uint64_t bytes, inodes; /* of all below, until now */
	size_t path_bytes; /* without a '/' */
};
struct top {
	struct top_list directories, files;
	struct top_level *levels; /* of the walk, from the first directory on */
	size_t depth, room;
	size_t entry_bytes; /* of the present entry's path */
	char *path;
};

void top_init(struct top *top, size_t most);
/* An entry at this depth of the walk (1: in the first directory) takes up so much. */
void top_add(struct top *top, size_t depth, const char *name, int is_directory, uint64_t bytes);
/* What follows is in it; bytes are its own. */
void top_enter(struct top *top, uint64_t bytes);
void top_end(struct top *top);
void top_done(struct top *top); /* a zeroed one is fine */

#endif
