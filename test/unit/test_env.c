/* state/env: one maker, one lock, a record that reads back, a removal that leaves nothing. */
#include "state/env.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "state_help.h"
#include "tap.h"

static char id_a[SBX_ENV_ID_SIZE], id_b[SBX_ENV_ID_SIZE];

static struct sbx_env_record
sample(void)
{
	struct sbx_env_record r = { .state = SBX_ENV_READY,
		.tenant = "t",
		.run = "r",
		.epoch = 7,
		.mechanism = "native",
		.quota = "image",
		.created_wall_ms = 1764555865123,
		.expires_wall_ms = 1764559465123,
		.created_boot_ms = 1000,
		.expires_boot_ms = 3601000,
		.tmp_bytes = UINT64_MAX,
		.cgroup_layout = 2,
		.cgroup_parent = "/sbx",
		.slot = -1,
		.uid = 1880000000,
		.gid = -1,
		.init_pid = 4242,
		.init_start = 99,
		.enforced = { "userns", "seccomp:strict" },
		.enforced_count = 2 };
	struct sbx_profile profile;

	sbx_profile_init(&profile);
	r.limits = profile.defaults;
	memcpy(r.id, id_a, sizeof(r.id));
	snprintf(r.boot_id, sizeof(r.boot_id), "%s", sbx_clock_boot_id());
	return r;
}

static void
test_lock(struct sbx_state *state)
{
	struct sbx_env env, second;
	struct sbx_err err = { .code = SBX_OK };
	struct sbx_env_record r = sample();
	int created;

	is_int(sbx_env_lock(state, id_a, 0, 0, &env, &created, &err), -1, "none to open");
	is_int(err.code, SBX_E_NOT_FOUND, "is not found");
	ok(strstr(err.msg, id_a) != NULL, "by name: %s", err.msg);
	is_int(sbx_env_lock(state, "../x", 1, 0, &env, &created, &err), -1, "a path is no id");
	is_int(err.code, SBX_E_BAD_REQUEST, "a bad request");
	is_int(sbx_env_lock(state, id_a, 1, 0, &env, &created, &err), 0, "made");
	is_int(created, 1, "it is new");
	is_int(sbx_env_lock(state, id_a, 1, 30, &second, &created, &err), -1, "locked once");
	is_int(err.code, SBX_E_BUSY, "busy");
	is_int(second.dir_fd, -1, "and nothing is held");
	is_int(sbx_env_open(state, id_a, &second, &err), 0, "it opens without the lock");
	sbx_env_close(&second);
	sbx_env_close(&env);
	is_int(sbx_env_lock(state, id_a, 1, 0, &env, &created, &err), 0, "freed by close");
	is_int(created, 1, "without a record it is still to be made");
	is_int(sbx_env_write(&env, &r, &err), 0, "a record");
	sbx_env_close(&env);
	is_int(sbx_env_lock(state, id_a, 1, 0, &env, &created, &err), 0, "again");
	is_int(created, 0, "now it is there");
	is_int(sbx_env_remove(state, &env, &err), 0, "removed: %s", err.msg);
}

static void
test_record(struct sbx_state *state)
{
	SBX_AUTO_BUF first = SBX_BUF_INIT(65536);
	SBX_AUTO_BUF second = SBX_BUF_INIT(65536);
	struct sbx_env_record r = sample(), back;
	struct sbx_env env;
	struct sbx_err err = { .code = SBX_OK };
	struct stat st;
	int created;

	is_int(sbx_env_lock(state, id_a, 1, 0, &env, &created, &err), 0, "made");
	is_int(sbx_env_read(&env, &back, &err), -1, "no record yet");
	is_int(err.code, SBX_E_NOT_FOUND, "is not found");
	is_int(sbx_env_write(&env, &r, &err), 0, "written: %s", err.msg);
	is_int(sbx_env_read(&env, &back, &err), 0, "read: %s", err.msg);
	is_int(sbx_io_read_file(env.dir_fd, "state.json", &first, &err), 0, "its text");
	is_int(sbx_env_write(&env, &back, &err), 0, "written again");
	is_int(sbx_io_read_file(env.dir_fd, "state.json", &second, &err), 0, "its text");
	is_str(sbx_buf_str(&second), sbx_buf_str(&first), "is the same");
	is_int(back.epoch, 7, "epoch");
	is_str(back.quota, "image", "quota");
	ok(back.tmp_bytes == UINT64_MAX, "tmp_bytes");
	is_int(back.gid, -1, "gid");
	is_int(back.state, SBX_ENV_READY, "state");
	is_int(back.enforced_count, 2, "two layers");
	is_str(back.enforced[1], "seccomp:strict", "by name");
	is_int(fstatat(env.dir_fd, "state.json", &st, 0), 0, "the file");
	is_int(st.st_mode & 07777, 0600, "is ours alone");
	sbx_env_close(&env);
}

/* Versions before quotas had no such key. */
static void
test_old(struct sbx_state *state)
{
	static const char key[] = ",\"quota\":\"image\"";
	SBX_AUTO_BUF text = SBX_BUF_INIT(65536);
	struct sbx_env_record r = sample(), back;
	struct sbx_env env;
	struct sbx_err err = { .code = SBX_OK };
	char *at;

	is_int(sbx_env_open(state, id_a, &env, &err), 0, "open");
	is_int(sbx_env_write(&env, &r, &err), 0, "written");
	is_int(sbx_io_read_file(env.dir_fd, "state.json", &text, &err), 0, "its text");
	at = strstr(text.data, key);
	ok(at != NULL, "it has the key");
	if (at != NULL) {
		memmove(at, at + strlen(key), strlen(at + strlen(key)) + 1);
		text.length -= strlen(key);
	}
	is_int(sbx_io_replace_file(env.dir_fd, "state.json", text.data, text.length, 0600, 0, &err),
		0, "without it");
	is_int(sbx_env_read(&env, &back, &err), 0, "is read: %s", err.msg);
	is_str(back.quota, "", "no quota");
	is_str(back.run, r.run, "and the rest is there");
	sbx_env_close(&env);
}

/* Write `text` as state.json and read it. */
static void
damaged(struct sbx_state *state, const char *text, enum sbx_code code, const char *part)
{
	struct sbx_env_record back;
	struct sbx_env env;
	struct sbx_err err = { .code = SBX_OK };

	if (sbx_env_open(state, id_a, &env, &err) < 0 ||
		sbx_io_replace_file(env.dir_fd, "state.json", text, strlen(text), 0600, 0, &err) <
			0)
		ok(0, "set-up: %s", err.msg);
	is_int(sbx_env_read(&env, &back, &err), -1, "damaged: %.30s", text);
	is_int(err.code, code, "code");
	ok(strstr(err.msg, "state.json") != NULL && strstr(err.msg, part) != NULL, "by name: %s",
		err.msg);
	sbx_env_close(&env);
}

static void
test_damaged(struct sbx_state *state)
{
	SBX_AUTO_BUF text = SBX_BUF_INIT(65536);
	struct sbx_env_record r = sample(), back;
	struct sbx_env env;
	struct sbx_err err = { .code = SBX_OK };

	damaged(state, "", SBX_E_CORRUPT, "");
	damaged(state, "{", SBX_E_CORRUPT, "");
	damaged(state, "[]", SBX_E_CORRUPT, "version");
	damaged(state, "{\"version\":1}", SBX_E_CORRUPT, "state");
	damaged(state, "{\"version\":2}", SBX_E_UNAVAILABLE,
		"version 2 is newer than this program's 1");
	damaged(state, "{\"version\":1,\"state\":\"odd\"}", SBX_E_CORRUPT, "state");
	/* Of another environment: a directory that was copied. */
	if (sbx_env_open(state, id_a, &env, &err) < 0)
		ok(0, "set-up: %s", err.msg);
	memcpy(r.id, id_b, sizeof(r.id));
	is_int(sbx_env_write(&env, &r, &err), 0, "another's record");
	is_int(sbx_env_read(&env, &back, &err), -1, "is refused");
	is_int(err.code, SBX_E_CORRUPT, "corrupt");
	/* Of a later version that kept the number: what it added is passed over. */
	r = sample();
	is_int(sbx_env_write(&env, &r, &err), 0, "a good one");
	is_int(sbx_io_read_file(env.dir_fd, "state.json", &text, &err), 0, "its text");
	text.length -= 2; /* "}\n" */
	is_int(sbx_buf_add_str(&text, ",\"later\":{\"x\":[1]}}\n"), 0, "with a key more");
	is_int(sbx_io_replace_file(env.dir_fd, "state.json", text.data, text.length, 0600, 0, &err),
		0, "written");
	is_int(sbx_env_read(&env, &back, &err), 0, "is read: %s", err.msg);
	sbx_env_close(&env);
}

static void
test_time(void)
{
	struct sbx_env_record r = sample();
	int64_t left;
	pid_t pid;

	r.expires_boot_ms = sbx_clock_boot_ms() + 50000;
	r.expires_wall_ms = 0;
	left = sbx_env_left_ms(&r);
	ok(left > 40000 && left <= 50000, "in this boot BOOTTIME decides: %lld", (long long)left);
	snprintf(r.boot_id, sizeof(r.boot_id), "another");
	ok(sbx_env_left_ms(&r) < 0, "after a reboot the wall clock does");
	r.expires_wall_ms = sbx_clock_wall_ms() + 50000;
	left = sbx_env_left_ms(&r);
	ok(left > 40000 && left <= 50000, "and it has time left: %lld", (long long)left);

	r = sample();
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	r.init_pid = pid;
	is_int(sbx_env_init_alive(&r), 0,
		"the same pid with another start time is another process");
	{
		char path[64], stat[1024];
		const char *at;

		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		ok(sbx_io_read_attr(AT_FDCWD, path, stat, sizeof(stat)) > 0, "stat");
		at = strrchr(stat, ')');
		for (int i = 0; at != NULL && i < 20; i++)
			at = strchr(at + 1, ' ');
		r.init_start = at != NULL ? strtoll(at + 1, NULL, 10) : 0;
	}
	is_int(sbx_env_init_alive(&r), 1, "with its own it lives");
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT);
	is_int(sbx_env_init_alive(&r), 0, "a zombie is dead");
	waitpid(pid, NULL, 0);
	is_int(sbx_env_init_alive(&r), 0, "and gone is gone");
	r.init_pid = 0;
	is_int(sbx_env_init_alive(&r), 0, "none was ever made");
}

static void
test_line(void)
{
	SBX_AUTO_BUF text = SBX_BUF_INIT(65536);
	struct sbx_env_record r = sample();
	struct sbx_err err = { .code = SBX_OK };
	char want[256];

	is_int(sbx_env_record_line(&r, 1, 1234, &text, &err), 0, "the env record");
	snprintf(want, sizeof(want),
		"{\"type\":\"env\",\"env\":\"%s\",\"created\":true,\"state\":\"ready\","
		"\"tenant\":\"t\",\"run\":\"r\",\"epoch\":7,\"mechanism\":\"native\",\"image\":null,"
		"\"expires_at\":\"2025-12-01T03:24:25.123Z\",\"limits\":{\"cpu_milli\":1000,",
		id_a);
	ok(strncmp(sbx_buf_str(&text), want, strlen(want)) == 0, "begins as it should");
	ok(strstr(sbx_buf_str(&text),
		   "},\"enforced\":[\"userns\",\"seccomp:strict\"],\"storage\":\"disk\","
		   "\"timing_us\":{\"total\":1234}}\n") != NULL,
		"and ends so");
}

static void
test_remove(struct sbx_state *state)
{
	struct sbx_env env;
	struct sbx_err err = { .code = SBX_OK };
	char(*ids)[SBX_ENV_ID_SIZE];
	char remnant[SBX_ENV_ID_SIZE + 1];
	size_t count;
	int created, fd;

	is_int(sbx_env_lock(state, id_b, 1, 0, &env, &created, &err), 0, "another environment");
	is_int(sbx_env_write_spec(&env, "{\"run\":\"r\"}", &err), 0, "its spec");
	ok(mkdirat(env.dir_fd, "workspace", 0700) == 0 &&
			mkdirat(env.dir_fd, "workspace/d", 0) == 0,
		"and a workspace");
	is_int(sbx_env_list(state, &ids, &count, &err), 0, "listed");
	is_int(count, 2, "both");
	ok(count == 2 && strcmp(ids[0], ids[1]) < 0, "in order");
	free(ids);
	/* A removal that was killed between its rename and its end. */
	snprintf(remnant, sizeof(remnant), ".%s", id_b);
	is_int(mkdirat(state->env_fd, remnant, 0700), 0, "a remnant");
	is_int(sbx_env_remove(state, &env, &err), 0, "removed: %s", err.msg);
	is_int(env.dir_fd, -1, "and closed");
	is_int(faccessat(state->env_fd, id_b, F_OK, AT_SYMLINK_NOFOLLOW), -1, "its name is gone");
	is_int(faccessat(state->env_fd, remnant, F_OK, AT_SYMLINK_NOFOLLOW), -1, "and the remnant");
	is_int(mkdirat(state->env_fd, remnant, 0700), 0, "a remnant");
	fd = openat(state->env_fd, remnant, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	is_int(flock(fd, LOCK_EX), 0, "that a live remover holds");
	is_int(sbx_env_sweep_remnants(state, &err), 0, "swept");
	is_int(faccessat(state->env_fd, remnant, F_OK, AT_SYMLINK_NOFOLLOW), 0, "stays");
	close(fd);
	is_int(sbx_env_sweep_remnants(state, &err), 0, "swept again");
	is_int(faccessat(state->env_fd, remnant, F_OK, AT_SYMLINK_NOFOLLOW), -1, "is gone");
	is_int(sbx_env_list(state, &ids, &count, &err), 0, "listed");
	is_int(count, 1, "the other environment is untouched");
	free(ids);
}

/* Whoever waits for the lock of what is being removed must not end up with a dead directory. */
static void
test_race(struct sbx_state *state)
{
	enum { CHILDREN = 8, ROUNDS = 50 };
	struct sbx_err err = { .code = SBX_OK };
	char(*ids)[SBX_ENV_ID_SIZE];
	size_t count;
	int bad = 0, status;

	fflush(stdout);
	for (int c = 0; c < CHILDREN; c++) {
		if (fork() != 0)
			continue;
		for (int i = 0; i < ROUNDS; i++) {
			struct sbx_env env;
			struct stat held, named;
			int created;

			if (sbx_env_lock(state, id_b, 1, 30000, &env, &created, &err) < 0)
				_exit(1);
			/* No one else is in: what we make alone is there and ours. */
			if (mkdirat(env.dir_fd, "alone", 0700) < 0)
				_exit(2);
			if (fstat(env.dir_fd, &held) < 0 ||
				fstatat(state->env_fd, id_b, &named, 0) < 0 ||
				held.st_ino != named.st_ino)
				_exit(3);
			if (i % 2 == 0 && unlinkat(env.dir_fd, "alone", AT_REMOVEDIR) < 0)
				_exit(4);
			if (i % 2 == 0)
				sbx_env_close(&env);
			else if (sbx_env_remove(state, &env, &err) < 0)
				_exit(5);
		}
		_exit(0);
	}
	for (int c = 0; c < CHILDREN; c++)
		if (wait(&status) < 0 || status != 0) {
			printf("# child ended with %d\n", WEXITSTATUS(status));
			bad++;
		}
	is_int(bad, 0, "%d processes lock and remove one environment, each alone in it", CHILDREN);
	is_int(sbx_env_list(state, &ids, &count, &err), 0, "listed");
	ok(count <= 2, "and nothing else is left");
	free(ids);
}

int
main(void)
{
	struct sbx_state state = state_make();

	sbx_spec_env_id("t", "r", 7, id_a);
	sbx_spec_env_id("t", "r", 8, id_b);
	test_lock(&state);
	test_record(&state);
	test_old(&state);
	test_damaged(&state);
	test_time();
	test_line();
	test_remove(&state);
	test_race(&state);
	state_remove(&state);
	return done();
}
