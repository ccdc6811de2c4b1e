/*
 * Line numbers for errors that show only after a YAML document was read: by then the events are gone
 * and only the text is left. Looks at text that the reader has accepted, and decides nothing.
 */
#include "data/yaml_line.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int
line_of(const char *text, size_t length, const char *key)
{
	const char *end = text + length;
	size_t key_length = strlen(key);
	int line = 1;

	for (const char *at = text; at != NULL && at < end; line++) {
		if ((size_t)(end - at) > key_length && memcmp(at, key, key_length) == 0 &&
			at[key_length] == ':')
			return line;
		at = memchr(at, '\n', (size_t)(end - at));
		if (at != NULL)
			at++;
	}
	return 1;
}

int
sbx_yaml_fail_at(struct sbx_err *err, const char *file, const char *text, size_t length,
	const char *key, const char *fmt, ...)
{
	char message[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	return sbx_fail(err, SBX_E_CONFIG, "%s:%d: %s: %s", file, line_of(text, length, key), key,
		message);
}
