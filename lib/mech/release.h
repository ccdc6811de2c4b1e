/* The release of an environment by its id, whoever asks for it. */
#ifndef SBX_MECH_RELEASE_H
#define SBX_MECH_RELEASE_H

#include "mech/teardown.h"
#include "mech/tool.h"

struct sbx_release {
	struct sbx_env_record
		record; /* as it was found, state `releasing`; nearly empty if it was damaged */
	struct sbx_teardown report;
	struct sbx_err
		stays; /* why something is left, which a sweep tries again; code SBX_OK: nothing */
};

/*
 * Wait up to a minute for its lock (a provision in flight), refuse new operations from then on, and
 * take down every part. 0 if that was tried, whatever is left; SBX_E_NOT_FOUND, SBX_E_BUSY and
 * others where it was not. Signals that would end the process are held back from the first step on.
 */
int sbx_release(const struct sbx_tool *tool, const char *id, struct sbx_release *release,
	struct sbx_err *err) __attribute__((warn_unused_result));

#endif
