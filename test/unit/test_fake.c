/*
 * The mechanism fake from the inside: what a script may say, which line answers, and the order of
 * the events that a session tells.
 */
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mech/fake/fake.h"

static void
refused(const char *text, enum sbx_code code, const char *message)
{
	struct sbx_fake_script script;
	struct sbx_err err = { 0 };

	is_int(sbx_fake_script_read(text, strlen(text), &script, &err), -1, "refused: %s", message);
	sbx_fake_script_done(&script);
	is_int(err.code, code, "its code");
	is_str(err.msg, message, "its message");
}

static void
scripts(void)
{
	static const char text[] = "{\"argv\":[\"a\",\"b\"],\"stdout\":\"x\\u0000y\"}\n\n"
				   "{\"argv\":[\"a\"],\"exit_code\":255}\n"
				   "{\"delay_ms\":3600000}";
	char a[] = "a", b[] = "b", c[] = "c";
	char *ab[] = { a, b, NULL }, *only_a[] = { a, NULL }, *abc[] = { a, b, c, NULL };
	struct sbx_fake_script script;
	struct sbx_err err = { 0 };

	is_int(sbx_fake_script_read(text, sizeof(text) - 1, &script, &err), 0, "a script is read");
	is_int(script.count, 3, "an empty line is none");
	ok(sbx_fake_script_find(&script, ab) == &script.lines[0], "argv answers exactly");
	is_int(script.lines[0].out.length, 3, "output may hold a NUL");
	ok(sbx_fake_script_find(&script, only_a) == &script.lines[1], "a shorter argv is another");
	ok(sbx_fake_script_find(&script, abc) == &script.lines[2], "no argv answers any");
	script.count = 2;
	ok(sbx_fake_script_find(&script, abc) == NULL, "nothing answers a longer argv");
	script.count = 3;
	sbx_fake_script_done(&script);

	refused("{\"argv\":[]}", SBX_E_BAD_REQUEST,
		"fake_script:1: argv: must be an array of 1 to 1024 strings");
	refused("\n{\"oom\":true,\"signal\":9}", SBX_E_BAD_REQUEST,
		"fake_script:2: only one of exit_code, signal and oom can end a command");
	refused("{\"signal\":17}", SBX_E_BAD_REQUEST,
		"fake_script:1: signal: 17 does not end a command");
	refused("{\"out\":\"\"}", SBX_E_BAD_REQUEST, "fake_script:1: line: unknown key \"out\"");
}

/* A session on a script in a directory of its own, and a pipe that its commands write to. */
struct stage {
	char path[64];
	struct sbx_env env;
	struct sbx_session *session;
	int out[2], null;
};

static int
stage_open(struct stage *stage, const char *script)
{
	struct sbx_err err = { 0 };
	int fd;

	snprintf(stage->path, sizeof(stage->path), "/tmp/sbx-unit-fake.XXXXXX");
	if (mkdtemp(stage->path) == NULL)
		return -1;
	stage->env.dir_fd = open(stage->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	stage->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	fd = openat(stage->env.dir_fd, SBX_FAKE_SCRIPT_FILE, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, script, strlen(script)) < 0 || pipe2(stage->out, O_CLOEXEC) < 0)
		return -1;
	close(fd);
	return sbx_fake_open(NULL, &stage->env, NULL, &stage->session, &err);
}

static void
stage_close(struct stage *stage)
{
	close(stage->out[0]);
	close(stage->out[1]);
	close(stage->null);
	unlinkat(stage->env.dir_fd, SBX_FAKE_SCRIPT_FILE, 0);
	close(stage->env.dir_fd);
	rmdir(stage->path);
}

static uint32_t
start(struct stage *stage, char *name)
{
	char *argv[] = { name, NULL };
	struct sbx_mech_command command = { .argv = argv,
		.stdin_fd = stage->null,
		.stdout_fd = stage->out[1],
		.stderr_fd = stage->null };
	struct sbx_err err = { 0 };
	uint32_t id = 0;

	is_int(sbx_fake_start(stage->session, &command, &id, &err), 0, "%s is asked for", name);
	return id;
}

/* The next event, waited for by the descriptor that promises it. */
static struct sbx_mech_event
event(struct stage *stage)
{
	struct pollfd ready = { .fd = sbx_fake_fd(stage->session), .events = POLLIN };
	struct sbx_mech_event got = { 0 };

	for (int i = 0; i < 50; i++)
		if (sbx_fake_next(stage->session, &got) == 1 || poll(&ready, 1, 5000) < 1)
			break;
	return got;
}

static void
ends(struct stage *stage)
{
	char quick[] = "quick", oom[] = "oom", missing[] = "missing";
	struct sbx_mech_usage usage;
	struct sbx_mech_event got;
	uint32_t id = start(stage, quick);
	char text[8] = { 0 };

	got = event(stage);
	ok(got.kind == SBX_EVENT_STARTED && got.id == id, "STARTED comes first");
	got = event(stage);
	ok(got.kind == SBX_EVENT_EXITED && got.id == id, "then EXITED");
	ok(WIFEXITED(got.status) && WEXITSTATUS(got.status) == 4, "with its status");
	is_int(read(stage->out[0], text, sizeof(text)), 2, "what it wrote is there by then");
	is_int(sbx_fake_finish(stage->session, id, &usage, NULL), 0, "it is finished");
	is_int(sbx_fake_finish(stage->session, id, &usage, NULL), -1, "once");

	id = start(stage, oom);
	is_int(event(stage).kind, SBX_EVENT_STARTED, "oom starts");
	is_int(event(stage).kind, SBX_EVENT_OOM, "OOM is told");
	got = event(stage);
	ok(got.kind == SBX_EVENT_EXITED && WIFSIGNALED(got.status) &&
			WTERMSIG(got.status) == SIGKILL,
		"and then EXITED by SIGKILL");
	is_int(sbx_fake_finish(stage->session, id, &usage, NULL), 0, "oom is finished");
	is_int(usage.oom_kills, 1, "and counted");

	id = start(stage, missing);
	got = event(stage);
	ok(got.kind == SBX_EVENT_START_FAILED && got.error == ENOENT, "a missing line is ENOENT");
	is_str(got.stage, "execve", "as of execve");
	is_int(sbx_fake_finish(stage->session, id, &usage, NULL), 0, "it is finished as well");
	is_int(sbx_fake_next(stage->session, &got), 0, "there is no event more");
}

static void
kills(struct stage *stage)
{
	char slow_oom[] = "slow-oom", slow[] = "slow";
	struct sbx_mech_usage usage;
	struct sbx_mech_event got;
	struct sbx_err err = { 0 };
	int restarted = 7;
	uint32_t id = start(stage, slow_oom);

	is_int(event(stage).kind, SBX_EVENT_STARTED, "slow-oom starts");
	is_int(sbx_fake_kill(stage->session, id, &restarted, &err), 0, "it is killed");
	is_int(restarted, 0, "alone");
	got = event(stage);
	is_int(got.kind, SBX_EVENT_EXITED, "killed before its memory ran out, it only EXITED");
	is_int(sbx_fake_finish(stage->session, id, &usage, NULL), 0, "it is finished");
	is_int(usage.oom_kills, 0, "and no OOM is counted");
	is_int(sbx_fake_kill(stage->session, id, &restarted, &err), -1, "then nobody knows it");
	is_int(err.code, SBX_E_NOT_FOUND, "by its code");
	is_str(err.msg, "no command 4", "and message");

	for (int i = 0; i < 3; i++)
		start(stage, slow);
	sbx_fake_close(stage->session);
	errno = 0;
	ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "close ends and reaps what runs");
	sbx_fake_close(NULL);
}

int
main(void)
{
	struct stage stage = { .session = NULL };

	scripts();
	is_int(stage_open(&stage,
		       "{\"argv\":[\"quick\"],\"stdout\":\"hi\",\"exit_code\":4}\n"
		       "{\"argv\":[\"oom\"],\"oom\":true}\n"
		       "{\"argv\":[\"slow-oom\"],\"oom\":true,\"delay_ms\":60000}\n"
		       "{\"argv\":[\"slow\"],\"delay_ms\":60000}\n"),
		0, "a session opens");
	ends(&stage);
	kills(&stage);
	stage_close(&stage);
	return done();
}
