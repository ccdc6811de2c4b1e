/*
 * The digest of one file of a hostile tree: read to its end in pieces, holes told by the file system
 * and not read, and looked at before and after, so that a digest belongs to the stamps beside it.
 * Opens nothing but regular files, and never for writing.
 */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/scoped.h"
#include "workspace/impl.h"
#include "workspace/snap_impl.h"

#define PIECE ((size_t)256 * 1024)
#define MANY ((uint64_t)256 * 1024)

struct sbx_snap_hash {
	crypto_generichash_state state;
	int fd;
	struct stat seen;
	uint64_t at, data; /* where the next bytes that are no hole begin */
	char bytes[PIECE];
};

void
sbx_snap_hash_fast(uint64_t bytes)
{
	/* Once it has chosen it answers at once; where it cannot, the portable way is right too. */
	if (bytes >= MANY && sodium_init() < 0)
		return;
}

static int
find_data(struct sbx_snap_hash *hash)
{
	off_t data = lseek(hash->fd, (off_t)hash->at, SEEK_DATA);

	if (data >= 0)
		hash->data = (uint64_t)data;
	else if (errno == ENXIO)
		hash->data = (uint64_t)hash->seen.st_size; /* a hole to the end */
	else if (errno == EINVAL)
		hash->data = hash->at; /* nobody knows of holes here */
	else
		return -1;
	return 0;
}

struct sbx_snap_hash *
sbx_snap_hash_begin(int dir, const char *name, const struct stat *seen, uint64_t *holes_left,
	int *failed)
{
	uint64_t holes = (uint64_t)seen->st_size, stored = (uint64_t)seen->st_blocks * 512;
	struct sbx_snap_hash *hash;
	SBX_AUTO_FD fd = -1;
	struct stat st;
	enum sbx_files_failure failure;

	holes -= holes < stored ? holes : stored;
	*failed = SBX_SNAP_TOO_LARGE;
	if (holes > *holes_left)
		return NULL;
	failure = sbx_workspace_open(dir, name, 0, seen->st_dev, &fd, &st);
	*failed = failure == SBX_FILES_DENIED ? SBX_SNAP_DENIED : SBX_SNAP_UNSTEADY;
	if (failure != SBX_FILES_OK || !sbx_snap_same_stamps(&st, seen))
		return NULL;
	*holes_left -= holes;
	sbx_snap_hash_fast((uint64_t)seen->st_size);
	hash = sbx_mem_grow(NULL, 1, sizeof(*hash)); /* most of it is written before it is read */
	hash->fd = sbx_take_fd(&fd);
	hash->seen = st;
	hash->at = hash->data = 0;
	crypto_generichash_init(&hash->state, NULL, 0, SBX_SNAP_DIGEST_BYTES);
	if (holes > 0 && find_data(hash) != 0) {
		sbx_snap_hash_end(hash);
		return NULL;
	}
	return hash;
}

/* A piece of a hole. */
static void
hash_hole(struct sbx_snap_hash *hash)
{
	static const unsigned char zeros[65536];

	for (size_t done = 0; done < PIECE && hash->at < hash->data; done += sizeof(zeros)) {
		uint64_t left = hash->data - hash->at;
		size_t n = left < sizeof(zeros) ? (size_t)left : sizeof(zeros);

		crypto_generichash_update(&hash->state, zeros, n);
		hash->at += n;
	}
}

/* A piece of data, and then where the next data is. */
static int
hash_data(struct sbx_snap_hash *hash)
{
	uint64_t left = (uint64_t)hash->seen.st_size - hash->at;
	ssize_t n;

	do
		n = pread(hash->fd, hash->bytes, left < PIECE ? (size_t)left : PIECE,
			(off_t)hash->at);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return -1; /* also: it was cut */
	crypto_generichash_update(&hash->state, (const unsigned char *)hash->bytes, (size_t)n);
	hash->at += (uint64_t)n;
	hash->data = hash->at;
	return (uint64_t)hash->seen.st_blocks * 512 < (uint64_t)hash->seen.st_size &&
			hash->at < (uint64_t)hash->seen.st_size ?
		find_data(hash) :
		0;
}

int
sbx_snap_hash_step(struct sbx_snap_hash *hash, unsigned char digest[SBX_SNAP_DIGEST_BYTES])
{
	struct stat st;

	if (hash->at < (uint64_t)hash->seen.st_size) {
		if (hash->at < hash->data)
			hash_hole(hash);
		else if (hash_data(hash) != 0)
			return -1;
		if (hash->at < (uint64_t)hash->seen.st_size)
			return 1;
	}
	if (fstat(hash->fd, &st) != 0 || !sbx_snap_same_stamps(&st, &hash->seen))
		return -1;
	crypto_generichash_final(&hash->state, digest, SBX_SNAP_DIGEST_BYTES);
	return 0;
}

void
sbx_snap_hash_end(struct sbx_snap_hash *hash)
{
	if (hash == NULL)
		return;
	close(hash->fd);
	free(hash);
}

int
sbx_snap_hash_link(int dir, const char *name, unsigned char digest[SBX_SNAP_DIGEST_BYTES])
{
	char target[4096];
	ssize_t n = readlinkat(dir, name, target, sizeof(target));

	if (n < 0 || (size_t)n >= sizeof(target))
		return -1;
	crypto_generichash(digest, SBX_SNAP_DIGEST_BYTES, (const unsigned char *)target, (size_t)n,
		NULL, 0);
	return 0;
}
