/* base/id: against vectors of RFC 4648 and of b2sum(1). */
#include "base/id.h"

#include "tap.h"

static void
test_base32(void)
{
	static const uint8_t ones[16] = { 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
		255, 255, 255, 255, 255 };
	static const uint8_t text[16] = "foobarfoobarfoob";
	uint8_t bytes[16] = { 0 };
	char out[27];

	sbx_id_base32(bytes, out);
	is_str(out, "aaaaaaaaaaaaaaaaaaaaaaaaaa", "zero");
	sbx_id_base32(ones, out);
	is_str(out,
		"777777777777777777777777"
		"74",
		"ones");
	sbx_id_base32(text, out);
	is_str(out, "mzxw6ytbojtg633cmfzgm33pmi", "text, as base32(1) has it");
}

static void
test_hash(void)
{
	struct sbx_id_part parts[3] = { { "ab", 2 }, { "c", 1 }, { NULL, 0 } };
	static const uint8_t want[16] = { 0x48, 0x26, 0xed, 0x04, 0x3a, 0xb3, 0xcd, 0xec, 0x57,
		0x6d, 0x85, 0x41, 0xfa, 0x5d, 0x5a, 0x80 };
	static const uint8_t want_long[16] = { 0x73, 0x01, 0x65, 0x9b, 0xa7, 0x84, 0xd8, 0x6d, 0x11,
		0xb9, 0x71, 0x38, 0x4b, 0xaf, 0x02, 0x35 };
	static char text[300];
	uint8_t a[16], b[16];
	char digest[73];

	sbx_id_hash128(parts, 2, a);
	ok(memcmp(a, want, 16) == 0, "BLAKE2b-128 over length-prefixed parts");
	parts[0] = (struct sbx_id_part){ "a", 1 };
	parts[1] = (struct sbx_id_part){ "bc", 2 };
	sbx_id_hash128(parts, 2, b);
	ok(memcmp(a, b, 16) != 0, "where the parts end matters");
	sbx_id_hash128(parts, 3, a);
	ok(memcmp(a, b, 16) != 0, "an empty part counts");
	memset(text, 'x', sizeof(text));
	parts[0] = (struct sbx_id_part){ text, sizeof(text) };
	sbx_id_hash128(parts, 1, a);
	ok(memcmp(a, want_long, 16) == 0, "a length of more than a byte");
	sbx_id_digest("abc", 3, digest);
	is_str(digest, "blake2b:bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319",
		"BLAKE2b-256");
	sbx_id_sha256("abc", 3, digest);
	is_str(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		"SHA-256");
}

int
main(void)
{
	char a[27], b[27];

	test_base32();
	test_hash();
	sbx_id_random(a);
	sbx_id_random(b);
	is_int(strlen(a), 26, "26 random characters");
	ok(strspn(a, "abcdefghijklmnopqrstuvwxyz234567") == 26, "of base32");
	ok(strcmp(a, b) != 0, "two differ");
	return done();
}
