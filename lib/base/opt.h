/*
 * Option tables: one table parses the command line, prints --help, and is compared with the manual
 * page by a test.
 */
#ifndef SBX_BASE_OPT_H
#define SBX_BASE_OPT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum sbx_opt_kind {
	SBX_OPT_HEAD, /* only a heading in --help */
	SBX_OPT_FLAG, /* bool: sets *(int *) to 1 */
	SBX_OPT_STRING, /* *(const char **): borrowed from argv */
	SBX_OPT_LIST, /* struct sbx_opt_list: may be given many times */
	SBX_OPT_U64, /* *(uint64_t *), within min and max */
	SBX_OPT_SIZE, /* *(uint64_t *) bytes, with units */
	SBX_OPT_DURATION, /* *(uint64_t *) milliseconds, with units */
	SBX_OPT_CHOICE, /* *(int *): index in the NULL-terminated choices */
};

struct sbx_opt_list {
	const char *items[64]; /* borrowed from argv */
	size_t count;
};

struct sbx_opt {
	const char *name; /* long name without dashes; NULL ends the table */
	char letter; /* short name, 0 if none */
	enum sbx_opt_kind kind;
	size_t offset; /* of the target in the caller's options struct */
	const char *argument; /* its name in --help, NULL for flags */
	const char *help; /* one line */
	uint64_t min, max; /* for numbers; 0 and 0 mean no bound */
	const char *const *choices;
};

/* What every tool takes: spliced into its table with SBX_OPT_COMMON(struct, member). */
struct sbx_opt_common {
	const char *state, *config;
	int log_format;
	int verbose, version, help;
};

extern const char *const sbx_opt_log_formats[]; /* "auto", "text", "json": enum sbx_log_format */

/* clang-format off */
#define SBX_OPT_COMMON(type, member)                                                               \
	{ .name = "", .kind = SBX_OPT_HEAD, .help = "Common options" },                            \
	{ .name = "state", .kind = SBX_OPT_STRING, .argument = "DIR",                              \
	  .offset = offsetof(type, member.state), .help = "state directory ($SBX_STATE)" },        \
	{ .name = "config", .kind = SBX_OPT_STRING, .argument = "FILE",                            \
	  .offset = offsetof(type, member.config), .help = "configuration file" },                 \
	{ .name = "log-format", .kind = SBX_OPT_CHOICE, .argument = "FORMAT",                      \
	  .offset = offsetof(type, member.log_format), .choices = sbx_opt_log_formats,             \
	  .help = "auto, text or json" },                                                          \
	{ .name = "verbose", .letter = 'v', .kind = SBX_OPT_FLAG,                                  \
	  .offset = offsetof(type, member.verbose), .help = "log more" },                          \
	{ .name = "version", .letter = 'V', .kind = SBX_OPT_FLAG,                                  \
	  .offset = offsetof(type, member.version), .help = "print the version and exit" },        \
	{ .name = "help", .letter = 'h', .kind = SBX_OPT_FLAG,                                     \
	  .offset = offsetof(type, member.help), .help = "print this help and exit" }
/* clang-format on */

/*
 * Parse argv into the struct at `target` until the first operand or "--" (options never follow
 * operands, so that a command's own options are safe). Long options take "--name value" and
 * "--name=value", short ones "-n value" and "-nvalue". Answers the index of the first operand, or
 * -1 with SBX_E_USAGE. A scalar option that is given twice is an error that names it.
 */
int sbx_opt_parse(const struct sbx_opt *table, int argc, char **argv, void *target,
	struct sbx_err *err) __attribute__((warn_unused_result));

/*
 * Print --help to stdout: usage lines (NULL-terminated, without the program's name), the table.
 */
void sbx_opt_help(const char *tool, const char *const *usage, const struct sbx_opt *table);

#endif
