/*
 * The state directory and the files of configuration: where they are, that nobody else may write
 * them, and descriptors of what is below. Everything after works from those descriptors.
 */
#include "state/root.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/scoped.h"

static const struct sbx_state none_open = {
	.root_fd = -1, .env_fd = -1, .lease_fd = -1, .slot_fd = -1, .image_fd = -1
};

/* Where plain users keep state, after the XDG base directory specification: relative is unset. */
static int
user_path(char *out, size_t size)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (state != NULL && state[0] == '/')
		return snprintf(out, size, "%s/sbx", state);
	if (home != NULL && home[0] == '/')
		return snprintf(out, size, "%s/.local/state/sbx", home);
	return 0;
}

/* The path, absolute. */
static int
choose(const char *option, const char *configured, char *out, size_t size, struct sbx_err *err)
{
	const char *wanted = option, *from_env = getenv("SBX_STATE");
	char here[PATH_MAX];
	int length;

	if (wanted == NULL && from_env != NULL && from_env[0] != '\0')
		wanted = from_env;
	if (wanted == NULL)
		wanted = configured;
	if (wanted == NULL && geteuid() == 0)
		wanted = "/var/lib/sbx";
	if (wanted == NULL) {
		length = user_path(out, size);
	} else if (wanted[0] == '/') {
		length = snprintf(out, size, "%s", wanted);
	} else {
		if (getcwd(here, sizeof(here)) == NULL)
			return sbx_fail_sys(err, SBX_E_IO, "current directory");
		length = snprintf(out, size, "%s/%s", here, wanted);
	}
	if (length <= 0)
		return sbx_fail(err, SBX_E_CONFIG,
			"no place for the state: set --state, SBX_STATE, XDG_STATE_HOME or HOME");
	if ((size_t)length >= size || (wanted != NULL && wanted[0] == '\0'))
		return sbx_fail(err, SBX_E_CONFIG, "state directory \"%.80s\": not a usable path",
			wanted != NULL ? wanted : out);
	return 0;
}

static enum sbx_code
open_code(void)
{
	return errno == EACCES || errno == EPERM ? SBX_E_DENIED : SBX_E_IO;
}

/* The directories on the way, for us alone: only what is missing is made, nothing is changed. */
static int
make_parents(const char *path, struct sbx_err *err)
{
	char parent[PATH_MAX];
	size_t length = strlen(path);

	if (length >= sizeof(parent))
		return sbx_fail(err, SBX_E_CONFIG, "%.80s...: path too long", path);
	for (size_t i = 1; i < length; i++) {
		if (path[i] != '/' || path[i - 1] == '/')
			continue;
		memcpy(parent, path, i);
		parent[i] = '\0';
		/* First looked at: mkdir also fails for one that exists where we may not write. */
		if (access(parent, F_OK) < 0 && mkdir(parent, 0700) < 0 && errno != EEXIST)
			return sbx_fail_sys(err, open_code(), "make directory %s", parent);
	}
	return 0;
}

static int
open_below(const struct sbx_state *state, const char *name, struct sbx_err *err)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	SBX_AUTO_FD fd = openat(state->root_fd, name, flags);
	struct stat st;

	if (fd < 0 && errno == ENOENT) {
		if (mkdirat(state->root_fd, name, 0700) < 0 && errno != EEXIST)
			return sbx_fail_sys(err, open_code(), "make directory %s/%s", state->path,
				name);
		fd = openat(state->root_fd, name, flags);
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return sbx_fail_sys(err, open_code(), "open directory %s/%s", state->path, name);
	if (st.st_uid != geteuid() || (st.st_mode & 077) != 0)
		return sbx_fail(err, SBX_E_DENIED,
			"%s/%s: must be ours with mode 0700, has owner %u and mode %04o",
			state->path, name, st.st_uid, st.st_mode & 07777);
	return sbx_take_fd(&fd);
}

int
sbx_state_open(const char *option, const char *configured, struct sbx_state *state,
	struct sbx_err *err)
{
	struct sbx_state made = none_open;

	*state = none_open;
	if (choose(option, configured, made.path, sizeof(made.path), err) < 0 ||
		make_parents(made.path, err) < 0)
		return -1;
	made.root_fd = sbx_path_open_private(made.path, 0700, 1, err);
	if (made.root_fd < 0)
		return sbx_fail_wrap(err, "state directory");
	if ((made.env_fd = open_below(&made, "env", err)) < 0 ||
		(made.lease_fd = open_below(&made, "lease", err)) < 0 ||
		(made.slot_fd = open_below(&made, "slot", err)) < 0 ||
		(made.image_fd = open_below(&made, "image", err)) < 0 ||
		sbx_state_tag(made.root_fd, made.tag, err) < 0) {
		sbx_state_close(&made);
		return -1;
	}
	*state = made;
	return 0;
}

void
sbx_state_close(struct sbx_state *state)
{
	if (state == NULL)
		return;
	sbx_scoped_close(&state->root_fd);
	sbx_scoped_close(&state->env_fd);
	sbx_scoped_close(&state->lease_fd);
	sbx_scoped_close(&state->slot_fd);
	sbx_scoped_close(&state->image_fd);
	*state = none_open;
}
