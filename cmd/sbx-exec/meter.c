/*
 * For a person who waits at a terminal: a line on stderr while a plain command runs, from its
 * second second on, with its time, the environment's memory and what it printed; wiped before
 * anything else is written. Nothing of a stranger's goes into it.
 */
#include "exec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "run.h"

#define FIRST_US (INT64_C(1) * 1000 * 1000)
#define EVERY_US (INT64_C(500) * 1000)
#define WIDTH 72

/* The terminal may be slow or gone: then there is no line. */
static void
show(const char *text)
{
	char line[2 * WIDTH + 8];
	int length = snprintf(line, sizeof(line), "\r%-*.*s\r%.*s", WIDTH, WIDTH, "", WIDTH, text);
	ssize_t n = write(STDERR_FILENO, line, (size_t)length);

	(void)n;
}

/* "1.5 MiB": three digits are enough for a glance. */
static void
size_text(uint64_t bytes, char out[24])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	uint64_t whole = bytes, tenths = 0;
	size_t unit = 0;

	while (whole >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		tenths = whole % 1024 * 10 / 1024;
		whole /= 1024;
		unit++;
	}
	if (unit > 0 && whole < 100)
		snprintf(out, 24, "%" PRIu64 ".%" PRIu64 " %s", whole, tenths, units[unit]);
	else
		snprintf(out, 24, "%" PRIu64 " %s", whole, units[unit]);
}

static void
on_tick(void *arg)
{
	struct exec_meter *meter = arg;
	const struct exec_hold *hold = meter->hold;
	const struct exec_run *run = meter->run;
	int64_t ran_us = sbx_clock_mono_us() - run->outcome.started_us;
	uint64_t memory = 0, pids = 0;
	char text[2 * WIDTH], used[24], printed[24];

	meter->timer = sbx_loop_at(hold->loop, sbx_clock_mono_us() + EVERY_US, on_tick, meter);
	if (run->step != EXEC_RUNNING || run->outcome.started_us == 0)
		return;
	size_text(run->streams[0].excerpt.total + run->streams[1].excerpt.total, printed);
	if (hold->target->mech->totals(&hold->target->tool.host, &hold->target->record, &memory,
		    &pids) == 0 &&
		memory > 0) {
		size_text(memory, used);
		snprintf(text, sizeof(text), "%" PRId64 " s   %s of memory   %s printed",
			ran_us / 1000000, used, printed);
	} else {
		snprintf(text, sizeof(text), "%" PRId64 " s   %s printed", ran_us / 1000000,
			printed);
	}
	show(text);
	meter->shown = 1;
}

void
exec_meter_start(struct exec_meter *meter, const struct exec_hold *hold, const struct exec_run *run)
{
	if (!isatty(STDERR_FILENO))
		return;
	*meter = (struct exec_meter){ .hold = hold, .run = run };
	meter->timer = sbx_loop_at(hold->loop, sbx_clock_mono_us() + FIRST_US, on_tick, meter);
}

void
exec_meter_stop(struct exec_meter *meter)
{
	if (meter->hold == NULL)
		return;
	sbx_loop_cancel(meter->hold->loop, meter->timer);
	if (meter->shown)
		show("");
	*meter = (struct exec_meter){ .hold = NULL };
}
