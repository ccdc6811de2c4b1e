/* sbx-quota(1): measure a directory, take a snapshot of it, compare, watch it grow. */
#include "quota.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/scoped.h"
#include "data/errors.h"

#define FLUSH_BYTES ((size_t)64 * 1024)

static const struct verb {
	const char *name;
	int operands;
	int (*run)(const struct quota_options *options, char *const *paths, struct sbx_err *err);
} verbs[] = { { "measure", 1, quota_measure }, { "snapshot", 1, quota_snapshot },
	{ "diff", 2, quota_diff }, { "watch", 1, quota_watch } };

int
quota_open_dir(const char *path, struct sbx_err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0)
		return fd;
	return sbx_fail_sys(err,
		errno == ENOENT		 ? SBX_E_NOT_FOUND :
			errno == EACCES	 ? SBX_E_DENIED :
			errno == ENOTDIR ? SBX_E_BAD_REQUEST :
					   SBX_E_IO,
		"%s", path);
}

int
quota_flush(struct sbx_buf *lines, int all, struct sbx_err *err)
{
	if (lines->length == 0 || (!all && lines->length < FLUSH_BYTES))
		return 0;
	if (sbx_buf_check(lines, "a record", err) < 0 || sbx_tool_print(lines, err) < 0)
		return -1;
	sbx_buf_clear(lines);
	return 0;
}

static const struct verb *
find_verb(const char *name, struct sbx_err *err)
{
	for (size_t i = 0; name != NULL && i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	if (name == NULL)
		sbx_fail(err, SBX_E_USAGE, "one of measure, snapshot, diff and watch is needed");
	else
		sbx_fail(err, SBX_E_USAGE, "\"%.64s\" is none of measure, snapshot, diff and watch",
			name);
	sbx_fail_hint(err, "see --help");
	return NULL;
}

static int
run(const struct quota_options *options, const char *name, char *const *operands, int count,
	struct sbx_err *err)
{
	const struct verb *verb = find_verb(name, err);

	if (verb == NULL)
		return -1;
	if (count != verb->operands)
		return sbx_fail(err, SBX_E_USAGE, "%s takes %d path%s, not %d", verb->name,
			verb->operands, verb->operands == 1 ? "" : "s", count);
	return verb->run(options, operands, err);
}

/* The verb comes first, its options and paths behind it. */
int
main(int argc, char **argv)
{
	struct quota_options options = { .table = 0 };
	int has_verb = argc > 1 && argv[1][0] != '-';
	char **rest = argv + has_verb;
	struct sbx_err err = { 0 };
	int first = sbx_tool_begin(&quota_about, argc - has_verb, rest, &options, &err);
	int status = -1;

	if (first == SBX_TOOL_DONE)
		return SBX_EXIT_OK;
	if (first >= 0)
		status = run(&options, has_verb ? argv[1] : NULL, rest + first,
			argc - has_verb - first, &err);
	if (status < 0)
		status = sbx_tool_fail(&err, NULL);
	sbx_tool_undefer();
	return status;
}
