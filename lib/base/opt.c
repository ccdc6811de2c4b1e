/*
 * Option tables: parsing and --help. getopt_long is not used: it reorders operands, takes
 * abbreviations, prints by itself, and cannot say that an option came twice. Never prints but in
 * sbx_opt_help().
 */
#include "base/opt.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"

#define OPTIONS_MAX 128
#define HELP_COLUMN 28

const char *const sbx_opt_log_formats[] = { "auto", "text", "json", NULL };

/* One parse; borrows everything. */
struct parse {
	const struct sbx_opt *table;
	char **argv;
	int argc, at; /* argv[at] is the argument being read */
	char *target;
	unsigned char seen[OPTIONS_MAX]; /* by place in the table */
	struct sbx_err *err;
};

static const struct sbx_opt *
find_long(const struct sbx_opt *table, const char *name, size_t length)
{
	const struct sbx_opt *opt;

	for (opt = table; opt->name != NULL; opt++) {
		if (opt->kind != SBX_OPT_HEAD && strlen(opt->name) == length &&
			memcmp(opt->name, name, length) == 0)
			return opt;
	}
	return NULL;
}

static const struct sbx_opt *
find_short(const struct sbx_opt *table, char letter)
{
	const struct sbx_opt *opt;

	for (opt = table; opt->name != NULL; opt++) {
		if (opt->kind != SBX_OPT_HEAD && opt->letter != 0 && opt->letter == letter)
			return opt;
	}
	return NULL;
}

static int
fail_unknown(struct sbx_err *err, const char *shown, size_t length)
{
	sbx_fail(err, SBX_E_USAGE, "unknown option \"%.*s\"", (int)length, shown);
	return sbx_fail_hint(err, "see --help");
}

static int
set_choice(const struct sbx_opt *opt, int *place, const char *value, struct sbx_err *err)
{
	SBX_AUTO_BUF list = SBX_BUF_INIT(128);
	int i;

	for (i = 0; opt->choices[i] != NULL; i++) {
		if (strcmp(opt->choices[i], value) == 0) {
			*place = i;
			return 0;
		}
		sbx_buf_printf(&list, "%s%s", i == 0 ? "" : ", ", opt->choices[i]);
	}
	return sbx_fail(err, SBX_E_USAGE, "--%s: \"%.64s\" is not one of %s", opt->name, value,
		sbx_buf_str(&list));
}

static int
set_number(const struct sbx_opt *opt, uint64_t *place, const char *value, struct sbx_err *err)
{
	uint64_t max = opt->min == 0 && opt->max == 0 ? UINT64_MAX : opt->max;
	char what[64];
	int result;

	snprintf(what, sizeof(what), "--%s", opt->name);
	if (opt->kind == SBX_OPT_SIZE)
		result = sbx_num_size(value, opt->min, max, what, place, err);
	else if (opt->kind == SBX_OPT_DURATION)
		result = sbx_num_duration_ms(value, opt->min, max, what, place, err);
	else
		result = sbx_num_u64(value, opt->min, max, what, place, err);
	if (result < 0 && err != NULL)
		err->code = SBX_E_USAGE; /* not a request: the command line */
	return result;
}

static int
add_item(const struct sbx_opt *opt, struct sbx_opt_list *list, const char *value,
	struct sbx_err *err)
{
	size_t room = sizeof(list->items) / sizeof(list->items[0]);

	if (list->count == room)
		return sbx_fail(err, SBX_E_USAGE, "--%s: given more than %zu times", opt->name,
			room);
	list->items[list->count++] = value;
	return 0;
}

/* Put a value (NULL for a flag) where the option's offset says. */
static int
set_value(struct parse *parse, const struct sbx_opt *opt, const char *value)
{
	void *place = parse->target + opt->offset;
	size_t index = (size_t)(opt - parse->table);

	assert(index < OPTIONS_MAX);
	if (parse->seen[index] && opt->kind != SBX_OPT_LIST && opt->kind != SBX_OPT_FLAG)
		return sbx_fail(parse->err, SBX_E_USAGE, "--%s: given twice", opt->name);
	parse->seen[index] = 1;
	switch (opt->kind) {
	case SBX_OPT_HEAD:
		break;
	case SBX_OPT_FLAG:
		*(int *)place = 1;
		break;
	case SBX_OPT_STRING:
		*(const char **)place = value;
		break;
	case SBX_OPT_LIST:
		return add_item(opt, place, value, parse->err);
	case SBX_OPT_U64:
	case SBX_OPT_SIZE:
	case SBX_OPT_DURATION:
		return set_number(opt, place, value, parse->err);
	case SBX_OPT_CHOICE:
		return set_choice(opt, place, value, parse->err);
	}
	return 0;
}

/* The next argument as the value of an option that has none attached. */
static int
set_from_next(struct parse *parse, const struct sbx_opt *opt)
{
	if (parse->at + 1 >= parse->argc)
		return sbx_fail(parse->err, SBX_E_USAGE, "--%s: needs a value (%s)", opt->name,
			opt->argument == NULL ? "VALUE" : opt->argument);
	return set_value(parse, opt, parse->argv[++parse->at]);
}

static int
parse_long(struct parse *parse, const char *argument)
{
	size_t length = strcspn(argument + 2, "=");
	const struct sbx_opt *opt = find_long(parse->table, argument + 2, length);
	const char *value = argument[2 + length] == '=' ? argument + 2 + length + 1 : NULL;

	if (opt == NULL)
		return fail_unknown(parse->err, argument, 2 + (length < 64 ? length : 64));
	if (opt->kind != SBX_OPT_FLAG)
		return value == NULL ? set_from_next(parse, opt) : set_value(parse, opt, value);
	if (value != NULL)
		return sbx_fail(parse->err, SBX_E_USAGE, "--%s: takes no value", opt->name);
	return set_value(parse, opt, NULL);
}

/* "-v", "-nvalue", "-n value", or flags together, the last of which may take a value. */
static int
parse_short(struct parse *parse, const char *argument)
{
	const char *p = argument + 1;
	const struct sbx_opt *opt;
	char shown[3] = "-";

	for (; *p != '\0'; p++) {
		opt = find_short(parse->table, *p);
		if (opt == NULL) {
			shown[1] = *p;
			return fail_unknown(parse->err, shown, 2);
		}
		if (opt->kind != SBX_OPT_FLAG)
			return p[1] == '\0' ? set_from_next(parse, opt) :
					      set_value(parse, opt, p + 1);
		if (set_value(parse, opt, NULL) < 0)
			return -1;
	}
	return 0;
}

int
sbx_opt_parse(const struct sbx_opt *table, int argc, char **argv, void *target, struct sbx_err *err)
{
	struct parse parse = {
		.table = table,
		.argv = argv,
		.argc = argc,
		.at = 1,
		.target = target,
		.err = err,
	};
	const char *argument;
	int result;

	for (; parse.at < argc; parse.at++) {
		argument = argv[parse.at];
		if (argument[0] != '-' || argument[1] == '\0') /* "-" is an operand */
			break;
		if (strcmp(argument, "--") == 0)
			return parse.at + 1;
		result = argument[1] == '-' ? parse_long(&parse, argument) :
					      parse_short(&parse, argument);
		if (result < 0)
			return -1;
	}
	return parse.at < argc ? parse.at : argc;
}

static void
print_option(const struct sbx_opt *opt)
{
	char left[96];

	if (opt->kind == SBX_OPT_HEAD) {
		printf("\n%s:\n", opt->help);
		return;
	}
	if (opt->letter != 0)
		snprintf(left, sizeof(left), "  -%c, --%s", opt->letter, opt->name);
	else
		snprintf(left, sizeof(left), "      --%s", opt->name);
	if (opt->argument != NULL)
		snprintf(left + strlen(left), sizeof(left) - strlen(left), " %s", opt->argument);
	if (strlen(left) + 2 > HELP_COLUMN)
		printf("%s\n%*s%s\n", left, HELP_COLUMN, "", opt->help);
	else
		printf("%-*s%s\n", HELP_COLUMN, left, opt->help);
}

void
sbx_opt_help(const char *tool, const char *const *usage, const struct sbx_opt *table)
{
	const struct sbx_opt *opt;
	size_t i;

	for (i = 0; usage[i] != NULL; i++)
		printf("%s %s %s\n", i == 0 ? "Usage:" : "      ", tool, usage[i]);
	for (opt = table; opt->name != NULL; opt++) {
		/* A table that does not begin with a heading still wants its blank line. */
		if (opt == table && opt->kind != SBX_OPT_HEAD)
			printf("\n");
		print_option(opt);
	}
}
