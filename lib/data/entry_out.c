/* How an entry of a workspace reads in every record that names one. Never touches a file. */
#include "data/entry_out.h"

#include <sodium.h>
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
