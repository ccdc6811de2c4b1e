/*
 * The names of an archive so far and what each is, in a table of their hashes, keyed at random so
 * that nobody makes two that agree: 24 bytes a name, however long it is.
 */
#include "tar.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct slot {
	uint8_t hash[16];
	uint32_t kind; /* END: free */
};

struct tar_names {
	uint8_t key[crypto_generichash_KEYBYTES];
	struct slot *slots;
	size_t room; /* a power of two */
	uint64_t count, most;
};

#define FIRST_ROOM 1024

struct tar_names *
tar_names_make(uint64_t most)
{
	struct tar_names *names = sbx_mem_alloc(1, sizeof(*names));

	randombytes_buf(names->key, sizeof(names->key));
	names->most = most;
	names->room = FIRST_ROOM;
	names->slots = sbx_mem_alloc(names->room, sizeof(*names->slots));
	return names;
}

void
tar_names_free(struct tar_names *names)
{
	if (names == NULL)
		return;
	free(names->slots);
	free(names);
}

/* Its slot, or the free one where it would go. */
static struct slot *
seek(const struct tar_names *names, const uint8_t hash[16])
{
	size_t at;

	memcpy(&at, hash, sizeof(at));
	for (at &= names->room - 1; names->slots[at].kind != SBX_PACK_END;
		at = (at + 1) & (names->room - 1))
		if (memcmp(names->slots[at].hash, hash, 16) == 0)
			break;
	return &names->slots[at];
}

static void
hash_name(const struct tar_names *names, const char *path, size_t length, uint8_t hash[16])
{
	crypto_generichash(hash, 16, (const unsigned char *)path, length, names->key,
		sizeof(names->key));
}

static void
grow(struct tar_names *names)
{
	struct slot *old = names->slots;
	size_t room = names->room;

	names->room *= 2;
	names->slots = sbx_mem_alloc(names->room, sizeof(*names->slots));
	for (size_t i = 0; i < room; i++)
		if (old[i].kind != SBX_PACK_END)
			*seek(names, old[i].hash) = old[i];
	free(old);
}

enum sbx_pack_kind
tar_names_find(const struct tar_names *names, const char *path, size_t length)
{
	uint8_t hash[16];

	hash_name(names, path, length, hash);
	return (enum sbx_pack_kind)seek(names, hash)->kind;
}

int
tar_names_add(struct tar_names *names, const char *path, enum sbx_pack_kind kind,
	struct sbx_err *err)
{
	struct slot *slot;
	uint8_t hash[16];

	if (names->count >= names->most)
		return sbx_fail(err, SBX_E_TOO_LARGE, "more than %llu entries",
			(unsigned long long)names->most);
	if ((names->count + 1) * 4 > names->room * 3)
		grow(names);
	hash_name(names, path, strlen(path), hash);
	slot = seek(names, hash);
	names->count += slot->kind == SBX_PACK_END;
	memcpy(slot->hash, hash, sizeof(hash));
	slot->kind = (uint32_t)kind;
	return 0;
}
