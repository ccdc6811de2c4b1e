/*
 * Slots as symbolic links: slot/<n> points to the environment's id. A link is made whole or not at
 * all and never replaces another, so two takers need no lock and a crash leaves no half of one. The
 * link is only read, never followed.
 *
 * slot/<id> points back to <n>. It is made first: a taker that died is found again by it, whatever
 * was freed in between, and release needs no search.
 */
#include "state/slot.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "data/spec.h"

enum held { FREE, OURS, OTHERS };

/* The target of a link; 0, or -1 with errno. */
static int
link_read(const struct sbx_state *state, const char *name, char out[64])
{
	ssize_t length = readlinkat(state->slot_fd, name, out, 63);

	if (length < 0)
		return -1;
	out[length] = '\0';
	return 0;
}

static int
who_holds(const struct sbx_state *state, uint64_t slot, const char *env, enum held *held,
	struct sbx_err *err)
{
	char name[24], owner[64];

	snprintf(name, sizeof(name), "%ju", (uintmax_t)slot);
	if (link_read(state, name, owner) < 0) {
		*held = FREE;
		return errno == ENOENT ? 0 : sbx_fail_sys(err, SBX_E_IO, "read slot %s", name);
	}
	*held = strcmp(owner, env) == 0 ? OURS : OTHERS;
	return 0;
}

/* The slot that env took or was about to take, or -1. */
static int64_t
intended(const struct sbx_state *state, const char *env)
{
	char text[64];
	int64_t slot;

	if (link_read(state, env, text) < 0 ||
		sbx_num_i64(text, 0, UINT32_MAX, "slot", &slot, NULL) < 0)
		return -1;
	return slot;
}

/* Say which one, then take it: 1, or 0 if somebody was faster. */
static int
claim(const struct sbx_state *state, uint64_t slot, const char *env, struct sbx_err *err)
{
	char name[24];

	snprintf(name, sizeof(name), "%ju", (uintmax_t)slot);
	if (unlinkat(state->slot_fd, env, 0) < 0 && errno != ENOENT)
		return sbx_fail_sys(err, SBX_E_IO, "forget the slot of %s", env);
	if (symlinkat(name, state->slot_fd, env) < 0)
		return sbx_fail_sys(err, SBX_E_IO, "record slot %s of %s", name, env);
	if (symlinkat(env, state->slot_fd, name) == 0)
		return 1;
	return errno == EEXIST ? 0 : sbx_fail_sys(err, SBX_E_IO, "take slot %s", name);
}

/* Ids are hashes already, so some of their characters spread well. */
static uint64_t
first_try(const char *env, uint64_t count)
{
	uint64_t hash = 0;

	for (size_t i = 1; i <= 12 && env[i] != '\0'; i++)
		hash = hash * 32 + (unsigned char)env[i];
	return hash % count;
}

int
sbx_slot_take(const struct sbx_state *state, const char *env, uint64_t count, int64_t *slot,
	struct sbx_err *err)
{
	enum held held = FREE;
	uint64_t start;

	if (!sbx_spec_is_env_id(env))
		return sbx_fail(err, SBX_E_BAD_REQUEST, "\"%.64s\" is not an environment's id",
			env);
	*slot = intended(state, env);
	if (*slot >= 0 && who_holds(state, (uint64_t)*slot, env, &held, err) < 0)
		return -1;
	if (held == OURS)
		return 0;
	start = count > 0 ? first_try(env, count) : 0;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t at = (start + i) % count;
		int got;

		if (who_holds(state, at, env, &held, err) < 0)
			return -1;
		got = held == FREE ? claim(state, at, env, err) : held == OURS;
		if (got < 0)
			return -1;
		if (got) {
			*slot = (int64_t)at;
			return 0;
		}
	}
	return sbx_fail(err, SBX_E_BUSY, "all %ju slots are taken", (uintmax_t)count);
}

/* The slot first: while it is held, the way back to it stays. */
static int
unlink_slot(const struct sbx_state *state, const char *env, int64_t slot, struct sbx_err *err)
{
	enum held held = FREE;
	char name[24];

	snprintf(name, sizeof(name), "%jd", (intmax_t)slot);
	if (slot >= 0 && who_holds(state, (uint64_t)slot, env, &held, err) < 0)
		return -1;
	if (held == OURS && unlinkat(state->slot_fd, name, 0) < 0 && errno != ENOENT)
		return sbx_fail_sys(err, SBX_E_IO, "free slot %s", name);
	return 0;
}

int
sbx_slot_free(const struct sbx_state *state, const char *env, int64_t slot, struct sbx_err *err)
{
	int64_t known;

	if (!sbx_spec_is_env_id(env))
		return sbx_fail(err, SBX_E_BAD_REQUEST, "\"%.64s\" is not an environment's id",
			env);
	known = intended(state, env);
	if (unlink_slot(state, env, slot, err) < 0 ||
		(known != slot && unlink_slot(state, env, known, err) < 0))
		return -1;
	if (unlinkat(state->slot_fd, env, 0) < 0 && errno != ENOENT)
		return sbx_fail_sys(err, SBX_E_IO, "forget the slot of %s", env);
	return 0;
}
