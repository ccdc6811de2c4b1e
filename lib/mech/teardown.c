/*
 * The order in which an environment goes: processes before files, files before the uid that owned
 * them, the record last, so that a crash at any point leaves a record of what is still there.
 */
#include "mech/teardown.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/scoped.h"
#include "base/walk.h"
#include "data/errors.h"
#include "state/slot.h"

#define LOG_FILE_MAX ((off_t)16 * 1024 * 1024)

/* Count a part in; its error is where the attempt writes to. */
static struct sbx_teardown_part *
add(struct sbx_teardown *report, const char *name)
{
	struct sbx_teardown_part *part = &report->parts[report->count++];

	*part = (struct sbx_teardown_part){ .name = name };
	return part;
}

/* Best effort: the reason is also in what the tool prints, but the next sweep only has this. */
static void
note(const struct sbx_env *env, const struct sbx_err *reason)
{
	SBX_AUTO_BUF line = SBX_BUF_INIT(8192);
	SBX_AUTO_FD fd = openat(env->dir_fd, "log.ndjson",
		O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size > LOG_FILE_MAX)
		return;
	sbx_error_record(reason, NULL, &line);
	if (sbx_io_write_all(fd, sbx_buf_str(&line), line.length) < 0)
		return;
}

/* Also without one in the record: whoever took it may have died before that was written. */
static int
free_slot(const struct sbx_mech_host *host, const struct sbx_env_record *record, int unused,
	struct sbx_err *err)
{
	if (!unused)
		return sbx_fail(err, SBX_E_BUSY, "the slot stays with what is left of its uid");
	return sbx_slot_free(host->state, record->id, record->slot, err);
}

static int
keep(const struct sbx_env *env, struct sbx_env_record *record, const struct sbx_teardown *report,
	struct sbx_err *err)
{
	size_t first = 0;

	while (first + 1 < report->count && report->parts[first].gone)
		first++;
	record->state = SBX_ENV_FAILED;
	note(env, &report->parts[first].err);
	/* The part's own error matters more than that its record could not be changed. */
	if (sbx_env_write(env, record, err) < 0)
		note(env, err);
	*err = report->parts[first].err;
	return sbx_fail_wrap(err, "%s of %s", report->parts[first].name, record->id);
}

int
sbx_teardown(const struct sbx_mech_host *host, const struct sbx_mech *mech, struct sbx_env *env,
	struct sbx_env_record *record, struct sbx_teardown *report, struct sbx_err *err)
{
	struct sbx_teardown_part *part;
	int clear;

	report->count = 0;
	part = add(report, "mechanism");
	part->gone = mech->destroy(host, env, record, &part->err) == 0;
	clear = part->gone;
	part = add(report, "workspace");
	part->gone = sbx_walk_remove(env->dir_fd, "workspace", &part->err) == 0;
	clear = clear && part->gone;
	part = add(report, "slot");
	part->gone = free_slot(host, record, clear, &part->err) == 0;
	clear = clear && part->gone;
	if (!clear)
		return keep(env, record, report, err);
	/* The slot went first: from here on another provision may take the same id and slot. */
	part = add(report, "directory");
	part->gone = sbx_env_remove(host->state, env, &part->err) == 0;
	return part->gone ? 0 : keep(env, record, report, err);
}
