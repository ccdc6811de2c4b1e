/* base/opt: a table of every kind, what it takes and what it refuses. */
#include "base/opt.h"

#include <fcntl.h>
#include <unistd.h>

#include "tap.h"

struct options {
	const char *name;
	struct sbx_opt_list mounts;
	uint64_t jobs, memory, wait_ms, any;
	int quiet, color;
	struct sbx_opt_common common;
};

static const char *const colors[] = { "never", "always", NULL };

static const struct sbx_opt table[] = {
	{ .name = "name",
		.letter = 'n',
		.kind = SBX_OPT_STRING,
		.argument = "NAME",
		.offset = offsetof(struct options, name),
		.help = "what it is called" },
	{ .name = "mount",
		.letter = 'm',
		.kind = SBX_OPT_LIST,
		.argument = "SRC:DST",
		.offset = offsetof(struct options, mounts),
		.help = "a mount" },
	{ .name = "", .kind = SBX_OPT_HEAD, .help = "Numbers" },
	{ .name = "jobs",
		.letter = 'j',
		.kind = SBX_OPT_U64,
		.argument = "N",
		.min = 1,
		.max = 8,
		.offset = offsetof(struct options, jobs),
		.help = "how many" },
	{ .name = "memory",
		.kind = SBX_OPT_SIZE,
		.argument = "BYTES",
		.min = 0,
		.max = 1 << 30,
		.offset = offsetof(struct options, memory),
		.help = "how much" },
	{ .name = "wait-for-a-very-long-name",
		.kind = SBX_OPT_DURATION,
		.argument = "TIME",
		.offset = offsetof(struct options, wait_ms),
		.help = "how long" },
	{ .name = "any",
		.kind = SBX_OPT_U64,
		.argument = "N",
		.offset = offsetof(struct options, any),
		.help = "without a bound" },
	{ .name = "quiet",
		.letter = 'q',
		.kind = SBX_OPT_FLAG,
		.offset = offsetof(struct options, quiet),
		.help = "say nothing" },
	{ .name = "color",
		.kind = SBX_OPT_CHOICE,
		.argument = "WHEN",
		.choices = colors,
		.offset = offsetof(struct options, color),
		.help = "never or always" },
	SBX_OPT_COMMON(struct options, common),
	{ 0 },
};

static struct options got;
static struct sbx_err err;

/* Parse a command line of words; NULL ends it. */
static int
parse(const char *const *words)
{
	const char *line[80] = { "tool" };
	char *argv[80];
	int argc = 1;

	for (; words[argc - 1] != NULL; argc++)
		line[argc] = words[argc - 1];
	memcpy(argv, line, sizeof(argv)); /* main's argv is not const */
	memset(&got, 0, sizeof(got));
	memset(&err, 0, sizeof(err));
	return sbx_opt_parse(table, argc, argv, &got, &err);
}

#define PARSE(...) parse((const char *[]){ __VA_ARGS__, NULL })

static void
refused(int result, const char *msg)
{
	is_int(result, -1, "refused: %s", msg);
	is_int(err.code, SBX_E_USAGE, "as usage");
	is_str(err.msg, msg, "with that message");
}

static void
test_good(void)
{
	is_int(parse((const char *[]){ NULL }), 1, "nothing");
	is_int(PARSE("--name", "x", "--memory=512MiB", "cmd", "--jobs", "9"), 4,
		"options end at the first operand");
	is_str(got.name, "x", "separate value");
	is_int(got.memory, 512 << 20, "attached value");
	is_int(got.jobs, 0, "an operand's options are its own");
	is_int(PARSE("-nx", "-j", "3", "-m", "a:b", "--mount=c:d", "--", "-q"), 8,
		"\"--\" ends them");
	is_str(got.name, "x", "short, attached");
	is_int(got.jobs, 3, "short, separate");
	is_int(got.mounts.count, 2, "a list");
	is_str(got.mounts.items[1], "c:d", "in order");
	is_int(got.quiet, 0, "not read behind \"--\"");
	is_int(PARSE("-qvj2", "-"), 2, "flags together; \"-\" is an operand");
	ok(got.quiet == 1 && got.common.verbose == 1 && got.jobs == 2, "all three");
	is_int(PARSE("-v", "-v"), 3, "a flag may come twice");
	is_int(PARSE("--name=", "--wait-for-a-very-long-name", "90s"), 4, "an empty value");
	is_str(got.name, "", "is a value");
	is_int(got.wait_ms, 90000, "a duration");
	is_int(PARSE("--name", "--quiet"), 3, "a value may look like an option");
	is_str(got.name, "--quiet", "it is taken as it is");
	is_int(PARSE("--color", "always", "--log-format=json", "--state", "/s"), 6, "choices");
	ok(got.color == 1 && got.common.log_format == 2, "by index");
	is_str(got.common.state, "/s", "a common option");
	is_int(PARSE("--any", "18446744073709551615"), 3, "no bound");
	ok(got.any == UINT64_MAX, "is no bound");
}

static void
test_refused(void)
{
	const char *many[67];
	int i;

	refused(PARSE("--nam", "x"), "unknown option \"--nam\"");
	is_str(err.hint, "see --help", "and what to do");
	refused(PARSE("--bogus=1"), "unknown option \"--bogus\"");
	refused(PARSE("--=x"), "unknown option \"--\"");
	refused(PARSE("-qx"), "unknown option \"-x\"");
	refused(PARSE("--name"), "--name: needs a value (NAME)");
	refused(PARSE("-n"), "--name: needs a value (NAME)");
	refused(PARSE("--quiet=1"), "--quiet: takes no value");
	refused(PARSE("--name=a", "-nb"), "--name: given twice");
	refused(PARSE("--jobs=1", "--jobs=1"), "--jobs: given twice");
	refused(PARSE("--jobs=9"), "--jobs: \"9\" is not a number from 1 to 8");
	refused(PARSE("-j0"), "--jobs: \"0\" is not a number from 1 to 8");
	refused(PARSE("--memory=2GiB"), "--memory: \"2GiB\" is not a size from 0B to 1GiB");
	refused(PARSE("--color=red"), "--color: \"red\" is not one of never, always");
	for (i = 0; i < 65; i++)
		many[i] = "-mx";
	many[64] = NULL;
	is_int(parse(many), 65, "a list takes 64");
	many[64] = many[0];
	many[65] = NULL;
	refused(parse(many), "--mount: given more than 64 times");
}

static void
test_help(void)
{
	static const char *const usage[] = { "[options] [--] CMD", "--version", NULL };
	static const char want[] = "Usage: tool [options] [--] CMD\n"
				   "       tool --version\n"
				   "\n"
				   "  -n, --name NAME           what it is called\n"
				   "  -m, --mount SRC:DST       a mount\n"
				   "\n"
				   "Numbers:\n"
				   "  -j, --jobs N              how many\n"
				   "      --memory BYTES        how much\n"
				   "      --wait-for-a-very-long-name TIME\n"
				   "                            how long\n";
	static char text[4096];
	int ends[2], kept;
	ssize_t n;

	fflush(stdout);
	kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (kept < 0 || pipe2(ends, O_CLOEXEC) < 0 || dup2(ends[1], STDOUT_FILENO) < 0)
		exit(1);
	sbx_opt_help("tool", usage, table);
	fflush(stdout);
	if (dup2(kept, STDOUT_FILENO) < 0)
		exit(1);
	n = read(ends[0], text, sizeof(text) - 1);
	text[n < 0 ? 0 : n] = '\0';
	ok(strstr(text, "\nCommon options:\n      --state DIR ") != NULL, "a heading");
	ok(strstr(text, "\n  -h, --help                print this help and exit\n") != NULL,
		"the last");
	text[sizeof(want) - 1] = '\0';
	is_str(text, want, "the beginning, to the letter");
}

int
main(void)
{
	char *empty[] = { NULL };

	test_good();
	test_refused();
	test_help();
	is_int(sbx_opt_parse(table, 0, empty, &got, &err), 0, "a command line without a name");
	return done();
}
