/* Identifiers and digests: BLAKE2b and SHA-256 through libsodium, base32 in lower case. */
#ifndef SBX_BASE_ID_H
#define SBX_BASE_ID_H

#include <stddef.h>
#include <stdint.h>

/* 26 characters of RFC 4648 base32 (lower case, no padding) of 16 bytes, and a NUL. */
void sbx_id_base32(const uint8_t bytes[16], char out[27]);

/* BLAKE2b-128 over the parts, each preceded by its length as 8 bytes little endian. */
struct sbx_id_part {
	const void *bytes;
	size_t length;
};
void sbx_id_hash128(const struct sbx_id_part *parts, size_t count, uint8_t out[16]);

/* "blake2b:" and 64 hexadecimal digits of BLAKE2b-256 of the bytes; 73 with the NUL. */
void sbx_id_digest(const void *bytes, size_t length, char out[73]);

/* 64 hexadecimal digits of SHA-256 of the bytes, and a NUL. */
void sbx_id_sha256(const void *bytes, size_t length, char out[65]);

/* 26 random characters (getrandom). */
void sbx_id_random(char out[27]);

#endif
