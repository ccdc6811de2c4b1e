/*
 * An environment's directory and its lock.
 *
 * The directory env/<id>/ is the environment: who holds its lock and finds that the name still
 * stands for the directory it locked may change it. Removal empties the directory while it keeps
 * its name and its record, then renames it to .<id>, which no lock() can reach, and removes the
 * rest there. So a removal that dies half-way leaves either a record for the next sweep or a
 * remnant without a record, which the next removal or sweep takes along.
 */
#include "state/env.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/scoped.h"
#include "base/walk.h"
#include "state/lock.h"

static void
env_init(struct sbx_env *env)
{
	*env = (struct sbx_env){ .dir_fd = -1, .lock_fd = -1 };
}

static int
open_dir(const struct sbx_state *state, const char *id, struct sbx_env *env)
{
	env_init(env);
	memcpy(env->id, id, sizeof(env->id));
	env->dir_fd = openat(state->env_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return env->dir_fd < 0 ? -1 : 0;
}

static int
check_id(const char *id, struct sbx_err *err)
{
	if (sbx_spec_is_env_id(id))
		return 0;
	return sbx_fail(err, SBX_E_BAD_REQUEST, "\"%.64s\" is not an environment's id", id);
}

static int
open_failed(const char *id, struct sbx_err *err)
{
	if (errno == ENOENT)
		return sbx_fail(err, SBX_E_NOT_FOUND, "there is no environment %s", id);
	return sbx_fail_sys(err, SBX_E_IO, "open environment %s", id);
}

int
sbx_env_open(const struct sbx_state *state, const char *id, struct sbx_env *env,
	struct sbx_err *err)
{
	env_init(env);
	if (check_id(id, err) < 0)
		return -1;
	return open_dir(state, id, env) < 0 ? open_failed(id, err) : 0;
}

void
sbx_env_close(struct sbx_env *env)
{
	if (env == NULL)
		return;
	sbx_scoped_close(&env->lock_fd);
	sbx_scoped_close(&env->dir_fd);
	env_init(env);
}

/* One try: 1 locked, 0 the directory went away meanwhile, -1. */
static int
try_lock(const struct sbx_state *state, int64_t deadline_ms, struct sbx_env *env,
	struct sbx_err *err)
{
	env->lock_fd = openat(env->dir_fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (env->lock_fd < 0 && errno == ENOENT)
		return 0; /* the directory is removed */
	if (env->lock_fd < 0)
		return sbx_fail_sys(err, SBX_E_IO, "open the lock of %s", env->id);
	if (sbx_lock_wait(env->lock_fd, deadline_ms) == 0)
		return sbx_lock_is_current(env->dir_fd, state->env_fd, env->id);
	if (errno == EWOULDBLOCK)
		return sbx_fail(err, SBX_E_BUSY, "environment %s is being worked on", env->id);
	return sbx_fail_sys(err, SBX_E_IO, "lock %s", env->id);
}

int
sbx_env_lock(const struct sbx_state *state, const char *id, int create, int64_t wait_ms,
	struct sbx_env *env, int *created, struct sbx_err *err)
{
	int64_t deadline_ms = sbx_clock_mono_ms() + wait_ms;
	int got = 0;

	env_init(env);
	if (check_id(id, err) < 0)
		return -1;
	while (got == 0) {
		sbx_env_close(env);
		if (create && mkdirat(state->env_fd, id, 0700) < 0 && errno != EEXIST)
			return sbx_fail_sys(err, SBX_E_IO, "make environment %s", id);
		if (open_dir(state, id, env) == 0)
			got = try_lock(state, deadline_ms, env, err);
		else if (!create || errno != ENOENT)
			return open_failed(id, err);
	}
	if (got < 0) {
		sbx_env_close(env);
		return -1;
	}
	if (created != NULL)
		*created = faccessat(env->dir_fd, "state.json", F_OK, AT_SYMLINK_NOFOLLOW) < 0;
	return 0;
}

/* What stays until nothing else is left. */
static int
is_record(const char *name)
{
	return strcmp(name, "lock") == 0 || strcmp(name, "state.json") == 0 ||
		strcmp(name, "spec.json") == 0;
}

static int
remove_contents(const struct sbx_env *env, struct sbx_err *err)
{
	int fd = openat(env->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int failed = 0;

	if (dir == NULL) {
		sbx_scoped_close(&fd);
		return sbx_fail_sys(err, SBX_E_IO, "list environment %s", env->id);
	}
	while (!failed && (entry = readdir(dir)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
			!is_record(entry->d_name))
			failed = sbx_walk_remove(env->dir_fd, entry->d_name, err);
	closedir(dir);
	return failed;
}

int
sbx_env_remove(const struct sbx_state *state, struct sbx_env *env, struct sbx_err *err)
{
	char remnant[SBX_ENV_ID_SIZE + 1];

	snprintf(remnant, sizeof(remnant), ".%s", env->id);
	/* A sweep takes what it can lock; this one is ours. */
	if (flock(env->dir_fd, LOCK_EX | LOCK_NB) < 0)
		return sbx_fail_sys(err, SBX_E_BUSY, "lock the directory of %s", env->id);
	if (remove_contents(env, err) < 0)
		return sbx_fail_wrap(err, "environment %s", env->id);
	if (sbx_walk_remove(state->env_fd, remnant, err) < 0)
		return -1;
	if (renameat(state->env_fd, env->id, state->env_fd, remnant) < 0)
		return sbx_fail_sys(err, SBX_E_IO, "rename environment %s", env->id);
	if (sbx_walk_remove(state->env_fd, remnant, err) < 0)
		return -1;
	sbx_env_close(env);
	return 0;
}
