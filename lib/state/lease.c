/*
 * The fence of a run: the highest epoch that ever provisioned it.
 *
 * The file is its own lock: it is made empty, locked, and replaced by rename, after which a waiter
 * finds that it locked a file without a name and tries again. An empty file is a lease that was
 * never taken.
 *
 * A first lease is renamed into place before it is synced and commit() syncs it later: until then no
 * provision was reported, and a power cut leaves what a run that never was leaves. A lease that
 * replaces another is synced before the rename: a crash must not take the old fence along (XFS and
 * btrfs may leave an empty file behind a rename that was not synced).
 */
#include "state/lease.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/io.h"
#include "base/scoped.h"
#include "data/json.h"
#include "data/json_out.h"
#include "state/lock.h"

#define VERSION 1
#define FILE_BYTES_MAX 4096
#define WAIT_MS 10000 /* holders write one small file */

/* 26 characters of the hash, ".json" */
#define NAME_SIZE 32

static void
name_of(const char *tenant, const char *run, char out[NAME_SIZE])
{
	const struct sbx_id_part parts[] = { { tenant, strlen(tenant) }, { run, strlen(run) } };
	uint8_t hash[16];
	char text[27];

	sbx_id_hash128(parts, 2, hash);
	sbx_id_base32(hash, text);
	snprintf(out, NAME_SIZE, "%s.json", text);
}

static int
number_in(struct sbx_json root, const char *key, int64_t min, int64_t *out, struct sbx_err *err)
{
	return sbx_json_i64(sbx_json_get(root, key), key, min, INT64_MAX, out, err);
}

/* A hash is no proof: the file says whose it is. */
static int
members_in(struct sbx_json root, const char *tenant, const char *run, struct sbx_lease *lease,
	struct sbx_err *err)
{
	int64_t version;

	if (number_in(root, "version", 1, &version, err) < 0)
		return -1;
	if (version > VERSION)
		return sbx_fail(err, SBX_E_UNAVAILABLE,
			"version %lld is newer than this program's %d", (long long)version,
			VERSION);
	if (!sbx_json_string_is(sbx_json_get(root, "tenant"), tenant) ||
		!sbx_json_string_is(sbx_json_get(root, "run"), run))
		return sbx_fail(err, SBX_E_CORRUPT, "is of another run");
	if (number_in(root, "epoch", 0, &lease->epoch, err) < 0 ||
		number_in(root, "created_wall_ms", INT64_MIN, &lease->created_wall_ms, err) < 0)
		return -1;
	return number_in(root, "expires_wall_ms", INT64_MIN, &lease->expires_wall_ms, err);
}

/* 1 with *lease, 0 if it was never taken. */
static int
read_lease(const struct sbx_state *state, const char *name, const char *tenant, const char *run,
	struct sbx_lease *lease, struct sbx_err *err)
{
	SBX_AUTO_BUF text = SBX_BUF_INIT(FILE_BYTES_MAX);
	SBX_AUTO_JSON doc = NULL;
	struct sbx_err why = { .code = SBX_OK };

	memset(lease, 0, sizeof(*lease));
	if (sbx_io_read_file(state->lease_fd, name, &text, &why) < 0 && why.code != SBX_E_NOT_FOUND)
		return sbx_fail(err, why.code, "lease of %s/%s: %s", tenant, run, why.msg);
	if (text.length == 0)
		return 0;
	doc = sbx_json_parse(sbx_buf_str(&text), text.length, &why);
	if (doc != NULL && members_in(sbx_json_root(doc), tenant, run, lease, &why) == 0)
		return 1;
	/* Ours wrote it, so it is not a bad request, whatever the reader of JSON says. */
	return sbx_fail(err, why.code == SBX_E_UNAVAILABLE ? why.code : SBX_E_CORRUPT,
		"lease of %s/%s: %s: %s", tenant, run, name, why.msg);
}

static int
write_lease(const struct sbx_state *state, const char *name, const char *tenant, const char *run,
	const struct sbx_lease *lease, int durable, struct sbx_err *err)
{
	SBX_AUTO_BUF text = SBX_BUF_INIT(FILE_BYTES_MAX);
	struct sbx_json_out out;

	sbx_json_out_init(&out, &text);
	sbx_json_out_object(&out, NULL);
	sbx_json_out_i64(&out, "version", VERSION);
	sbx_json_out_string(&out, "tenant", tenant);
	sbx_json_out_string(&out, "run", run);
	sbx_json_out_i64(&out, "epoch", lease->epoch);
	sbx_json_out_i64(&out, "created_wall_ms", lease->created_wall_ms);
	sbx_json_out_i64(&out, "expires_wall_ms", lease->expires_wall_ms);
	sbx_json_out_end(&out);
	if (sbx_json_out_line(&out, "lease", err) < 0)
		return -1;
	return sbx_io_replace_file(state->lease_fd, name, text.data, text.length, 0600, durable,
		err);
}

/* The file's descriptor, locked, or -1. */
static int
lock_file(const struct sbx_state *state, const char *name, struct sbx_err *err)
{
	int64_t deadline_ms = sbx_clock_mono_ms() + WAIT_MS;

	for (;;) {
		SBX_AUTO_FD fd = openat(state->lease_fd, name,
			O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

		if (fd < 0)
			return sbx_fail_sys(err, SBX_E_IO, "open lease %s", name);
		if (sbx_lock_wait(fd, deadline_ms) < 0)
			return sbx_fail_sys(err, errno == EWOULDBLOCK ? SBX_E_BUSY : SBX_E_IO,
				"lock lease %s", name);
		if (sbx_lock_is_current(fd, state->lease_fd, name))
			return sbx_take_fd(&fd);
	}
}

/* Record the epoch if it is new, or a later end of the same one. Under the lock. */
static int
take_locked(const struct sbx_state *state, const char *name, const char *tenant, const char *run,
	int64_t epoch, int64_t expires_wall_ms, struct sbx_err *err)
{
	struct sbx_lease lease;
	int found = read_lease(state, name, tenant, run, &lease, err);

	if (found < 0)
		return -1;
	if (found && epoch < lease.epoch)
		return sbx_fail(err, SBX_E_STALE_EPOCH,
			"%s/%s: epoch %lld is stale, epoch %lld has provisioned", tenant, run,
			(long long)epoch, (long long)lease.epoch);
	if (found && epoch == lease.epoch && expires_wall_ms <= lease.expires_wall_ms)
		return 0;
	if (!found || epoch != lease.epoch)
		lease.created_wall_ms = sbx_clock_wall_ms();
	lease.epoch = epoch;
	lease.expires_wall_ms = expires_wall_ms;
	return write_lease(state, name, tenant, run, &lease, found, err);
}

int
sbx_lease_take(const struct sbx_state *state, const char *tenant, const char *run, int64_t epoch,
	int64_t expires_wall_ms, int *pending, struct sbx_err *err)
{
	char name[NAME_SIZE];
	SBX_AUTO_FD lock = -1;

	*pending = -1;
	name_of(tenant, run, name);
	lock = lock_file(state, name, err);
	if (lock < 0)
		return -1;
	if (take_locked(state, name, tenant, run, epoch, expires_wall_ms, err) < 0)
		return -1;
	/*
	 * Also where nothing was written: who wrote it may have died before its commit. A sync of
	 * what is on the disk already costs next to nothing.
	 */
	*pending = openat(state->lease_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (*pending < 0)
		return sbx_fail_sys(err, SBX_E_IO, "open lease %s", name);
	return 0;
}

int
sbx_lease_commit(const struct sbx_state *state, int pending, struct sbx_err *err)
{
	SBX_AUTO_FD fd = pending;

	if (fd < 0)
		return 0;
	if (fsync(fd) < 0 || fsync(state->lease_fd) < 0)
		return sbx_fail_sys(err, SBX_E_IO, "make a lease last");
	return 0;
}

int
sbx_lease_read(const struct sbx_state *state, const char *tenant, const char *run,
	struct sbx_lease *lease, struct sbx_err *err)
{
	char name[NAME_SIZE];
	int found;

	name_of(tenant, run, name);
	found = read_lease(state, name, tenant, run, lease, err);
	if (found == 0)
		return sbx_fail(err, SBX_E_NOT_FOUND, "there is no lease of %s/%s", tenant, run);
	return found < 0 ? -1 : 0;
}
