/*
 * Names of archive members: judged by their letters alone. What they lead to is judged again by the
 * walk where they are written.
 */
#include "tar.h"

#include <stdio.h>
#include <string.h>

const char *
tar_path_show(const char *path, char shown[TAR_SHOWN_SIZE])
{
	size_t at = 0;

	for (; *path != '\0' && at + 5 < TAR_SHOWN_SIZE; path++) {
		unsigned char byte = (unsigned char)*path;

		if (byte >= 0x20 && byte < 0x7f && byte != '\\')
			shown[at++] = (char)byte;
		else
			at += (size_t)snprintf(shown + at, 5, "\\%03o", byte);
	}
	shown[at] = '\0';
	return shown;
}

/* Components apart by one slash, none at the ends, "." left out; -1 at "..". */
static int
squeeze(char *path)
{
	char *to = path;

	for (const char *from = path; *from != '\0'; from += strspn(from, "/")) {
		size_t length = strcspn(from, "/");

		if (length == 2 && memcmp(from, "..", 2) == 0)
			return -1;
		if (length == 1 && from[0] == '.') {
			from++;
			continue;
		}
		if (to > path)
			*to++ = '/';
		memmove(to, from, length);
		to += length;
		from += length;
	}
	*to = '\0';
	return 0;
}

char *
tar_path_clean(char *path, struct sbx_err *err)
{
	char shown[TAR_SHOWN_SIZE];
	size_t length = strlen(path);

	tar_path_show(path, shown);
	if (length > TAR_PATH_MAX) {
		sbx_fail(err, SBX_E_DENIED, "\"%s...\": its name has %zu bytes, at most %d", shown,
			length, TAR_PATH_MAX);
		return NULL;
	}
	if (path[0] == '/' || squeeze(path) < 0) {
		sbx_fail(err, SBX_E_DENIED, "\"%s\" leads out of the archive", shown);
		return NULL;
	}
	return path;
}
