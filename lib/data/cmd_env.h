/*
 * The variables that a command sees, built from an allow-list: a base set of ours, the spec's own,
 * the request's own, and of the caller's only reviewed names. Names that look like credentials are
 * refused.
 */
#ifndef SBX_DATA_CMD_ENV_H
#define SBX_DATA_CMD_ENV_H

#include <stddef.h>

#include "base/err.h"
#include "data/yaml.h"

#define SBX_CMD_ENV_MAX 1024 /* variables */
#define SBX_CMD_ENV_ITEM_MAX 131071 /* bytes of NAME=value; execve(2) takes no longer string */

struct sbx_cmd_env {
	char **items; /* "NAME=value", NULL-terminated, sorted by nothing, each name once */
	size_t count;
};

/* SBX_E_BAD_REQUEST for a malformed name, SBX_E_DENIED for one that looks like a credential. */
int sbx_cmd_env_check_name(const char *name, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* The same for a name of the operator's list, where the loader's (LD_*) are SBX_E_DENIED too. */
int sbx_cmd_env_check_pass(const char *name, struct sbx_err *err)
	__attribute__((warn_unused_result));

/*
 * Base set (PATH, HOME, USER, LOGNAME, SHELL, LANG, TMPDIR, TERM), then of `caller` the reviewed
 * locale and proxy-free names and those in pass (which may not look like credentials either), then
 * the spec's, then the request's; later wins. The caller ends *out with done(), also on failure.
 */
int sbx_cmd_env_build(char *const *caller, const struct sbx_yaml_strings *pass,
	char *const *spec_env, char *const *request_env, struct sbx_cmd_env *out,
	struct sbx_err *err) __attribute__((warn_unused_result));
void sbx_cmd_env_done(struct sbx_cmd_env *env);

#endif
