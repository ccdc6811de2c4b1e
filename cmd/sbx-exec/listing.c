/*
 * A listing for people: entries as the workspace's reader sends them, in pieces of any size, become
 * lines. A name is a stranger's bytes: controls, backslashes and what is no text are escaped, so
 * that a line is one name and a terminal is told nothing.
 */
#include "access.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/scoped.h"
#include "data/entry_out.h"

#define LINE_MAX_BYTES (4 * (size_t)SBX_FILES_PATH_MAX + 128)
#define HELD_MAX (sizeof(struct sbx_files_entry) + (size_t)SBX_FILES_PATH_MAX + 65536)

void
listing_open(struct listing *listing, struct exec_writer *writer)
{
	*listing = (struct listing){ .writer = writer };
	sbx_buf_init(&listing->held, HELD_MAX);
}

void
listing_close(struct listing *listing)
{
	sbx_buf_done(&listing->held);
}

static void
add_mode(struct sbx_buf *line, uint32_t mode)
{
	static const char bits[] = "rwxrwxrwx";
	static const struct {
		mode_t type;
		char letter;
	} kinds[] = { { S_IFREG, '-' }, { S_IFDIR, 'd' }, { S_IFLNK, 'l' }, { S_IFIFO, 'p' },
		{ S_IFSOCK, 's' }, { S_IFBLK, 'b' }, { S_IFCHR, 'c' } };
	char text[] = "?---------";

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if ((mode & S_IFMT) == kinds[i].type)
			text[0] = kinds[i].letter;
	for (unsigned i = 0; i < 9; i++)
		if (mode & (0400u >> i))
			text[1 + i] = bits[i];
	sbx_buf_add_str(line, text);
}

static void
put_line(struct listing *listing, const struct sbx_files_entry *entry, const char *name)
{
	SBX_AUTO_BUF line = SBX_BUF_INIT(LINE_MAX_BYTES);
	time_t seconds = (time_t)entry->mtime_sec;
	char text[64], when[32] = "?";
	struct tm utc;

	if (gmtime_r(&seconds, &utc) != NULL &&
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
		memcpy(when, "?", 2);
	add_mode(&line, entry->mode);
	snprintf(text, sizeof(text), " %12llu %s ", (unsigned long long)entry->size, when);
	sbx_buf_add_str(&line, text);
	sbx_entry_name_print(&line, name, entry->name_bytes);
	sbx_buf_add_char(&line, '\n');
	exec_writer_put(listing->writer, &line);
}

void
listing_bytes(void *arg, const char *bytes, size_t length)
{
	struct listing *listing = arg;
	struct sbx_files_entry entry;
	size_t at = 0;

	if (listing->broken || sbx_buf_add(&listing->held, bytes, length) < 0) {
		listing->broken = 1;
		return;
	}
	while (listing->held.length - at >= sizeof(entry)) {
		memcpy(&entry, listing->held.data + at, sizeof(entry));
		if (entry.name_bytes == 0 || entry.name_bytes >= SBX_FILES_PATH_MAX) {
			listing->broken = 1;
			return;
		}
		if (listing->held.length - at - sizeof(entry) < entry.name_bytes)
			break;
		put_line(listing, &entry, listing->held.data + at + sizeof(entry));
		at += sizeof(entry) + entry.name_bytes;
	}
	sbx_buf_consume(&listing->held, at);
}
