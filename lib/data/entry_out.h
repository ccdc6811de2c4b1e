/* Entries of a workspace in records: their names, which are a stranger's bytes, kinds and digests. */
#ifndef SBX_DATA_ENTRY_OUT_H
#define SBX_DATA_ENTRY_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "data/json_out.h"

int sbx_is_plain_text(const char *bytes, size_t length); /* UTF-8 without controls */
/* Plain text under `key`, anything else in base64 under key_b64: both come back exactly. */
void sbx_entry_name_out(struct sbx_json_out *out, const char *key, const char *key_b64,
	const char *name, size_t length);
/* For people: controls, backslashes and what is no text as \ooo, so that a line is one name and a
 * terminal is told nothing. */
void sbx_entry_name_print(struct sbx_buf *line, const char *name, size_t length);
/* By stat(2)'s mode: "file", "directory", "symlink", "fifo", "socket", "device". */
const char *sbx_entry_kind(uint32_t mode);
/* "blake2b:" and 64 hexadecimal digits; null for NULL. */
void sbx_entry_digest_out(struct sbx_json_out *out, const char *key,
	const unsigned char digest[32]);

#endif
