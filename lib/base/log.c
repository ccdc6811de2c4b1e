/*
 * The log. A line is made whole, then written by one write(2), so that lines of several processes
 * on one stderr do not mix. What cannot be written is lost: a log must not stop a tool. Whatever
 * bytes come in, a line holds no control byte, no C1 control and only valid UTF-8.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/utf8.h"

#define TEXT_SIZE 1024 /* longer messages are cut */
#define LINE_CAP ((size_t)16 * 1024) /* every byte escaped, and the frame around it */

static const char *log_tool = "sbx";
static enum sbx_log_format log_format = SBX_LOG_AUTO;
static enum sbx_log_level log_least = SBX_LOG_INFO;

static const char *const severities[] = { "DEBUG", "INFO", "WARN", "ERROR" };
static const char *const prefixes[] = { "debug: ", "", "warning: ", "" };

_Static_assert(sizeof(severities) / sizeof(severities[0]) == SBX_LOG_ERROR + 1, "a name a level");
_Static_assert(sizeof(prefixes) / sizeof(prefixes[0]) == SBX_LOG_ERROR + 1, "a prefix a level");

void
sbx_log_setup(const char *tool, enum sbx_log_format format, enum sbx_log_level least)
{
	log_tool = tool;
	log_least = least;
	log_format = format;
	if (format == SBX_LOG_AUTO)
		log_format = isatty(STDERR_FILENO) ? SBX_LOG_TEXT : SBX_LOG_JSON;
}

/* One code point (length 0: a byte that begins none) as it may stand in a line. */
static void
add_escaped(struct sbx_buf *line, const unsigned char *p, size_t length, int json)
{
	if (length == 0) {
		sbx_buf_printf(line, json ? "\\\\x%02x" : "\\x%02x", p[0]);
		return;
	}
	if (p[0] < 0x20 || p[0] == 0x7f)
		sbx_buf_printf(line, json ? "\\u%04x" : "\\x%02x", p[0]);
	else if (p[0] == 0xc2 && p[1] < 0xa0) /* U+0080 to U+009F: terminals obey some of them */
		sbx_buf_printf(line, "\\u%04x", p[1]);
	else if (json && (p[0] == '"' || p[0] == '\\'))
		sbx_buf_printf(line, "\\%c", p[0]);
	else
		sbx_buf_add(line, p, length);
}

static void
add_text(struct sbx_buf *line, const char *text, int json)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t left = strlen(text), length;

	while (left > 0) {
		length = sbx_utf8_next(p, left);
		add_escaped(line, p, length, json);
		p += length == 0 ? 1 : length;
		left -= length == 0 ? 1 : length;
	}
}

static void
make_json(struct sbx_buf *line, enum sbx_log_level level, const char *text, int sys)
{
	char now[32];

	sbx_clock_format(sbx_clock_wall_ms(), now);
	sbx_buf_printf(line, "{\"timestamp\":\"%s\",\"severity_text\":\"%s\",\"body\":\"", now,
		severities[level]);
	add_text(line, text, 1);
	sbx_buf_add_str(line, "\",\"service.name\":\"");
	add_text(line, log_tool, 1);
	sbx_buf_printf(line, "\",\"attributes\":{\"process.pid\":%ld", (long)getpid());
	if (sys != 0)
		sbx_buf_printf(line, ",\"errno\":%d", sys);
	sbx_buf_add_str(line, "}}\n");
}

static void
make_text(struct sbx_buf *line, enum sbx_log_level level, const char *text)
{
	add_text(line, log_tool, 0);
	sbx_buf_add_str(line, ": ");
	sbx_buf_add_str(line, prefixes[level]);
	add_text(line, text, 0);
	sbx_buf_add_char(line, '\n');
}

static void
write_line(enum sbx_log_level level, const char *text, int sys)
{
	SBX_AUTO_BUF line = SBX_BUF_INIT(LINE_CAP);
	int saved = errno;

	if (log_format == SBX_LOG_AUTO)
		sbx_log_setup(log_tool, SBX_LOG_AUTO, log_least);
	if (log_format == SBX_LOG_JSON)
		make_json(&line, level, text, sys);
	else
		make_text(&line, level, text);
	if (write(STDERR_FILENO, sbx_buf_str(&line), line.length) < 0)
		errno = saved;
	errno = saved;
}

void
sbx_log(enum sbx_log_level level, const char *fmt, ...)
{
	char text[TEXT_SIZE];
	size_t cut;
	va_list ap;
	int length;

	if (level < log_least)
		return;
	va_start(ap, fmt);
	length = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (length < 0)
		return;
	if ((size_t)length >= sizeof(text)) {
		cut = sbx_utf8_floor(text, sizeof(text) - sizeof("..."));
		memcpy(text + cut, "...", sizeof("..."));
	}
	write_line(level, text, 0);
}

void
sbx_log_err(const struct sbx_err *err)
{
	char text[sizeof(err->msg) + sizeof(err->hint) + 4];

	if (err->hint[0] == '\0')
		snprintf(text, sizeof(text), "%s", err->msg);
	else
		snprintf(text, sizeof(text), "%s (%s)", err->msg, err->hint);
	write_line(SBX_LOG_ERROR, text, err->sys);
}
