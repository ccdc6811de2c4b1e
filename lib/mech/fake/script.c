/*
 * The script of the mechanism fake: canned results as NDJSON, each line with the argv it answers.
 * Only text becomes structs here; nothing is opened or played.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/scoped.h"
#include "data/json.h"
#include "mech/fake/fake.h"

/* A line as it stands in JSON. */
struct raw {
	struct sbx_json argv, out, err;
	uint64_t exit_code, signal, delay_ms;
	int oom;
};

#define FIELD(name, member, of_kind, most)                                                         \
	{                                                                                          \
		.key = (name), .kind = (of_kind), .offset = offsetof(struct raw, member),          \
		.umax = (most)                                                                     \
	}
static const struct sbx_json_field fields[] = {
	FIELD("argv", argv, SBX_JSON_F_VALUE, 0),
	FIELD("stdout", out, SBX_JSON_F_VALUE, 0),
	FIELD("stderr", err, SBX_JSON_F_VALUE, 0),
	FIELD("exit_code", exit_code, SBX_JSON_F_U64, 255),
	FIELD("signal", signal, SBX_JSON_F_U64, 64),
	FIELD("delay_ms", delay_ms, SBX_JSON_F_U64, SBX_FAKE_DELAY_MAX_MS),
	FIELD("oom", oom, SBX_JSON_F_BOOL, 0),
	{ .key = NULL },
};

/* A command cannot end by a signal whose default is to go on or to stop, nor by libc's own two. */
static int
ends_by(int number)
{
	static const int others[] = { SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG,
		SIGWINCH, 32, 33 };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i] == number)
			return 0;
	return 1;
}

static int
read_argv(struct sbx_json v, struct sbx_fake_line *line, struct sbx_err *err)
{
	struct sbx_json item;
	size_t count = sbx_json_count(v), cursor = 0;

	if (sbx_json_type(v) == SBX_JSON_ABSENT)
		return 0;
	if (sbx_json_type(v) != SBX_JSON_ARRAY || count < 1 || count > SBX_FAKE_ARGS_MAX)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "argv: must be an array of 1 to %d strings",
			SBX_FAKE_ARGS_MAX);
	line->argv = sbx_mem_alloc(count + 1, sizeof(*line->argv));
	while (sbx_json_each(v, &cursor, NULL, &item)) {
		if (sbx_json_string(item, "argv", SBX_FAKE_SCRIPT_MAX, &line->argv[line->argc],
			    err) < 0)
			return -1;
		line->argc++;
	}
	return 0;
}

static int
read_bytes(struct sbx_json v, const char *what, struct sbx_buf *out, struct sbx_err *err)
{
	return sbx_json_type(v) == SBX_JSON_ABSENT ? 0 : sbx_json_bytes(v, what, out, err);
}

static int
read_line(const char *text, size_t length, struct sbx_fake_line *line, struct sbx_err *err)
{
	SBX_AUTO_JSON doc = sbx_json_parse(text, length, err);
	struct raw raw = { .argv.token = -1, .out.token = -1, .err.token = -1 };

	if (doc == NULL || sbx_json_read(sbx_json_root(doc), "line", fields, &raw, err) < 0 ||
		read_argv(raw.argv, line, err) < 0 ||
		read_bytes(raw.out, "stdout", &line->out, err) < 0 ||
		read_bytes(raw.err, "stderr", &line->err, err) < 0)
		return -1;
	line->exit_code = (int)raw.exit_code;
	line->signal = (int)raw.signal;
	line->delay_ms = raw.delay_ms;
	line->oom = raw.oom;
	if ((raw.exit_code != 0) + (raw.signal != 0) + raw.oom > 1)
		return sbx_fail(err, SBX_E_BAD_REQUEST,
			"only one of exit_code, signal and oom can end a command");
	if (!ends_by(line->signal))
		return sbx_fail(err, SBX_E_BAD_REQUEST, "signal: %d does not end a command",
			line->signal);
	return 0;
}

int
sbx_fake_script_read(const char *text, size_t length, struct sbx_fake_script *script,
	struct sbx_err *err)
{
	const char *end = text + length, *next;
	size_t number = 0;

	*script = (struct sbx_fake_script){ 0 };
	for (const char *p = text; p < end; p = next + 1) {
		struct sbx_fake_line *line;

		next = memchr(p, '\n', (size_t)(end - p));
		if (next == NULL)
			next = end;
		number++;
		if (next == p)
			continue;
		if (script->count == SBX_FAKE_LINES_MAX)
			return sbx_fail(err, SBX_E_TOO_LARGE, "fake_script has over %d lines",
				SBX_FAKE_LINES_MAX);
		script->lines = sbx_mem_grow(script->lines, script->count + 1, sizeof(*line));
		line = &script->lines[script->count++];
		*line = (struct sbx_fake_line){ 0 };
		sbx_buf_init(&line->out, SBX_FAKE_SCRIPT_MAX);
		sbx_buf_init(&line->err, SBX_FAKE_SCRIPT_MAX);
		if (read_line(p, (size_t)(next - p), line, err) < 0)
			return sbx_fail_wrap(err, "fake_script:%zu", number);
	}
	return 0;
}

void
sbx_fake_script_done(struct sbx_fake_script *script)
{
	for (size_t i = 0; i < script->count; i++) {
		struct sbx_fake_line *line = &script->lines[i];

		for (size_t k = 0; k < line->argc; k++)
			free(line->argv[k]);
		free(line->argv);
		sbx_buf_done(&line->out);
		sbx_buf_done(&line->err);
	}
	free(script->lines);
	*script = (struct sbx_fake_script){ 0 };
}

static int
answers(const struct sbx_fake_line *line, char *const *argv)
{
	if (line->argv == NULL)
		return 1;
	for (size_t i = 0; i < line->argc; i++)
		if (argv[i] == NULL || strcmp(argv[i], line->argv[i]) != 0)
			return 0;
	return argv[line->argc] == NULL;
}

const struct sbx_fake_line *
sbx_fake_script_find(const struct sbx_fake_script *script, char *const *argv)
{
	for (size_t i = 0; i < script->count; i++)
		if (answers(&script->lines[i], argv))
			return &script->lines[i];
	return NULL;
}
