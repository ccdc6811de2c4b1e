/*
 * Snapshots for tests: taken into memory, sealed anew after they were tampered with, and compared, the
 * differences as one text. Header only, like tap.h.
 */
#ifndef SBX_TEST_SNAP_HELP_H
#define SBX_TEST_SNAP_HELP_H

#include <fcntl.h>
#include <sodium.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "state_help.h"
#include "tap.h"
#include "workspace/snap.h"

/* A whole snapshot: a temporary file's, mapped by snap. */
struct shot {
	int fd;
	struct sbx_snap snap;
	struct sbx_snap_foot foot;
};

static int
shot_put(void *arg, const void *bytes, size_t length, struct sbx_err *err)
{
	(void)err;
	return write(*(int *)arg, bytes, length) == (ssize_t)length ? 0 : -1;
}

__attribute__((unused)) static void
shot_done(struct shot *shot)
{
	sbx_snap_close(&shot->snap);
	close(shot->fd);
}

__attribute__((unused)) static struct shot
shot_take(int dir, const struct shot *before, int quiet)
{
	struct shot shot = { .fd = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600) };
	const struct sbx_snap_sink sink = { .put = shot_put, .arg = &shot.fd };
	struct sbx_err err = { 0 };
	struct sbx_snap_take *take = sbx_snap_begin(dir, before == NULL ? NULL : &before->snap,
		quiet, &sink, &err);
	int rc = -1;

	while (take != NULL && (rc = sbx_snap_step(take, 100, &err)) > 0)
		continue;
	if (rc == 0)
		shot.foot = *sbx_snap_total(take);
	sbx_snap_end(take);
	if (rc != 0 || sbx_snap_open(shot.fd, &shot.snap, &err) != 0)
		ok(0, "a snapshot: %s", err.msg);
	return shot;
}

/* The same bytes, changed by tamper() and sealed anew: SBX_OK and a shot, or the code of the refusal. */
__attribute__((unused)) static enum sbx_code
shot_tamper(const struct shot *from, void (*tamper)(unsigned char *bytes, size_t length), int seal,
	struct shot *to)
{
	size_t length = from->snap.length;
	unsigned char *bytes = sbx_mem_alloc(length, 1);
	struct sbx_err err = { 0 };

	memcpy(bytes, from->snap.bytes, length);
	tamper(bytes, length);
	if (seal)
		crypto_generichash(bytes + length - SBX_SNAP_DIGEST_BYTES, SBX_SNAP_DIGEST_BYTES,
			bytes, length - SBX_SNAP_DIGEST_BYTES, NULL, 0);
	*to = (struct shot){ .fd = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600) };
	if (write(to->fd, bytes, length) != (ssize_t)length)
		exit(1);
	free(bytes);
	if (sbx_snap_open(to->fd, &to->snap, &err) == 0)
		return SBX_OK;
	shot_done(to);
	return err.code;
}

static char differences_text[1 << 20];
static size_t differences_length;

static int
add_difference(void *arg, const struct sbx_snap_difference *difference)
{
	char line[600];

	(void)arg;
	snprintf(line, sizeof(line), "%s %.*s\n", sbx_snap_change_names[difference->change],
		(int)(difference->path_bytes < 500 ? difference->path_bytes : 500),
		difference->path);
	if (differences_length + strlen(line) < sizeof(differences_text)) {
		memcpy(differences_text + differences_length, line, strlen(line) + 1);
		differences_length += strlen(line);
	}
	return 0;
}

/* Each difference as "change path\n". */
__attribute__((unused)) static const char *
differences(const struct shot *before, const struct shot *now)
{
	differences_text[0] = '\0';
	differences_length = 0;
	(void)sbx_snap_diff(&before->snap, &now->snap, add_difference, NULL);
	return differences_text;
}

/* The entry of this name anywhere, or NULL. */
__attribute__((unused)) static const struct sbx_snap_entry *
shot_entry(const struct shot *shot, const char *name)
{
	const struct sbx_snap_entry *entry;
	uint32_t place = SBX_SNAP_FIRST;

	while ((entry = sbx_snap_next(&shot->snap, &place)) != NULL)
		if (entry->name_bytes == strlen(name) &&
			memcmp(sbx_snap_name(entry), name, entry->name_bytes) == 0)
			return entry;
	return NULL;
}

__attribute__((unused)) static void
put_file(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		exit(1);
	close(fd);
}

/* Until what was written is old enough for its stamps to prove something. */
__attribute__((unused)) static void
let_settle(void)
{
	const struct timespec pause = { .tv_nsec = 60 * 1000 * 1000 };

	nanosleep(&pause, NULL);
}

#endif
