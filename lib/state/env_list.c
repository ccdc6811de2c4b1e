/*
 * What is in env/: the ids of environments, and remnants of removals that were killed. Opens no
 * environment and takes no lock of one.
 */
#include <dirent.h>
#include <fcntl.h>
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

int
sbx_env_sweep_remnants(const struct sbx_state *state, struct sbx_err *err)
{
	DIR *dir = open_list(state, err);
	const struct dirent *entry;
	int failed = 0;

	if (dir == NULL)
		return -1;
	while ((entry = readdir(dir)) != NULL) {
		SBX_AUTO_FD fd = -1;

		if (entry->d_name[0] != '.' || !sbx_spec_is_env_id(entry->d_name + 1))
			continue;
		fd = openat(state->env_fd, entry->d_name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		/* Locked: its remover lives. */
		if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
			continue;
		if (sbx_walk_remove(state->env_fd, entry->d_name, err) < 0)
			failed = -1;
	}
	closedir(dir);
	return failed;
}
