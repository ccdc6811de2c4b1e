/*
 * What is in env/: the ids of environments, and remnants of removals that were killed. Opens no
 * environment and takes no lock of one.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "base/mem.h"
#include "base/scoped.h"
#include "base/walk.h"
#include "state/env.h"

static DIR *
open_list(const struct sbx_state *state, struct sbx_err *err)
{
	int fd = openat(state->env_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir == NULL) {
		sbx_fail_sys(err, SBX_E_IO, "list %s/env", state->path);
		sbx_scoped_close(&fd);
	}
	return dir;
}

static int
by_id(const void *a, const void *b)
{
	return strcmp(a, b);
}

int
sbx_env_list(const struct sbx_state *state, char (**ids)[SBX_ENV_ID_SIZE], size_t *count,
	struct sbx_err *err)
{
	DIR *dir = open_list(state, err);
	const struct dirent *entry;
	size_t room = 0;

	*ids = NULL;
	*count = 0;
	if (dir == NULL)
		return -1;
	while ((entry = readdir(dir)) != NULL) {
		if (!sbx_spec_is_env_id(entry->d_name))
			continue;
		if (*count == room) {
			room = room == 0 ? 64 : room * 2;
			*ids = sbx_mem_grow(*ids, room, sizeof(**ids));
		}
		memcpy((*ids)[(*count)++], entry->d_name, SBX_ENV_ID_SIZE);
	}
	closedir(dir);
	if (*count > 0)
		qsort(*ids, *count, sizeof(**ids), by_id);
	return 0;
}

/* `name` is an id behind a dot. Locked: its remover lives. */
static int
sweep_one(const struct sbx_state *state, const char *name, struct sbx_err *err)
{
	SBX_AUTO_FD fd = openat(state->env_fd, name,
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return 0;
	return sbx_walk_remove(state->env_fd, name, err);
}

int
sbx_env_sweep_remnant(const struct sbx_state *state, const char *id, struct sbx_err *err)
{
	char name[SBX_ENV_ID_SIZE + 1];

	snprintf(name, sizeof(name), ".%s", id);
	return sbx_spec_is_env_id(id) ? sweep_one(state, name, err) : 0;
}

int
sbx_env_sweep_remnants(const struct sbx_state *state, struct sbx_err *err)
{
	DIR *dir = open_list(state, err);
	const struct dirent *entry;
	int failed = 0;

	if (dir == NULL)
		return -1;
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.' && sbx_spec_is_env_id(entry->d_name + 1) &&
			sweep_one(state, entry->d_name, err) < 0)
			failed = -1;
	}
	closedir(dir);
	return failed;
}
