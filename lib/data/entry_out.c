/* How an entry of a workspace reads in every record that names one. Never touches a file. */
#include "data/entry_out.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/utf8.h"

int
sbx_is_plain_text(const char *bytes, size_t length)
{
	size_t i = 0;

	while (i < length && (unsigned char)bytes[i] >= 0x20 && bytes[i] != 0x7f)
		i++;
	return i == length && sbx_utf8_valid(bytes, length);
}

void
sbx_entry_name_out(struct sbx_json_out *out, const char *key, const char *key_b64, const char *name,
	size_t length)
{
	if (sbx_is_plain_text(name, length))
		sbx_json_out_string_n(out, key, name, length);
	else
		sbx_json_out_base64(out, key_b64, name, length);
}

const char *
sbx_entry_kind(uint32_t mode)
{
	static const struct {
		uint32_t type;
		const char *name;
	} kinds[] = { { S_IFREG, "file" }, { S_IFDIR, "directory" }, { S_IFLNK, "symlink" },
		{ S_IFIFO, "fifo" }, { S_IFSOCK, "socket" } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if ((mode & S_IFMT) == kinds[i].type)
			return kinds[i].name;
	return "device";
}

void
sbx_entry_digest_out(struct sbx_json_out *out, const char *key, const unsigned char digest[32])
{
	char text[sizeof("blake2b:") + 64] = "blake2b:";

	if (digest == NULL) {
		sbx_json_out_null(out, key);
		return;
	}
	sodium_bin2hex(text + strlen(text), 65, digest, 32);
	sbx_json_out_string(out, key, text);
}

void
sbx_entry_name_print(struct sbx_buf *line, const char *name, size_t length)
{
	for (size_t at = 0, step; at < length; at += step) {
		unsigned char byte = (unsigned char)name[at];
		char escaped[8];

		step = sbx_utf8_next((const unsigned char *)name + at, length - at);
		/* C1 controls are two bytes of UTF-8. */
		if (step > 0 && byte >= 0x20 && byte != 0x7f && byte != '\\' &&
			!(byte == 0xc2 && (unsigned char)name[at + 1] < 0xa0)) {
			sbx_buf_add(line, name + at, step);
			continue;
		}
		step = 1;
		snprintf(escaped, sizeof(escaped), "\\%03o", byte);
		sbx_buf_add_str(line, escaped);
	}
}
