/*
 * The whole of an output that is longer than its result keeps, up to a ceiling, in the environment's
 * spool. Begun when the first byte would be left out, with what the excerpt holds until then. A
 * spool that cannot be written is logged once and told by what it has not; the command never waits.
 */
#include "exec.h"

#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/scoped.h"
#include "bytes.h"

static void
put(struct exec_spill *spill, const char *bytes, size_t length)
{
	if (length > spill->most_bytes - spill->bytes)
		length = (size_t)(spill->most_bytes - spill->bytes);
	if (spill->fd < 0 || length == 0)
		return;
	if (sbx_io_write_all(spill->fd, bytes, length) < 0) {
		sbx_log(SBX_LOG_WARN, "the spool of an output ends early: %s", strerror(errno));
		exec_spill_close(spill);
		return;
	}
	spill->bytes += length;
}

static void
begin(struct exec_spill *spill, const struct sbx_excerpt *excerpt)
{
	struct sbx_err err = { 0 };

	spill->begun = 1;
	spill->fd = sbx_spool_open(spill->env, spill->kind, spill->most_bytes, spill->total_bytes,
		spill->name, &err);
	if (spill->fd < 0)
		sbx_log_err(&err);
	else if (excerpt->total > 0)
		put(spill, excerpt->head, (size_t)excerpt->total); /* whole, as it is until now */
}

void
exec_spill_add(struct exec_spill *spill, const struct sbx_excerpt *excerpt, const char *bytes,
	size_t length)
{
	if (spill->env == NULL ||
		(!spill->begun &&
			excerpt->total + length <= excerpt->head_room + excerpt->ring_room))
		return;
	if (!spill->begun)
		begin(spill, excerpt);
	put(spill, bytes, length);
}

void
exec_spill_close(struct exec_spill *spill)
{
	if (spill->fd >= 0)
		close(spill->fd);
	spill->fd = -1;
}
