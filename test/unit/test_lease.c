/* state/lease: a lower epoch is fenced off, whoever comes at the same time. */
#include "state/lease.h"

#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "state_help.h"
#include "tap.h"

static int
take(struct sbx_state *state, const char *run, int64_t epoch, int64_t expires, struct sbx_err *err)
{
	int pending;

	memset(err, 0, sizeof(*err));
	if (sbx_lease_take(state, "t", run, epoch, expires, &pending, err) < 0)
		return -1;
	return sbx_lease_commit(state, pending, err);
}

static void
test_fence(struct sbx_state *state)
{
	struct sbx_lease lease;
	struct sbx_err err = { .code = SBX_OK };
	int pending;

	is_int(sbx_lease_read(state, "t", "r", &lease, &err), -1, "no lease yet");
	is_int(err.code, SBX_E_NOT_FOUND, "is not found");
	is_str(err.msg, "there is no lease of t/r", "by name");
	is_int(take(state, "r", 5, 1000, &err), 0, "epoch 5: %s", err.msg);
	is_int(sbx_lease_read(state, "t", "r", &lease, &err), 0, "read");
	is_int(lease.epoch, 5, "5 is recorded");
	is_int(lease.expires_wall_ms, 1000, "with its end");
	ok(lease.created_wall_ms > 0, "and its beginning");
	is_int(take(state, "r", 4, 9000, &err), -1, "epoch 4");
	is_int(err.code, SBX_E_STALE_EPOCH, "is stale");
	is_str(err.msg, "t/r: epoch 4 is stale, epoch 5 has provisioned", "both are named");
	is_int(sbx_lease_take(state, "t", "r", 5, 1000, &pending, &err), 0, "5 again");
	ok(pending >= 0, "is committed again: its first taker may have died before");
	is_int(sbx_lease_commit(state, pending, &err), 0, "commit");
	is_int(take(state, "r", 5, 500, &err), 0, "with an earlier end");
	is_int(sbx_lease_read(state, "t", "r", &lease, &err), 0, "read");
	is_int(lease.expires_wall_ms, 1000, "it does not move back");
	is_int(take(state, "r", 5, 2000, &err), 0, "with a later end");
	is_int(sbx_lease_read(state, "t", "r", &lease, &err), 0, "read");
	is_int(lease.expires_wall_ms, 2000, "it moves forward");
	is_int(take(state, "r", INT64_MAX, 100, &err), 0, "the last epoch");
	is_int(take(state, "r", INT64_MAX - 1, 100, &err), -1, "fences the one before");
	is_int(take(state, "other", 0, 100, &err), 0, "another run is another lease");
	is_int(sbx_lease_commit(state, -1, &err), 0, "nothing pending is nothing to do");
}

static void
test_damaged(struct sbx_state *state)
{
	struct sbx_lease lease;
	struct sbx_err err = { .code = SBX_OK };
	/* base32 of BLAKE2b-128 of ("t", "damaged"), each after its length. */
	static const char name[] = "4kp7lsjzxhmlebxvhlc3lmw2ga.json";
	static const struct {
		const char *text;
		enum sbx_code code;
		const char *part;
	} rows[] = {
		{ "{", SBX_E_CORRUPT, "lease of t/damaged" },
		{ "{\"version\":1,\"tenant\":\"t\",\"run\":\"x\",\"epoch\":1}", SBX_E_CORRUPT,
			"of another run" },
		{ "{\"version\":1,\"tenant\":\"t\",\"run\":\"damaged\",\"epoch\":-1}",
			SBX_E_CORRUPT, "epoch" },
		{ "{\"version\":9}", SBX_E_UNAVAILABLE,
			"version 9 is newer than this program's 1" },
	};

	is_int(take(state, "damaged", 3, 100, &err), 0, "a lease");
	ok(faccessat(state->lease_fd, name, F_OK, 0) == 0, "in its file");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		is_int(sbx_io_replace_file(state->lease_fd, name, rows[i].text,
			       strlen(rows[i].text), 0600, 0, &err),
			0, "damaged");
		is_int(take(state, "damaged", 9, 100, &err), -1,
			"is no reason to forget the fence");
		is_int(err.code, rows[i].code, "code");
		ok(strstr(err.msg, rows[i].part) != NULL, "by name: %s", err.msg);
	}
	is_int(sbx_io_replace_file(state->lease_fd, name, "", 0, 0600, 0, &err), 0,
		"an empty file");
	is_int(sbx_lease_read(state, "t", "damaged", &lease, &err), -1, "was never taken");
	is_int(err.code, SBX_E_NOT_FOUND, "not found");
	is_int(take(state, "damaged", 1, 100, &err), 0, "and can be");
}

/* Many at once: in the end the highest is recorded, and none that succeeded went under a higher. */
static void
test_race(struct sbx_state *state)
{
	enum { CHILDREN = 8, ROUNDS = 40 };
	struct sbx_lease lease;
	struct sbx_err err;
	int bad = 0, status;

	fflush(stdout);
	for (int c = 0; c < CHILDREN; c++) {
		if (fork() != 0)
			continue;
		for (int i = 0; i < ROUNDS; i++) {
			int64_t epoch = i * CHILDREN + c;

			if (take(state, "race", epoch, 100, &err) < 0) {
				if (err.code != SBX_E_STALE_EPOCH)
					_exit(1);
			} else if (sbx_lease_read(state, "t", "race", &lease, &err) < 0 ||
				lease.epoch < epoch) {
				_exit(2);
			}
		}
		_exit(0);
	}
	for (int c = 0; c < CHILDREN; c++)
		if (wait(&status) < 0 || status != 0)
			bad++;
	is_int(bad, 0, "%d takers", CHILDREN);
	is_int(sbx_lease_read(state, "t", "race", &lease, &err), 0, "read");
	is_int(lease.epoch, CHILDREN * ROUNDS - 1, "the highest stands");
}

/*
 * A waiter whose file was replaced meanwhile must not go on under the old one's lock while another
 * holds the new one's.
 */
static void
test_replaced(struct sbx_state *state)
{
	static const char name[] = "7qdb7old2p6fkvcvszhbadtihe.json";
	SBX_AUTO_BUF text = SBX_BUF_INIT(4096);
	struct sbx_lease lease;
	struct sbx_err err;
	int old_fd, new_fd, status = -1;
	pid_t pid;

	is_int(take(state, "replaced", 1, 100, &err), 0, "a lease");
	is_int(sbx_io_read_file(state->lease_fd, name, &text, &err), 0, "in its file");
	old_fd = openat(state->lease_fd, name, O_RDWR | O_CLOEXEC);
	is_int(flock(old_fd, LOCK_EX), 0, "that another holds");
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		close(old_fd); /* or the lock would be the child's as well */
		_exit(take(state, "replaced", 9, 100, &err) < 0);
	}
	usleep(50000);
	is_int(sbx_io_replace_file(state->lease_fd, name, text.data, text.length, 0600, 0, &err), 0,
		"replaced");
	new_fd = openat(state->lease_fd, name, O_RDWR | O_CLOEXEC);
	is_int(flock(new_fd, LOCK_EX), 0, "by a third who holds the new one");
	close(old_fd);
	usleep(100000);
	is_int(waitpid(pid, &status, WNOHANG), 0, "the waiter waits on");
	close(new_fd);
	is_int(waitpid(pid, &status, 0), pid, "until it is free");
	is_int(status, 0, "and takes it");
	is_int(sbx_lease_read(state, "t", "replaced", &lease, &err), 0, "read");
	is_int(lease.epoch, 9, "epoch 9");
}

int
main(void)
{
	struct sbx_state state = state_make();

	test_fence(&state);
	test_damaged(&state);
	test_replaced(&state);
	test_race(&state);
	state_remove(&state);
	return done();
}
