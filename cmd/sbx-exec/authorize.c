/*
 * Whether a path falls within the workspace, by what became of looking at it: what does not exist
 * does, since it could be made; a link does not, wherever it leads.
 */
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "access.h"

int
access_judge(struct exec_run *run, const struct sbx_files_want *want, const char **reason,
	struct sbx_err *err)
{
	const struct exec_outcome *outcome = &run->outcome;
	struct sbx_files_entry entry = { 0 };
	struct sbx_result_stream got;
	struct sbx_err why = { 0 };
	int code = WIFEXITED(outcome->status) ? WEXITSTATUS(outcome->status) : SBX_FILES_IO;

	*reason = NULL;
	if (exec_files_check(want, outcome, &why) == 0) {
		sbx_excerpt_finish(&run->streams[0].excerpt, &got);
		if (got.head_length == sizeof(entry))
			memcpy(&entry, got.head, sizeof(entry));
		if (S_ISLNK(entry.mode))
			*reason = "symlink";
		return 0;
	}
	if (why.code == SBX_E_DENIED && code == SBX_FILES_SYMLINK)
		*reason = "symlink";
	else if (why.code == SBX_E_DENIED && code == SBX_FILES_OUTSIDE)
		*reason = "outside";
	else if (why.code == SBX_E_IO || why.code == SBX_E_UNAVAILABLE ||
		why.code == SBX_E_TIMEOUT || why.code == SBX_E_CANCELLED) {
		*err = why;
		return -1;
	}
	return 0;
}
