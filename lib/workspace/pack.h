/*
 * A tree of files as a plain stream, between the walk of a workspace, which runs where the
 * workspace is, and a tar archive, which only cmd/sbx-tar knows. Each entry is this struct, its
 * path and its target (neither with a NUL); a FILE is followed by its bytes as chunks, each a
 * uint32_t and so many bytes, one of 0 bytes being the end. The last entry is END: an end of the
 * stream before it is a broken one. Byte order of one machine: both ends are one build.
 */
#ifndef SBX_WORKSPACE_PACK_H
#define SBX_WORKSPACE_PACK_H

#include <stdint.h>

#define SBX_PACK_MAGIC 0x6b706273u /* "sbpk" */
#define SBX_PACK_CHUNK_MAX 65536

enum sbx_pack_kind {
	SBX_PACK_END = 0,
	SBX_PACK_DIRECTORY, /* comes before what it holds */
	SBX_PACK_FILE,
	SBX_PACK_SYMLINK, /* target: as it is */
	SBX_PACK_HARDLINK, /* target: the path of a FILE before it */
	SBX_PACK_SKIPPED, /* was there and is no file of the workspace: device, fifo, socket, a mount */
};

struct sbx_pack_entry {
	uint32_t magic, kind;
	uint32_t mode; /* permissions, at most 0777 */
	uint32_t path_bytes, target_bytes; /* each less than SBX_FILES_PATH_MAX */
	uint32_t mtime_nsec;
	int64_t mtime_sec;
	uint64_t
		size; /* of a FILE as it was when it was looked at; what comes may be more or less */
};

#endif
