/*
 * The state directory (sbx(7), FILES): mode 0700, env/ lease/ slot/ image/ below it, all opened by
 * descriptor.
 */
#ifndef SBX_STATE_ROOT_H
#define SBX_STATE_ROOT_H

#include "base/err.h"

#define SBX_STATE_TAG_SIZE 14 /* 13 characters of base32, NUL */

struct sbx_state {
	int root_fd, env_fd, lease_fd, slot_fd, image_fd; /* directories */
	/*
	 * Tells this state from others on the host, in the names of what is made outside of it (control
	 * groups, containers, volumes): the same tuple in two states is two environments.
	 */
	char tag[SBX_STATE_TAG_SIZE];
	char path[4096]; /* absolute, for messages and socket paths */
};

/*
 * Where the state is: `option`, else $SBX_STATE, else `configured`, else /var/lib/sbx for root and
 * $XDG_STATE_HOME/sbx (~/.local/state/sbx) for others. Made if missing; one that others may write,
 * or that belongs to somebody else, is SBX_E_DENIED.
 */
int sbx_state_open(const char *option, const char *configured, struct sbx_state *state,
	struct sbx_err *err) __attribute__((warn_unused_result));
void sbx_state_close(struct sbx_state *state);

/* tag.c: the tag in the file of that name, made once. For sbx_state_open(). */
int sbx_state_tag(int root_fd, char out[SBX_STATE_TAG_SIZE], struct sbx_err *err)
	__attribute__((warn_unused_result));

/*
 * The configuration: `option` (must exist), else /etc/sbx/sbx.yaml if there, else defaults; then
 * limits.yaml beside it or where it says. A file that group or others may write is SBX_E_CONFIG.
 * *config is initialised here; the caller ends it with sbx_config_done(), also on failure.
 */
struct sbx_config;
int sbx_state_load_config(const char *option, struct sbx_config *config, struct sbx_err *err)
	__attribute__((warn_unused_result));

#endif
