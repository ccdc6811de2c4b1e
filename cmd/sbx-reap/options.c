/* The options of sbx-reap, one table for parsing, --help and the manual page. */
#include "reap.h"

#define AT(member) offsetof(struct reap_options, member)

static const struct sbx_opt table[] = {
	{ .name = "env",
		.kind = SBX_OPT_STRING,
		.argument = "ID",
		.offset = AT(env),
		.help = "release this environment" },
	{ .name = "list",
		.kind = SBX_OPT_FLAG,
		.offset = AT(list),
		.help = "list all environments" },
	{ .name = "table",
		.kind = SBX_OPT_FLAG,
		.offset = AT(table),
		.help = "list for people, also without a terminal" },
	SBX_OPT_COMMON(struct reap_options, common),
	{ .name = NULL },
};

static const char *const usage[] = {
	"[options] --env ID",
	"[options] --list [--table]",
	NULL,
};

const struct sbx_tool_about reap_about = {
	.name = "sbx-reap",
	.usage = usage,
	.table = table,
	.common_offset = AT(common),
};
