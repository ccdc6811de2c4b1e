/*
 * Lines from our stdin, handed over one by one. A line that is too long is told once and skipped to
 * its end; what stands after the last newline is a line too. Pausing stops the reading, so that who
 * writes to us waits.
 */
#include "exec.h"

#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "data/json.h"
#include "bytes.h"

#define PIECE 65536

static void on_readable(void *arg, uint32_t events);
static void on_again(void *arg);

/* The end of the line that is begun, or NULL: not here yet. */
static const char *
find_end(struct exec_reader *reader)
{
	const char *end = memchr(sbx_buf_str(&reader->line) + reader->seen, '\n',
		reader->line.length - reader->seen);

	if (end == NULL)
		reader->seen = reader->line.length;
	return end;
}

static void
take_line(struct exec_reader *reader, size_t length, size_t with_end)
{
	int too_long = length > SBX_JSON_LINE_MAX;

	if (!reader->skipping)
		reader->take(reader->arg, too_long ? NULL : reader->line.data, length);
	reader->skipping = 0;
	reader->seen = 0;
	sbx_buf_consume(&reader->line, with_end);
}

/* All whole lines that are here, as long as somebody takes them. */
static void
split(struct exec_reader *reader)
{
	const char *end;

	while (!reader->paused && (end = find_end(reader)) != NULL) {
		size_t length = (size_t)(end - reader->line.data);

		take_line(reader, length, length + 1);
	}
	if (!reader->paused && reader->seen > SBX_JSON_LINE_MAX) {
		if (!reader->skipping)
			reader->take(reader->arg, NULL, 0);
		reader->skipping = 1;
		reader->seen = 0;
		sbx_buf_clear(&reader->line);
	}
}

static void
read_again(struct exec_reader *reader)
{
	if (!reader->paused && !reader->ended && reader->again == NULL)
		reader->again = sbx_loop_at(reader->loop, sbx_clock_mono_us(), on_again, reader);
}

/*
 * Only what has just said that there is nothing: a pipe whose writers had all gone when we opened it
 * tells its end by read(2) and never by epoll (pipe(7), as of Linux 6.18).
 */
static void
watch(struct exec_reader *reader)
{
	struct sbx_err unwatchable = { 0 };

	if (reader->paused || reader->ended || reader->reading != NULL || reader->again != NULL)
		return;
	reader->reading = sbx_loop_add(reader->loop, reader->outer.fd, EPOLLIN, on_readable, reader,
		&unwatchable);
	if (reader->reading == NULL)
		read_again(reader);
}

static void
unwatch(struct exec_reader *reader)
{
	sbx_loop_del(reader->loop, reader->reading);
	sbx_loop_cancel(reader->loop, reader->again);
	reader->reading = NULL;
	reader->again = NULL;
}

static void
end(struct exec_reader *reader)
{
	unwatch(reader);
	if (reader->line.length > 0 && !reader->skipping)
		take_line(reader, reader->line.length, reader->line.length);
	reader->ended = 1;
	reader->take(reader->arg, NULL, 0);
}

static void
step(struct exec_reader *reader)
{
	char *room = sbx_buf_reserve(&reader->line, PIECE);
	ssize_t n = room == NULL ? 0 : exec_outer_read(&reader->outer, room, PIECE);

	if (n > 0) {
		sbx_buf_commit(&reader->line, (size_t)n);
		split(reader);
		read_again(reader);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		if (n < 0)
			sbx_log(SBX_LOG_WARN, "stdin ends early: %s", strerror(errno));
		end(reader);
	}
	watch(reader);
}

static void
on_readable(void *arg, uint32_t events)
{
	(void)events;
	step(arg);
}

static void
on_again(void *arg)
{
	struct exec_reader *reader = arg;

	reader->again = NULL;
	/* Lines that came while nobody took them go first. */
	split(reader);
	if (!reader->paused && !reader->ended)
		step(reader);
}

int
exec_reader_open(struct exec_reader *reader, struct sbx_loop *loop,
	void (*take)(void *arg, const char *line, size_t length), void *arg, struct sbx_err *err)
{
	*reader = (struct exec_reader){ .loop = loop, .take = take, .arg = arg };
	sbx_buf_init(&reader->line, (size_t)SBX_JSON_LINE_MAX + 2 * PIECE);
	if (exec_outer_open(STDIN_FILENO, O_RDONLY, &reader->outer, err) < 0)
		return -1;
	read_again(reader);
	return 0;
}

void
exec_reader_pause(struct exec_reader *reader, int paused)
{
	if (reader->paused == paused || reader->ended)
		return;
	reader->paused = paused;
	unwatch(reader);
	/* Not at once: who lets us go on is in the middle of something. */
	if (!paused)
		read_again(reader);
}

void
exec_reader_close(struct exec_reader *reader)
{
	if (reader->loop == NULL)
		return;
	unwatch(reader);
	exec_outer_close(&reader->outer);
	sbx_buf_done(&reader->line);
	reader->loop = NULL;
}
