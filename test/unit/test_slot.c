/* state/slot: one slot an environment, found again, freed by its owner only. */
#include "state/slot.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "data/spec.h"
#include "state_help.h"
#include "tap.h"

static void
id_of(int n, char out[SBX_ENV_ID_SIZE])
{
	sbx_spec_env_id("t", "slot", n, out);
}

static int
entries(struct sbx_state *state)
{
	int count = 0;

	for (int n = 0; n < 200; n++) {
		char name[24], id[SBX_ENV_ID_SIZE];

		snprintf(name, sizeof(name), "%d", n);
		id_of(n, id);
		count += faccessat(state->slot_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
		count += faccessat(state->slot_fd, id, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	}
	return count;
}

static void
test_all(struct sbx_state *state)
{
	enum { COUNT = 20 };
	char ids[COUNT + 1][SBX_ENV_ID_SIZE];
	int64_t slots[COUNT + 1], again;
	struct sbx_err err = { .code = SBX_OK };
	int seen[COUNT] = { 0 }, twice = 0;

	for (int i = 0; i <= COUNT; i++)
		id_of(i, ids[i]);
	for (int i = 0; i < COUNT; i++) {
		is_int(sbx_slot_take(state, ids[i], COUNT, &slots[i], &err), 0, "slot of %d: %s", i,
			err.msg);
		if (slots[i] < 0 || slots[i] >= COUNT || seen[slots[i]]++)
			twice++;
	}
	is_int(twice, 0, "every slot once");
	is_int(sbx_slot_take(state, ids[COUNT], COUNT, &again, &err), -1, "one too many");
	is_int(err.code, SBX_E_BUSY, "is busy");
	is_str(err.msg, "all 20 slots are taken", "by name");
	is_int(sbx_slot_take(state, ids[3], COUNT, &again, &err), 0, "taken again");
	is_int(again, slots[3], "is the same");
	is_int(sbx_slot_free(state, ids[4], slots[3], &err), 0, "another's is not freed");
	is_int(sbx_slot_take(state, ids[3], COUNT, &again, &err), 0, "it is still");
	is_int(again, slots[3], "the same");
	is_int(sbx_slot_free(state, ids[3], slots[3], &err), 0, "freed");
	is_int(sbx_slot_free(state, ids[3], slots[3], &err), 0, "freed twice");
	is_int(sbx_slot_take(state, ids[COUNT], COUNT, &again, &err), 0, "the next takes it");
	is_int(again, slots[3], "the only free one");
	for (int i = 0; i <= COUNT; i++)
		if (sbx_slot_free(state, ids[i], i == COUNT || i == 3 ? -1 : slots[i], &err) < 0)
			ok(0, "free %d: %s", i, err.msg);
	is_int(entries(state), 0, "nothing is left");
	is_int(sbx_slot_take(state, "../x", COUNT, &again, &err), -1, "a path is no environment");
	is_int(err.code, SBX_E_BAD_REQUEST, "a bad request");
	is_int(sbx_slot_take(state, ids[0], 0, &again, &err), -1, "no slots at all");
	is_int(err.code, SBX_E_BUSY, "busy");
}

/* A taker that died after it said which, and after it took it. */
static void
test_crash(struct sbx_state *state)
{
	char a[SBX_ENV_ID_SIZE], b[SBX_ENV_ID_SIZE];
	struct sbx_err err = { .code = SBX_OK };
	int64_t slot;

	id_of(1, a);
	id_of(2, b);
	is_int(symlinkat("7", state->slot_fd, a), 0, "it had said 7");
	is_int(symlinkat(b, state->slot_fd, "7"), 0, "and another was faster");
	is_int(sbx_slot_take(state, a, 200, &slot, &err), 0, "it takes one");
	ok(slot != 7, "that is not 7");
	is_int(sbx_slot_free(state, a, -1, &err), 0, "freed without knowing which");
	is_int(entries(state), 1, "only the other's is left");
	is_int(unlinkat(state->slot_fd, "7", 0), 0, "gone");
	is_int(symlinkat("9", state->slot_fd, a), 0, "it had said 9");
	is_int(symlinkat(a, state->slot_fd, "9"), 0, "and taken it");
	is_int(sbx_slot_take(state, a, 200, &slot, &err), 0, "it finds");
	is_int(slot, 9, "9 again");
	is_int(sbx_slot_free(state, a, 9, &err), 0, "freed");
	is_int(entries(state), 0, "nothing is left");
}

/* As many takers as slots, from one start: so they meet. */
static void
race_once(struct sbx_state *state, int round, int *bad)
{
	enum { CHILDREN = 6, EACH = 4, COUNT = CHILDREN * EACH };
	int gate[2], status;
	char go;

	if (pipe(gate) < 0)
		exit(1);
	fflush(stdout);
	for (int c = 0; c < CHILDREN; c++) {
		if (fork() != 0)
			continue;
		close(gate[1]);
		if (read(gate[0], &go, 1) != 0)
			_exit(1);
		for (int i = 0; i < EACH; i++) {
			char id[SBX_ENV_ID_SIZE];
			int64_t slot;
			struct sbx_err err;

			id_of((round * CHILDREN + c) * EACH + i, id);
			if (sbx_slot_take(state, id, COUNT, &slot, &err) < 0)
				_exit(1);
		}
		_exit(0);
	}
	close(gate[0]);
	close(gate[1]);
	for (int c = 0; c < CHILDREN; c++)
		if (wait(&status) < 0 || status != 0)
			*bad += 1;
	for (int n = 0; n < COUNT; n++) {
		char name[24];

		snprintf(name, sizeof(name), "%d", n);
		if (faccessat(state->slot_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			*bad += 1;
	}
	for (int n = 0; n < COUNT; n++) {
		char id[SBX_ENV_ID_SIZE];
		struct sbx_err err;

		id_of(round * COUNT + n, id);
		if (sbx_slot_free(state, id, -1, &err) < 0)
			*bad += 1;
	}
}

static void
test_race(struct sbx_state *state)
{
	int bad = 0;

	for (int round = 0; round < 60; round++)
		race_once(state, round, &bad);
	is_int(bad, 0, "takers at once have a slot each");
}

static void
put(struct sbx_state *state, const char *name, const char *text)
{
	struct sbx_err err = { .code = SBX_OK };

	if (sbx_io_replace_file(state->root_fd, name, text, strlen(text), 0600, 0, &err) < 0)
		ok(0, "set-up: %s", err.msg);
}

static void
test_range(struct sbx_state *state)
{
	int etc = state->root_fd;
	struct sbx_err err = { .code = SBX_OK };

	is_int(sbx_slot_check_range_at(etc, 100000, 1000, &err), 0, "no files, no users");
	put(state, "passwd",
		"root:x:0:0::/root:/bin/sh\n\n# x:y:100500\nnobody:x:65534:65534:::\n");
	put(state, "subuid", "root:100000:65536\nalice:200000:65536\nbroken:x:1\nbob\n");
	put(state, "subgid", "alice:300000:10\n");
	is_int(sbx_slot_check_range_at(etc, 100000, 65536, &err), 0, "root's own range is for us");
	is_int(sbx_slot_check_range_at(etc, 60000, 10000, &err), -1, "nobody's uid");
	is_int(err.code, SBX_E_CONFIG, "is a matter of configuration");
	is_str(err.msg,
		"/etc/passwd:4: nobody has 65534 to 65534, which uids of environments (60000 to "
		"69999) meet",
		"the line is named");
	ok(err.hint[0] != '\0', "with a hint");
	is_int(sbx_slot_check_range_at(etc, 265535, 1, &err), -1, "alice's last");
	ok(strncmp(err.msg, "/etc/subuid:2: alice has 200000 to 265535", 41) == 0, "named: %s",
		err.msg);
	is_int(sbx_slot_check_range_at(etc, 265536, 1, &err), 0, "the one behind it");
	is_int(sbx_slot_check_range_at(etc, 199999, 1, &err), 0, "the one before it");
	is_int(sbx_slot_check_range_at(etc, 299999, 2, &err), -1, "a range of gids");
	ok(strncmp(err.msg, "/etc/subgid:1: alice", 20) == 0, "named: %s", err.msg);
	is_int(sbx_slot_check_range(0, 1, &err), -1, "root of this host");
	ok(strncmp(err.msg, "/etc/passwd:", 12) == 0, "named: %s", err.msg);
}

int
main(void)
{
	struct sbx_state state = state_make();

	test_all(&state);
	test_crash(&state);
	test_race(&state);
	test_range(&state);
	state_remove(&state);
	return done();
}
