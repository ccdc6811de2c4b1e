/*
 * Errors as values. Every text is made in a local buffer first, so that an argument may point into
 * the very err that is being filled. Nothing is allocated or printed here, and errno is kept; pid 1
 * of a sandbox links this file, so it wants nothing of libc but vsnprintf and strerror.
 */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_SIZE sizeof(((struct sbx_err *)0)->msg)

_Static_assert(sizeof(struct sbx_err) <= 4096, "an error must cross a pipe in one atomic write");
_Static_assert(sizeof(((struct sbx_err *)0)->hint) <= TEXT_SIZE, "a hint is made in a text");

/* Mark a full buffer as cut: "..." at its end, not in the middle of a code point. */
static void
mark_cut(char *text, size_t size)
{
	static const char mark[] = "...";
	size_t at = size - sizeof(mark);
	size_t floor = at < 3 ? 0 : at - 3; /* a code point has at most three bytes to go back */

	while (at > floor && ((unsigned char)text[at] & 0xc0) == 0x80)
		at--;
	memcpy(text + at, mark, sizeof(mark));
}

static void __attribute__((format(printf, 3, 0)))
format_text(char *text, size_t size, const char *fmt, va_list ap)
{
	int length;

	text[0] = '\0';
	length = vsnprintf(text, size, fmt, ap);
	if (length >= 0 && (size_t)length >= size)
		mark_cut(text, size);
}

/* "<head>: <tail>" */
static void
join_text(char *text, size_t size, const char *head, const char *tail)
{
	int length = snprintf(text, size, "%s: %s", head, tail);

	if (length >= 0 && (size_t)length >= size)
		mark_cut(text, size);
}

static void
fill(struct sbx_err *err, enum sbx_code code, int sys, const char *text)
{
	/* All bytes, padding too: the struct may be written to another process. */
	memset(err, 0, sizeof(*err));
	err->code = code;
	err->sys = sys;
	memcpy(err->msg, text, strlen(text) + 1);
}

int
sbx_fail(struct sbx_err *err, enum sbx_code code, const char *fmt, ...)
{
	int saved = errno;
	char text[TEXT_SIZE];
	va_list ap;

	if (err == NULL)
		return -1;
	va_start(ap, fmt);
	format_text(text, sizeof(text), fmt, ap);
	va_end(ap);
	fill(err, code, 0, text);
	errno = saved;
	return -1;
}

int
sbx_fail_sys(struct sbx_err *err, enum sbx_code code, const char *fmt, ...)
{
	int saved = errno;
	char head[TEXT_SIZE], text[TEXT_SIZE];
	va_list ap;

	if (err == NULL)
		return -1;
	va_start(ap, fmt);
	format_text(head, sizeof(head), fmt, ap);
	va_end(ap);
	join_text(text, sizeof(text), head, strerror(saved));
	fill(err, code, saved, text);
	errno = saved;
	return -1;
}

int
sbx_fail_wrap(struct sbx_err *err, const char *fmt, ...)
{
	int saved = errno;
	char head[TEXT_SIZE], text[TEXT_SIZE];
	va_list ap;

	if (err == NULL)
		return -1;
	va_start(ap, fmt);
	format_text(head, sizeof(head), fmt, ap);
	va_end(ap);
	join_text(text, sizeof(text), head, err->msg);
	memcpy(err->msg, text, sizeof(text));
	errno = saved;
	return -1;
}

int
sbx_fail_hint(struct sbx_err *err, const char *fmt, ...)
{
	int saved = errno;
	char text[sizeof(err->hint)];
	va_list ap;

	if (err == NULL)
		return -1;
	va_start(ap, fmt);
	format_text(text, sizeof(text), fmt, ap);
	va_end(ap);
	memset(err->hint, 0, sizeof(err->hint));
	memcpy(err->hint, text, strlen(text) + 1);
	errno = saved;
	return -1;
}
