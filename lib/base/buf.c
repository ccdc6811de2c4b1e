/*
 * The growing buffer. It calls realloc itself, not base/mem, so that pid 1 of a sandbox links this
 * file alone; out of memory ends the process here as there. It never holds more than its cap.
 */
#include "base/buf.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_LEAST 64

void
sbx_buf_init(struct sbx_buf *buf, size_t cap_bytes)
{
	*buf = (struct sbx_buf)SBX_BUF_INIT(cap_bytes);
}

void
sbx_buf_done(struct sbx_buf *buf)
{
	int saved = errno;

	free(buf->data);
	sbx_buf_init(buf, buf->cap);
	errno = saved;
}

void
sbx_buf_clear(struct sbx_buf *buf)
{
	buf->length = 0;
	buf->overflow = 0;
	if (buf->data != NULL)
		buf->data[0] = '\0';
}

/* Doubling keeps a million small appends linear; the cap bounds the last step. */
static size_t
next_room(const struct sbx_buf *buf, size_t wanted)
{
	size_t room = buf->room < ROOM_LEAST ? ROOM_LEAST : buf->room;

	while (room < wanted)
		room = room > buf->cap / 2 ? wanted : room * 2;
	return room > buf->cap ? buf->cap : room;
}

static void
grow(struct sbx_buf *buf, size_t wanted)
{
	size_t room = next_room(buf, wanted);
	char *data = realloc(buf->data, room + 1);

	if (data == NULL)
		abort();
	if (buf->data == NULL)
		data[0] = '\0';
	buf->data = data;
	buf->room = room;
}

char *
sbx_buf_reserve(struct sbx_buf *buf, size_t length)
{
	/* Below PTRDIFF_MAX no sum here can wrap, whatever cap was named. */
	size_t cap = buf->cap < PTRDIFF_MAX ? buf->cap : PTRDIFF_MAX - 1;

	if (buf->overflow || buf->length > cap || length > cap - buf->length) {
		buf->overflow = 1;
		return NULL;
	}
	if (buf->data == NULL || length > buf->room - buf->length)
		grow(buf, buf->length + length);
	return buf->data + buf->length;
}

void
sbx_buf_commit(struct sbx_buf *buf, size_t length)
{
	if (buf->data == NULL && length == 0)
		return;
	assert(length <= buf->room - buf->length);
	buf->length += length;
	buf->data[buf->length] = '\0';
}

int
sbx_buf_add(struct sbx_buf *buf, const void *bytes, size_t length)
{
	char *place = sbx_buf_reserve(buf, length);

	if (place == NULL)
		return -1;
	if (length > 0)
		memcpy(place, bytes, length);
	sbx_buf_commit(buf, length);
	return 0;
}

int
sbx_buf_add_str(struct sbx_buf *buf, const char *text)
{
	return sbx_buf_add(buf, text, strlen(text));
}

int
sbx_buf_add_char(struct sbx_buf *buf, char c)
{
	return sbx_buf_add(buf, &c, 1);
}

int
sbx_buf_printf(struct sbx_buf *buf, const char *fmt, ...)
{
	va_list ap;
	int result;

	va_start(ap, fmt);
	result = sbx_buf_vprintf(buf, fmt, ap);
	va_end(ap);
	return result;
}

int
sbx_buf_vprintf(struct sbx_buf *buf, const char *fmt, va_list ap)
{
	va_list again;
	char *place;
	int length;

	va_copy(again, ap);
	length = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (length < 0) { /* over INT_MAX bytes: no buffer takes that */
		buf->overflow = 1;
		return -1;
	}
	place = sbx_buf_reserve(buf, (size_t)length);
	if (place == NULL)
		return -1;
	vsnprintf(place, (size_t)length + 1, fmt, ap);
	sbx_buf_commit(buf, (size_t)length);
	return 0;
}

void
sbx_buf_consume(struct sbx_buf *buf, size_t length)
{
	assert(length <= buf->length);
	if (length == 0)
		return;
	buf->length -= length;
	memmove(buf->data, buf->data + length, buf->length + 1);
}

const char *
sbx_buf_str(const struct sbx_buf *buf)
{
	return buf->data == NULL ? "" : buf->data;
}

int
sbx_buf_check(const struct sbx_buf *buf, const char *what, struct sbx_err *err)
{
	if (!buf->overflow)
		return 0;
	return sbx_fail(err, SBX_E_TOO_LARGE, "%s: larger than %zu bytes", what, buf->cap);
}
