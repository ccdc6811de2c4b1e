/*
 * The command line of sbx-exec as one table: it parses, prints --help, and is compared with the
 * manual page. Knows nothing of environments.
 */
#include "exec.h"

#include <string.h>

#include "run.h"

#define OUTPUT_BYTES_MAX (256 * 1024)
#define TIMEOUT_MS_MAX (UINT64_C(366) * 24 * 3600 * 1000)

#define AT(member) offsetof(struct exec_options, member)

static const char *const on_eof_names[] = { "finish", "cancel", NULL };

static const struct sbx_opt table[] = {
	{ .name = "spec",
		.kind = SBX_OPT_STRING,
		.argument = "FILE",
		.offset = AT(spec),
		.help = "the environment of this spec, made when it is first needed" },
	{ .name = "", .kind = SBX_OPT_HEAD, .help = "The command" },
	{ .name = "timeout",
		.kind = SBX_OPT_DURATION,
		.argument = "DURATION",
		.offset = AT(timeout_ms),
		.min = 1,
		.max = TIMEOUT_MS_MAX,
		.help = "end it after that; at most the environment's wall_time" },
	{ .name = "stdin",
		.kind = SBX_OPT_STRING,
		.argument = "-|FILE|@TEXT",
		.offset = AT(stdin_from),
		.help = "its standard input (default: empty; with --raw: ours)" },
	{ .name = "cwd",
		.kind = SBX_OPT_STRING,
		.argument = "DIR",
		.offset = AT(cwd),
		.help = "start it there, inside; relative to the workspace" },
	{ .name = "env",
		.kind = SBX_OPT_LIST,
		.argument = "NAME=VALUE",
		.offset = AT(env),
		.help = "set a variable; may be repeated" },
	{ .name = "background",
		.kind = SBX_OPT_FLAG,
		.offset = AT(background),
		.help = "what it starts may outlive it, frozen while no command runs" },
	{ .name = "", .kind = SBX_OPT_HEAD, .help = "The answer" },
	{ .name = "output-bytes",
		.kind = SBX_OPT_SIZE,
		.argument = "SIZE",
		.offset = AT(output_bytes),
		.min = 1,
		.max = OUTPUT_BYTES_MAX,
		.help = "keep so much of each output, its head and tail" },
	{ .name = "exit-code",
		.kind = SBX_OPT_FLAG,
		.offset = AT(exit_code),
		.help = "exit as the command did" },
	{ .name = "raw",
		.kind = SBX_OPT_FLAG,
		.offset = AT(raw),
		.help = "no record: pass its bytes through and exit as it did" },
	{ .name = "release-on-exit",
		.kind = SBX_OPT_FLAG,
		.offset = AT(release),
		.help = "release the environment at our end, whatever that is" },
	{ .name = "tty",
		.kind = SBX_OPT_FLAG,
		.offset = AT(tty),
		.help = "with --raw: on a terminal inside, for a shell to look around" },
	{ .name = "", .kind = SBX_OPT_HEAD, .help = "The workspace, instead of a command" },
	{ .name = "get",
		.kind = SBX_OPT_STRING,
		.argument = "PATH",
		.offset = AT(get),
		.help = "a file's bytes to stdout" },
	{ .name = "put",
		.kind = SBX_OPT_STRING,
		.argument = "PATH",
		.offset = AT(put),
		.help = "make or replace a file with what stdin holds, whole or not at all" },
	{ .name = "ls",
		.kind = SBX_OPT_STRING,
		.argument = "PATH",
		.offset = AT(ls),
		.help = "list a directory (\"\": the workspace itself)" },
	{ .name = "recursive",
		.kind = SBX_OPT_FLAG,
		.offset = AT(recursive),
		.help = "with --ls: and all below it" },
	{ .name = "tar-out",
		.kind = SBX_OPT_STRING,
		.argument = "PATH",
		.offset = AT(tar_out),
		.help = "a directory and all below it to stdout, as a tar archive" },
	{ .name = "tar-in",
		.kind = SBX_OPT_STRING,
		.argument = "PATH",
		.offset = AT(tar_in),
		.help = "a tar archive from stdin into a directory" },
	{ .name = "authorize",
		.kind = SBX_OPT_STRING,
		.argument = "PATH",
		.offset = AT(authorize),
		.help = "say whether the path falls within the workspace; 77 if not" },
	{ .name = "", .kind = SBX_OPT_HEAD, .help = "What background commands left" },
	{ .name = "list-background",
		.kind = SBX_OPT_FLAG,
		.offset = AT(list_background),
		.help = "tell it" },
	{ .name = "end-background",
		.kind = SBX_OPT_STRING,
		.argument = "NAME",
		.offset = AT(end_background),
		.help = "end one (b0), and tell the others" },
	{ .name = "", .kind = SBX_OPT_HEAD, .help = "Many commands" },
	{ .name = "stream",
		.kind = SBX_OPT_FLAG,
		.offset = AT(stream),
		.help = "take requests from stdin, a line each, and answer each with a record" },
	{ .name = "on-eof",
		.kind = SBX_OPT_CHOICE,
		.argument = "finish|cancel",
		.offset = AT(on_eof),
		.choices = on_eof_names,
		.help = "at the end of the requests let what runs finish (default), or cancel it" },
	SBX_OPT_COMMON(struct exec_options, common),
	{ .name = NULL },
};

static const char *const usage[] = {
	"[options] ENV -- COMMAND [ARGUMENT...]",
	"[options] - -- COMMAND [ARGUMENT...]",
	"--spec FILE [options] -- COMMAND [ARGUMENT...]",
	"--stream [options] ENV",
	"--stream --spec FILE [options]",
	"--get PATH | --put PATH | --ls PATH | --authorize PATH [options] ENV",
	"--tar-out PATH | --tar-in PATH [options] ENV",
	"--list-background | --end-background NAME [options] ENV",
	NULL,
};

const struct sbx_tool_about exec_about = {
	.name = "sbx-exec",
	.usage = usage,
	.table = table,
	.common_offset = AT(common),
};

int
exec_options_access(const struct exec_options *options)
{
	return options->get != NULL || options->put != NULL || options->ls != NULL ||
		options->authorize != NULL || options->tar_in != NULL || options->tar_out != NULL;
}

int
exec_options_background(const struct exec_options *options)
{
	return options->list_background || options->end_background != NULL;
}

/* One thing at a time, and what is said of it. */
static int
check_access(const struct exec_options *options, struct sbx_err *err)
{
	int count = (options->get != NULL) + (options->put != NULL) + (options->ls != NULL) +
		(options->authorize != NULL) + (options->tar_in != NULL) +
		(options->tar_out != NULL) + options->stream + options->list_background +
		(options->end_background != NULL);

	if (count > 1)
		return sbx_fail(err, SBX_E_USAGE,
			"only one of --get, --put, --ls, --authorize, --stream and the like");
	if (options->recursive && options->ls == NULL)
		return sbx_fail(err, SBX_E_USAGE, "--recursive is of --ls");
	if ((exec_options_access(options) || exec_options_background(options)) &&
		(options->raw || options->exit_code || options->stdin_from != NULL ||
			options->cwd != NULL || options->env.count > 0 ||
			options->output_bytes != 0 || options->background))
		return sbx_fail(err, SBX_E_USAGE,
			"options of a command do not go with what is no command");
	return 0;
}

/* What a request says for itself. */
static int
check_stream(const struct exec_options *options, struct sbx_err *err)
{
	const struct {
		const char *name;
		int given;
	} others[] = { { "raw", options->raw }, { "exit-code", options->exit_code },
		{ "stdin", options->stdin_from != NULL }, { "cwd", options->cwd != NULL },
		{ "env", options->env.count > 0 }, { "timeout", options->timeout_ms != 0 },
		{ "output-bytes", options->output_bytes != 0 },
		{ "background", options->background } };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i].given)
			return sbx_fail(err, SBX_E_USAGE,
				"--%s: is of one command, not of --stream", others[i].name);
	return 0;
}

int
exec_options_check(const struct exec_options *options, struct sbx_err *err)
{
	if (check_access(options, err) < 0)
		return -1;
	if (options->on_eof != EXEC_ON_EOF_FINISH && !options->stream)
		return sbx_fail(err, SBX_E_USAGE, "--on-eof is of --stream");
	if (options->raw && options->output_bytes != 0)
		return sbx_fail(err, SBX_E_USAGE,
			"--output-bytes bounds a record, and --raw writes none");
	if (options->tty && (!options->raw || options->stdin_from != NULL))
		return sbx_fail(err, SBX_E_USAGE, "--tty goes with --raw, and not with --stdin");
	if (options->tty && exec_tty_check(err) < 0)
		return -1;
	if (options->cwd != NULL && options->cwd[0] == '\0')
		return sbx_fail(err, SBX_E_USAGE, "--cwd: empty");
	if (options->stdin_from != NULL && options->stdin_from[0] == '\0')
		return sbx_fail(err, SBX_E_USAGE, "--stdin: empty (\"@\" is an empty text)");
	for (size_t i = 0; i < options->env.count; i++)
		if (strchr(options->env.items[i], '=') == NULL)
			return sbx_fail(err, SBX_E_USAGE, "--env: \"%.64s\" is not NAME=VALUE",
				options->env.items[i]);
	return options->stream ? check_stream(options, err) : 0;
}
