/* sbx-tar: confine, then convert; what went wrong is one line on stderr and the exit status. */
#include <locale.h>
#include <sodium.h>
#include <string.h>

#include "base/log.h"
#include "data/errors.h"
#include "tar.h"

#define MAX_BYTES ((uint64_t)1 << 40)
#define MAX_ENTRIES ((uint64_t)1000000)

#define AT(member) offsetof(struct tar_options, member)

static const struct sbx_opt table[] = {
	{ .name = "max-bytes",
		.kind = SBX_OPT_SIZE,
		.argument = "SIZE",
		.offset = AT(max_bytes),
		.min = 1,
		.max = MAX_BYTES,
		.help = "in: most bytes of all files together" },
	{ .name = "max-entries",
		.kind = SBX_OPT_U64,
		.argument = "N",
		.offset = AT(max_entries),
		.min = 1,
		.max = MAX_ENTRIES,
		.help = "in: most names" },
	SBX_OPT_COMMON(struct tar_options, common),
	{ .name = NULL },
};

static const char *const usage[] = { "in [options] < archive.tar > tree",
	"out [options] < tree > archive.tar", NULL };

const struct sbx_tool_about tar_about = {
	.name = "sbx-tar",
	.usage = usage,
	.table = table,
	.common_offset = AT(common),
};

int
main(int argc, char **argv)
{
	struct tar_options options = { .max_bytes = MAX_BYTES, .max_entries = MAX_ENTRIES };
	struct sbx_err err = { 0 };
	int first = sbx_tool_begin(&tar_about, argc, argv, &options, &err);
	int in = first >= 0 && first < argc && strcmp(argv[first], "in") == 0;
	int rc = -1;

	if (first == SBX_TOOL_DONE)
		return SBX_EXIT_OK;
	/* Names are bytes. Those that are UTF-8 are to be told so in an archive; but libarchive would
	 * compose the characters of one that comes in, and two names would become one. Before
	 * confinement, since it reads files. */
	if (!in)
		setlocale(LC_CTYPE, "C.UTF-8");
	if (first >= 0 && (first + 1 != argc || (!in && strcmp(argv[first], "out") != 0)))
		sbx_fail(&err, SBX_E_USAGE, "\"in\" or \"out\" is wanted");
	else if (first >= 0 && sodium_init() < 0)
		sbx_fail(&err, SBX_E_INTERNAL, "libsodium");
	else if (first >= 0 && tar_confine(&err) == 0)
		rc = in ? tar_in(&options, &err) : tar_out(&err);
	if (rc == 0)
		return SBX_EXIT_OK;
	sbx_log_err(&err);
	return sbx_code_exit(err.code);
}
