/*
 * Sessions with a container, against an inside that misbehaves. This program is its own engine: called
 * with an engine's arguments it does as docker_play.h says.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "mech/docker/docker.h"
#include "mech/docker/session.h"
#include "docker_play.h"
#include "state_help.h"
#include "tap.h"

static struct sbx_state state;
static struct sbx_config config;
static struct sbx_mech_host host;
static struct sbx_env env;
static struct sbx_env_record record = { .mechanism = "docker" };
static struct sbx_err err;
static int out_fd, err_fd, in_fd; /* our ends */

static struct sbx_session *
begin(const char *play)
{
	struct sbx_session *session = NULL;

	setenv("SBX_PLAY", play, 1);
	unlink("calls");
	err = (struct sbx_err){ 0 };
	return sbx_docker_open(&host, &env, &record, &session, &err) < 0 ? NULL : session;
}

static uint32_t
run(struct sbx_session *session, int with_stdin)
{
	static char sh[] = "sh";
	char *argv[] = { sh, NULL }, *envp[] = { NULL };
	int in[2], out[2], error[2];
	struct sbx_mech_command command = { .argv = argv, .envp = envp };
	uint32_t id = 0;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(error, O_CLOEXEC) < 0)
		exit(1);
	command.stdin_fd = with_stdin ? in[0] : open("/dev/null", O_RDONLY | O_CLOEXEC);
	command.stdout_fd = out[1];
	command.stderr_fd = error[1];
	if (sbx_docker_start(session, &command, &id, &err) < 0)
		printf("# start: %s\n", err.msg);
	if (!with_stdin)
		close(command.stdin_fd);
	close(in[0]);
	close(out[1]);
	close(error[1]);
	in_fd = in[1];
	out_fd = out[0];
	err_fd = error[0];
	return id;
}

static void
close_ends(void)
{
	close(in_fd);
	close(out_fd);
	close(err_fd);
}

/* The next event, waiting for it as a tool does: its kind, 0 after 5 s. */
static int
next(struct sbx_session *session, struct sbx_mech_event *event)
{
	int64_t until = sbx_clock_mono_ms() + 5000;
	struct pollfd ready = { .fd = sbx_docker_fd(session), .events = POLLIN };

	while (sbx_clock_mono_ms() < until) {
		if (sbx_docker_next(session, event) > 0)
			return (int)event->kind;
		poll(&ready, 1, 100);
	}
	return 0;
}

/* Read one of its outputs to the end, the session being served: bytes, -1 after 5 s. */
static long
drain(struct sbx_session *session, int fd, char *first, size_t size)
{
	int64_t until = sbx_clock_mono_ms() + 5000;
	static char bytes[65536];
	struct sbx_mech_event event;
	long total = 0;

	while (sbx_clock_mono_ms() < until) {
		struct pollfd ready[2] = { { .fd = sbx_docker_fd(session), .events = POLLIN },
			{ .fd = fd, .events = POLLIN } };
		ssize_t n;

		poll(ready, 2, 100);
		(void)sbx_docker_next(session, &event);
		if (ready[1].revents == 0)
			continue;
		n = read(fd, bytes, sizeof(bytes));
		if (n <= 0)
			return total;
		if (total == 0 && first != NULL)
			snprintf(first, size, "%.*s", (int)n, bytes);
		total += n;
	}
	return -1;
}

static void
test_echo(void)
{
	struct sbx_session *session = begin("echo");
	struct sbx_mech_event event;
	struct sbx_mech_usage usage;
	char text[32] = "";
	uint32_t id = run(session, 1);

	is_str(sbx_docker_hello(session)->kernel, "Linux", "hello is kept");
	is_int(next(session, &event), SBX_EVENT_STARTED, "a command starts");
	ok(write(in_fd, "hello", 5) == 5, "its stdin takes bytes");
	close(in_fd);
	in_fd = -1;
	is_int(next(session, &event), SBX_EVENT_EXITED, "and it ends at their end");
	ok(event.id == id && WEXITSTATUS(event.status) == 7, "with its status");
	is_int(drain(session, out_fd, text, sizeof(text)), 5, "its output came");
	is_str(text, "hello", "as it was");
	is_int(sbx_docker_finish(session, id, &usage, &err), 0, "finish");
	ok(usage.cpu_us == 1234 && usage.peak_memory_bytes == 4096 && usage.has_memory &&
			!usage.exact && usage.left_over && usage.pids_hits == 1,
		"and its accounts");
	is_int(drain(session, err_fd, NULL, 0), 0, "the other output is at its end");
	is_int(sbx_docker_finish(session, id, &usage, &err), -1, "it is forgotten");
	is_int(err.code, SBX_E_NOT_FOUND, "by name");
	close_ends();
	sbx_docker_close(session);
}

static void
test_flood(void)
{
	struct sbx_session *session = begin("flood");
	struct sbx_mech_event event;
	struct sbx_mech_usage usage;
	uint32_t id = run(session, 0);

	is_int(next(session, &event), SBX_EVENT_STARTED, "one that floods starts");
	is_int(next(session, &event), SBX_EVENT_EXITED, "and ends, though nobody reads");
	is_int(drain(session, err_fd, NULL, 0), 3, "its stderr is not held up by its stdout");
	is_int(sbx_docker_finish(session, id, &usage, &err), 0, "finish with a full pipe");
	is_int(drain(session, out_fd, NULL, 0), SBX_CHAN_WINDOW + REST, "then all of it is read");
	close_ends();
	sbx_docker_close(session);
}

static void
test_reader_gone(void)
{
	struct sbx_session *session = begin("flood");
	struct sbx_mech_event event;
	struct sbx_mech_usage usage;
	uint32_t id = run(session, 0);

	close(out_fd);
	out_fd = -1;
	is_int(next(session, &event), SBX_EVENT_STARTED, "one whose reader goes starts");
	is_int(next(session, &event), SBX_EVENT_EXITED, "and ends");
	is_int(sbx_docker_finish(session, id, &usage, &err), 0, "and is finished");
	close_ends();
	sbx_docker_close(session);
}

/* A play after which the environment is lost: never a result. */
static void
test_lost(const char *play, int started)
{
	struct sbx_session *session = begin(play);
	struct sbx_mech_event event;

	run(session, 0);
	if (started)
		is_int(next(session, &event), SBX_EVENT_STARTED, "%s: starts", play);
	is_int(next(session, &event), SBX_EVENT_LOST, "%s: lost", play);
	is_int(sbx_docker_next(session, &event), 0, "%s: and no more", play);
	is_int(drain(session, err_fd, NULL, 0), 0, "%s: its outputs end", play);
	close_ends();
	sbx_docker_close(session);
}

static void
test_kill(void)
{
	struct sbx_session *session = begin("kill");
	struct sbx_mech_event event;
	struct sbx_mech_usage usage;
	char text[32] = "";
	int restarted = 0;
	uint32_t other = run(session, 0), id;

	close_ends();
	id = run(session, 0);
	is_int(next(session, &event), SBX_EVENT_STARTED, "one starts");
	is_int(next(session, &event), SBX_EVENT_STARTED, "and another");
	is_int(sbx_docker_kill(session, id, &restarted, &err), 0, "kill one");
	ok(restarted && was_called("restart"), "the container was restarted");
	is_int(next(session, &event), SBX_EVENT_RESTARTED, "that took the other");
	is_int(event.id, other, "by its id");
	is_int(next(session, &event), SBX_EVENT_EXITED, "the one has ended");
	ok(event.id == id && WIFSIGNALED(event.status) && WTERMSIG(event.status) == SIGKILL,
		"by SIGKILL");
	is_int(drain(session, out_fd, text, sizeof(text)), 4, "its last output came");
	is_str(text, "last", "as it was");
	is_int(sbx_docker_finish(session, id, &usage, &err), 0, "finish without a channel");
	is_int(usage.peak_memory_bytes, 4096, "what was known is told");
	close_ends();
	id = run(session, 0);
	is_int(next(session, &event), SBX_EVENT_STARTED, "the next opens a channel again");
	unlink("calls");
	is_int(sbx_restart_since(&session->restart, session->restarts, &restarted, &err), 0,
		"somebody else restarts");
	is_int(sbx_docker_kill(session, id, &restarted, &err), 0, "then kill");
	is_int(sbx_restarts(&session->restart), 2, "and we do not again");
	close_ends();
	sbx_docker_close(session);
}

static void
test_oom(void)
{
	struct sbx_session *session = begin("oom");
	struct sbx_mech_event event;
	int restarted = 0;
	uint32_t id = run(session, 0);

	is_int(next(session, &event), SBX_EVENT_STARTED, "one that takes the container along");
	is_int(next(session, &event), SBX_EVENT_OOM, "by its memory");
	is_int(sbx_docker_kill(session, id, &restarted, &err), 0, "may be killed");
	ok(restarted && was_called("start") && !was_called("restart"), "by what was done already");
	is_int(next(session, &event), SBX_EVENT_EXITED, "and has ended");
	ok(event.id == id && WIFSIGNALED(event.status), "by a signal");
	close_ends();
	sbx_docker_close(session);
}

static void
test_refused(const char *play, enum sbx_code code, const char *message)
{
	struct sbx_session *session = begin(play);

	ok(session == NULL, "%s: not opened", play);
	is_int(err.code, code, "%s: by its code", play);
	ok(strstr(err.msg, message) != NULL, "%s: %s", play, err.msg);
	sbx_docker_close(session);
}

static void
test_open(void)
{
	struct sbx_session *session = begin("stopped");

	ok(session != NULL && was_called("start"), "a container that stopped is started");
	sbx_docker_close(session);
	test_refused("gone", SBX_E_NOT_FOUND, "opened no channel");
	test_refused("full", SBX_E_BUSY, "no room for one more process");
	test_refused("proved", SBX_E_UNAVAILABLE, "write to /etc");
	config.engine[0] = '!';
	test_refused("echo", SBX_E_UNAVAILABLE, "No such file");
	config.engine[0] = '/';
}

int
main(int argc, char **argv)
{
	char self[4096] = "";
	int children;

	if (argc > 1)
		return engine(argv[1]);
	signal(SIGPIPE, SIG_IGN);
	state = state_make();
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 || fchdir(state.env_fd) < 0)
		return 1;
	sbx_config_init(&config);
	free(config.engine);
	config.engine = strdup(self);
	host = (struct sbx_mech_host){ .config = &config, .state = &state };
	env.dir_fd = state.env_fd;
	snprintf(env.id, sizeof(env.id), "e");
	test_echo();
	test_flood();
	test_reader_gone();
	test_lost("garbage", 1);
	test_lost("overrun", 1);
	test_lost("status", 1);
	test_lost("dies", 1);
	test_lost("order", 0);
	test_kill();
	test_oom();
	test_open();
	children = waitpid(-1, NULL, WNOHANG);
	ok(children < 0 && errno == ECHILD, "no process of the engine is left");
	env.dir_fd = -1;
	sbx_config_done(&config);
	if (chdir("/") < 0)
		return 1;
	state_remove(&state);
	return done();
}
