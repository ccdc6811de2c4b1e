/* One call of an engine: our codes from real engines' texts, our words in messages, deadlines. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mech/docker/docker.h"
#include "tap.h"

#define HEX "0000000000000000000000000000000000000000000000000000000000000000"
#define DAEMON "Error response from daemon: "

static const struct {
	const char *said;
	enum sbx_code code;
} texts[] = {
	/* docker 20.10 with clients to 28 */
	{ "Cannot connect to the Docker daemon at unix:///tmp/nope.sock. Is the docker daemon running?",
		SBX_E_UNAVAILABLE },
	{ "error during connect: Get \"http://h/v1.24/info\": dial tcp 127.0.0.1:1: connect: connection "
	  "refused",
		SBX_E_UNAVAILABLE },
	{ "Got permission denied while trying to connect to the Docker daemon socket at "
	  "unix:///var/run/docker.sock",
		SBX_E_DENIED },
	{ "permission denied while trying to connect to the Docker daemon socket at unix:///x",
		SBX_E_DENIED },
	{ DAEMON "No such image: sha256:" HEX, SBX_E_NOT_FOUND },
	{ DAEMON "no such image: nosuch: No such image: nosuch:latest", SBX_E_NOT_FOUND },
	{ "Unable to find image 'nosuch:latest' locally", SBX_E_NOT_FOUND },
	{ DAEMON "No such container: nosuch", SBX_E_NOT_FOUND },
	{ "Error: No such object: nosuch", SBX_E_NOT_FOUND },
	{ DAEMON "get nosuch: no such volume", SBX_E_NOT_FOUND },
	{ DAEMON
		"Conflict. The container name \"/a\" is already in use by container \"aa8d\". You have "
		"to remove (or rename) that container to be able to reuse that name.",
		SBX_E_CONFLICT },
	{ DAEMON "Container aa8dc8133c80 is not running", SBX_E_UNAVAILABLE },
	{ DAEMON "Unknown runtime specified nosuchrt", SBX_E_UNAVAILABLE },
	{ DAEMON "unknown or invalid runtime name: nosuchrt", SBX_E_UNAVAILABLE },
	{ DAEMON "remove vol: volume is in use - [0df54fd2e8a6]", SBX_E_BUSY },
	{ DAEMON "removal of container aa8d is already in progress", SBX_E_BUSY },
	{ DAEMON "write /tmp/x: no space left on device", SBX_E_QUOTA },
	{ DAEMON "OCI runtime create failed: open /x: permission denied: no space left on device",
		SBX_E_QUOTA },
	{ DAEMON "OCI runtime start failed: starting container: failed to load /.sbx/bin/sbx-init: "
		 "permission denied: unknown",
		SBX_E_UNAVAILABLE },
	{ DAEMON "open /var/lib/docker/x: permission denied", SBX_E_DENIED },
	{ DAEMON "Minimum memory limit allowed is 6MB", SBX_E_INTERNAL },
	{ "unexpected EOF", SBX_E_UNAVAILABLE },
	{ "invalid argument \"x\" for \"--pids-limit\" flag", SBX_E_INTERNAL },
	{ "", SBX_E_INTERNAL },
	/* podman 4.3 */
	{ "Error: inspecting object: no such container nosuch", SBX_E_NOT_FOUND },
	{ "Error: no container with name or ID \"nosuch\" found: no such container",
		SBX_E_NOT_FOUND },
	{ "Error: nosuch: image not known", SBX_E_NOT_FOUND },
	{ "Error: no volume with name \"nosuch\" found: no such volume", SBX_E_NOT_FOUND },
	{ "Error: creating container storage: the container name \"a\" is already in use by 4c2f. You "
	  "have to remove that container to be able to reuse that name: that name is already in use",
		SBX_E_CONFLICT },
	{ "Error: volume with name v already exists: volume already exists", SBX_E_CONFLICT },
	{ "Error: volume v is being used by the following container(s): 4c2f: volume is being used",
		SBX_E_BUSY },
	{ "Error: can only create exec sessions on running containers: container state improper",
		SBX_E_UNAVAILABLE },
	{ "Error: default OCI runtime \"nosuchrt\" not found: invalid argument",
		SBX_E_UNAVAILABLE },
	{ "Error: unable to connect to Podman socket: dial unix /x: connect: no such file",
		SBX_E_UNAVAILABLE },
	{ "Cannot connect to Podman. Please verify your connection", SBX_E_UNAVAILABLE },
};

static char script[] = "/tmp/sbx-engine.XXXXXX";

/* An engine that is this shell script. */
static void
engine(const char *body)
{
	int fd = open(script, O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd < 0 || dprintf(fd, "#!/bin/sh\n%s\n", body) < 0 || close(fd) != 0)
		ok(0, "set-up");
}

static int
call(const struct sbx_docker *docker, struct sbx_buf *out, struct sbx_err *err)
{
	SBX_AUTO_DOCKER_ARGS args = { .count = 0 };

	*err = (struct sbx_err){ 0 };
	sbx_docker_args_add(&args, "%s", docker->engine);
	sbx_docker_args_add(&args, "volume");
	sbx_docker_args_add(&args, "create");
	return sbx_docker_call(docker, &args, NULL, 0, out, err);
}

static int
always(void)
{
	return 1;
}

static void
calls(void)
{
	struct sbx_docker docker = { .engine = script, .timeout_ms = 5000, .lock_fd = -1 };
	SBX_AUTO_BUF out = SBX_BUF_INIT(100);
	struct sbx_err err;
	char want[128];

	engine("echo \"$1-$2\"; echo");
	is_int(call(&docker, &out, &err), 0, "a call");
	is_str(sbx_buf_str(&out), "volume-create\n", "its output without the last newline");
	engine("echo 'remove secret: volume is in use - [0df]' >&2; exit 1");
	is_int(call(&docker, NULL, &err), -1, "a failing call");
	is_int(err.code, SBX_E_BUSY, "code");
	snprintf(want, sizeof(want), "%s volume create: in use", script);
	is_str(err.msg, want, "the message has our words");
	engine("echo 'something new' >&2; exit 125");
	is_int(call(&docker, NULL, &err), -1, "words that nobody knows");
	is_int(err.code, SBX_E_INTERNAL, "code");
	snprintf(want, sizeof(want), "%s volume create: failed with status 125, see the log",
		script);
	is_str(err.msg, want, "message");
	engine("exec sleep 30");
	docker.timeout_ms = 200;
	is_int(call(&docker, NULL, &err), -1, "a slow one");
	is_int(err.code, SBX_E_TIMEOUT, "code");
	docker.timeout_ms = 5000;
	docker.stop = always;
	is_int(call(&docker, NULL, &err), -1, "a stopped one");
	is_int(err.code, SBX_E_CANCELLED, "code");
	docker.stop = NULL;
	docker.engine = "sbx-no-such-engine";
	is_int(call(&docker, NULL, &err), -1, "no engine");
	is_int(err.code, SBX_E_UNAVAILABLE, "code");
	is_str(err.msg, "execute sbx-no-such-engine: No such file or directory", "message");
	ok(strstr(err.hint, "`engine` in sbx.yaml") != NULL, "hint");
}

int
main(void)
{
	int fd = mkstemp(script);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		is_int(sbx_docker_code(texts[i].said), texts[i].code, "%.60s", texts[i].said);
	if (fd < 0 || fchmod(fd, 0700) != 0)
		return 1;
	close(fd);
	calls();
	unlink(script);
	return done();
}
