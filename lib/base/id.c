/*
 * Identifiers and digests. libsodium's hash needs no sodium_init(): without it the portable code
 * runs, and randomness comes from the kernel. Never answers a weaker id: without randomness the
 * process ends.
 */
#include "base/id.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void
sbx_id_base32(const uint8_t bytes[16], char out[27])
{
	static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned bits = 0, held = 0;
	size_t in, at = 0;

	for (in = 0; in < 16; in++) {
		bits = (bits << 8 | bytes[in]) & 0xfff; /* at most 4 held and 8 new */
		for (held += 8; held >= 5; held -= 5)
			out[at++] = alphabet[bits >> (held - 5) & 31];
	}
	out[at++] = alphabet[bits << (5 - held) & 31]; /* the last 3 bits */
	out[at] = '\0';
}

void
sbx_id_hash128(const struct sbx_id_part *parts, size_t count, uint8_t out[16])
{
	crypto_generichash_state state;
	uint8_t length[8];
	size_t i, b;

	crypto_generichash_init(&state, NULL, 0, 16);
	for (i = 0; i < count; i++) {
		for (b = 0; b < sizeof(length); b++)
			length[b] = (uint8_t)((uint64_t)parts[i].length >> (8 * b));
		crypto_generichash_update(&state, length, sizeof(length));
		crypto_generichash_update(&state, parts[i].bytes, parts[i].length);
	}
	crypto_generichash_final(&state, out, 16);
}

void
sbx_id_digest(const void *bytes, size_t length, char out[73])
{
	static const char prefix[] = "blake2b:";
	uint8_t hash[32];

	crypto_generichash(hash, sizeof(hash), bytes, length, NULL, 0);
	memcpy(out, prefix, sizeof(prefix) - 1);
	sodium_bin2hex(out + sizeof(prefix) - 1, 65, hash, sizeof(hash));
}

void
sbx_id_random(char out[27])
{
	uint8_t bytes[16];

	/* Up to 256 bytes come whole and cannot be interrupted (getrandom(2)). */
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		abort();
	sbx_id_base32(bytes, out);
}

void
sbx_id_sha256(const void *bytes, size_t length, char out[65])
{
	unsigned char hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(hash, bytes, length);
	sodium_bin2hex(out, 65, hash, sizeof(hash));
}
