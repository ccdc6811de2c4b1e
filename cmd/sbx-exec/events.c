/*
 * What a command prints, told as it comes: one record for each piece, with its place in the stream.
 * A code point is never cut in two; bytes that are no text go as base64. Back-pressure is not here:
 * who reads us slowly pauses the command's outputs.
 */
#include "serve.h"

#include <string.h>

#include "base/scoped.h"
#include "base/utf8.h"
#include "data/json.h"
#include "data/json_out.h"

#define QUEUED_MAX ((size_t)32 * 1024 * 1024)

static void
begin(struct sbx_json_out *out, struct sbx_buf *line, const char *id, const char *name)
{
	sbx_json_out_init(out, line);
	sbx_json_out_object(out, NULL);
	sbx_json_out_string(out, "type", "event");
	if (id != NULL)
		sbx_json_out_raw(out, "id", id, strlen(id));
	else
		sbx_json_out_null(out, "id");
	sbx_json_out_string(out, "event", name);
}

static void
end(struct sbx_json_out *out, struct sbx_buf *line, struct exec_writer *writer)
{
	struct sbx_err err = { 0 };

	sbx_json_out_end(out);
	if (sbx_json_out_line(out, "event", &err) == 0)
		exec_writer_put(writer, line);
}

void
events_started(struct exec_writer *writer, const char *id)
{
	SBX_AUTO_BUF line = SBX_BUF_INIT(SBX_JSON_LINE_MAX);
	struct sbx_json_out out;

	begin(&out, &line, id, "started");
	end(&out, &line, writer);
}

static void
tell(struct events *events, const char *bytes, size_t length)
{
	SBX_AUTO_BUF line = SBX_BUF_INIT(SBX_JSON_LINE_MAX);
	struct sbx_json_out out;

	if (length == 0)
		return;
	/* A command that is over is read to its end though our reader waits: that has an end, too. */
	if (events->writer->queue.length > QUEUED_MAX) {
		events->dropped += length;
	} else {
		begin(&out, &line, events->id, events->name);
		sbx_json_out_u64(&out, "offset", events->offset);
		sbx_json_out_bytes(&out, bytes, length);
		end(&out, &line, events->writer);
	}
	events->offset += length;
}

/* How much of the end may be the beginning of a code point: 0 to 3 bytes. */
static size_t
open_end(const char *bytes, size_t length)
{
	return length - sbx_utf8_floor(bytes, length);
}

/* What was carried is completed first, by at most three bytes. */
static size_t
complete(struct events *events, const char *bytes, size_t length)
{
	size_t took = 0;

	while (events->carried > 0 && took < length && events->carried < sizeof(events->carry)) {
		events->carry[events->carried++] = bytes[took++];
		if (open_end(events->carry, events->carried) > 0)
			continue;
		tell(events, events->carry, events->carried);
		events->carried = 0;
	}
	if (events->carried == sizeof(events->carry)) {
		tell(events, events->carry, events->carried);
		events->carried = 0;
	}
	return took;
}

void
events_bytes(void *arg, const char *bytes, size_t length)
{
	struct events *events = arg;
	size_t took = complete(events, bytes, length), rest;

	bytes += took;
	length -= took;
	rest = open_end(bytes, length);
	tell(events, bytes, length - rest);
	memcpy(events->carry + events->carried, bytes + length - rest, rest);
	events->carried += rest;
}

void
events_end(struct events *events)
{
	tell(events, events->carry, events->carried);
	events->carried = 0;
}
