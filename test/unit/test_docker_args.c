/*
 * How calls of an engine are spelt: what every container has, no path of the host in any argument,
 * limits, names; and what is read out of an engine's own words.
 */
#include "data/spec.h"
#include "mech/docker/docker.h"
#include "mech/docker/provision.h"
#include "tap.h"

#define HEX "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static struct sbx_docker docker = { .engine = "podman", .timeout_ms = 1000, .lock_fd = -1 };
static struct sbx_state state = { .path = "/var/lib/secret-state", .tag = "abcdefghij234" };
static struct sbx_config config = { .engine = NULL };
static struct sbx_mech_host host = {
	.state = &state, .config = &config, .libexec = "/host/libexec"
};
static struct sbx_docker_names names;
static struct sbx_spec spec;
static struct sbx_env_record record = {
	.id = "eaaaaaaaaaaaaaaaaaaaaaaaaaa",
	.tenant = "t",
	.run = "r-1",
	.epoch = 7,
	.image = "sha256:" HEX,
	.tmp_bytes = 64 << 20,
	.limits = { .cpu_milli = 1500, .memory_bytes = 128 << 20, .pids = 32 },
};
static const struct sbx_docker_want want = { .docker = &docker,
	.names = &names,
	.spec = &spec,
	.record = &record,
	.helper_volume = "sbx-helper-0011" };

static int
has(const struct sbx_docker_args *args, const char *text)
{
	for (size_t i = 0; i < args->count; i++)
		if (strcmp(args->args[i], text) == 0)
			return 1;
	return 0;
}

/* "a b c": the whole line, for short ones. */
static const char *
line(struct sbx_docker_args *args)
{
	static char text[1024];
	size_t length = 0;

	text[0] = '\0';
	for (size_t i = 0; i < args->count && length < sizeof(text); i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s",
			i > 0 ? " " : "", args->args[i]);
	ok(args->args[args->count] == NULL, "ends in NULL");
	sbx_docker_args_done(args);
	return text;
}

/* Paths inside are few and known; anything else with a '/' would be the host's. */
static int
names_host_path(const char *text)
{
	static const char *const inside[] = { "/.sbx/", "/tmp:", "/workspace:", "--workdir=/" };
	const char *slash = strchr(text, '/');

	if (slash == NULL || strcmp(text, inside[3]) == 0)
		return 0;
	for (size_t i = 0; i < 3; i++)
		if (strncmp(slash, inside[i], strlen(inside[i])) == 0)
			return 0;
	return 1;
}

static void
creates(void)
{
	static const char *const expected[] = {
		"--name=sbx-abcdefghij234-eaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"--label=sbx.env=eaaaaaaaaaaaaaaaaaaaaaaaaaa", "--label=sbx.state=abcdefghij234",
		"--label=sbx.tenant=t", "--label=sbx.run=r-1", "--label=sbx.epoch=7",
		"--pull=never", "--network=none", "--read-only", "--cap-drop=ALL",
		"--security-opt=no-new-privileges", "--user=0:0", "--ipc=private",
		"--cgroupns=private", "--log-driver=none", "--restart=no", "--init=false",
		"--no-healthcheck", "--memory=134217728", "--memory-swap=134217728",
		"--cpu-period=100000", "--cpu-quota=150000", "--pids-limit=48",
		"--shm-size=33554432", "--tmpfs=/tmp:rw,nosuid,nodev,exec,size=33554432,mode=1777",
		"--tmpfs=/.sbx/run:rw,nosuid,nodev,noexec,size=64k,mode=0700",
		"--volume=sbx-abcdefghij234-eaaaaaaaaaaaaaaaaaaaaaaaaaa:/workspace:nocopy",
		"--volume=sbx-helper-0011:/.sbx/bin:ro,nocopy", "--entrypoint=/.sbx/bin/sbx-init"
	};
	static const char *const caps[] = { "SETUID", "SETGID", "SETPCAP", "KILL", "CHOWN",
		"FOWNER", "DAC_READ_SEARCH" };
	SBX_AUTO_DOCKER_ARGS args = { .count = 0 };
	size_t added = 0;
	int bad = 0;

	sbx_docker_args_create(&want, &args);
	is_str(args.args[0], "podman", "the engine of the configuration");
	is_str(args.args[1], "create", "create");
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		ok(has(&args, expected[i]), "%s", expected[i]);
	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		char text[64];

		snprintf(text, sizeof(text), "--cap-add=%s", caps[i]);
		ok(has(&args, text), "%s", text);
	}
	for (size_t i = 0; i < args.count; i++) {
		added += strncmp(args.args[i], "--cap-add", 9) == 0;
		bad += names_host_path(args.args[i]);
	}
	is_int(added, sizeof(caps) / sizeof(caps[0]), "and no other capability");
	is_int(bad, 0, "no path of the host");
	is_str(args.args[args.count - 2], "sha256:" HEX, "the image by digest");
	is_str(args.args[args.count - 1], "serve", "what pid 1 is told");
	sbx_docker_args_done(&args);

	spec.debug = 1;
	docker.runtime = "runsc";
	record.limits.memory_bytes = (uint64_t)8 << 30;
	sbx_docker_args_create(&want, &args);
	is_str(args.args[args.count - 3], "--debug", "debug is said to pid 1");
	is_str(args.args[args.count - 2], "--pids", "and with gVisor");
	is_str(args.args[args.count - 1], "48", "how many tasks there may be");
	ok(has(&args, "--pids-limit=4608"), "which the engine's limit is far above");
	ok(has(&args, "--runtime=runsc"), "the runtime");
	ok(has(&args, "--shm-size=67108864"), "a bounded share of a large memory");
	spec.debug = 0;
	docker.runtime = NULL;
}

static void
short_ones(void)
{
	struct sbx_docker_args args = { .count = 0 };

	sbx_docker_args_volume(&want, &args);
	is_str(line(&args),
		"podman volume create --label=sbx.env=eaaaaaaaaaaaaaaaaaaaaaaaaaa "
		"--label=sbx.state=abcdefghij234 --label=sbx.tenant=t --label=sbx.run=r-1 "
		"--label=sbx.epoch=7 sbx-abcdefghij234-eaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"volume");
	sbx_docker_args_start(&docker, "c", &args);
	is_str(line(&args), "podman start c", "start");
	sbx_docker_args_restart(&docker, "c", &args);
	is_str(line(&args), "podman restart -t 0 c", "restart");
	sbx_docker_args_remove(&docker, "c", &args);
	is_str(line(&args), "podman rm --force --volumes c", "remove");
	sbx_docker_args_remove_volume(&docker, "v", &args);
	is_str(line(&args), "podman volume rm --force v", "remove a volume");
	sbx_docker_args_attach(&docker, "c", &args);
	is_str(line(&args), "podman exec --interactive c /.sbx/bin/sbx-init attach", "attach");
	sbx_docker_args_state(&docker, "c", &args);
	is_str(line(&args),
		"podman inspect --type=container --format={{.State.Running}} "
		"{{.State.OOMKilled}} {{.State.StartedAt}} c",
		"state");
	sbx_docker_args_list(&docker, "abc", &args);
	is_str(line(&args),
		"podman ps --all --filter=label=sbx.state=abc --format={{.Names}} {{.State}}",
		"list");
}

static int
ask(const char *text, const char *runtime, struct sbx_docker_engine *engine, struct sbx_err *err)
{
	*err = (struct sbx_err){ 0 };
	return sbx_docker_engine_read(text, strlen(text), runtime, engine, err);
}

#define LIMITS "\"MemoryLimit\":true,\"SwapLimit\":true,\"PidsLimit\":true,\"CpuCfsQuota\":true"
#define RUNTIMES(args)                                                                             \
	"\"Runtimes\":{\"runc\":{\"path\":\"runc\"},\"runsc\":{\"path\":\"/x\"" args "}}"

static void
engines(void)
{
	struct sbx_docker_engine is;
	struct sbx_err err;
	struct sbx_docker gvisor = docker;

	gvisor.runtime = "runsc";
	is_int(ask("{\"ServerVersion\":\"20.10\"," LIMITS "," RUNTIMES("") "}", NULL, &is, &err), 0,
		"docker");
	is_str(is.version, "20.10", "its version");
	ok(is.memory && is.swap && is.pids && is.cpu, "its limits");
	is_int(sbx_docker_check_engine(&host, &docker, &is, &err), 0, "is enough");
	is_int(ask("{\"ServerVersion\":\"20.10\",\"MemoryLimit\":true}", NULL, &is, &err), 0,
		"docker without limits");
	is_int(sbx_docker_check_engine(&host, &docker, &is, &err), -1, "is not enough");
	is_int(err.code, SBX_E_UNAVAILABLE, "code");
	is_str(err.msg, "the engine cannot limit swap", "message");
	config.cgroup = SBX_BEST_EFFORT;
	is_int(sbx_docker_check_engine(&host, &docker, &is, &err), 0, "but for best effort");
	config.cgroup = SBX_REQUIRED;
	is_int(ask("{\"ServerVersion\":\"\"}", NULL, &is, &err), 0, "no version");
	is_int(ask("{\"ID\":\"x\"}", NULL, &is, &err), -1, "docker's client alone");
	is_int(err.code, SBX_E_UNAVAILABLE, "code");
	is_int(ask("what", NULL, &is, &err), -1, "no JSON");
	is_int(err.code, SBX_E_UNAVAILABLE, "code");

	ask("{\"ServerVersion\":\"1\"," LIMITS "," RUNTIMES("") "}", "other", &is, &err);
	is_int(sbx_docker_check_engine(&host, &gvisor, &is, &err), -1, "an unknown runtime");
	is_str(err.msg, "the engine does not know the runtime runsc", "message");
	config.deployment = SBX_DEPLOY_PRODUCTION;
	ask("{\"ServerVersion\":\"1\"," LIMITS
	    "," RUNTIMES(",\"runtimeArgs\":[\"--network=none\"]") "}",
		"runsc", &is, &err);
	is_int(is.host_network, 0, "a runtime without network");
	is_int(sbx_docker_check_engine(&host, &gvisor, &is, &err), 0, "production takes it");
	ask("{\"ServerVersion\":\"1\"," LIMITS
	    "," RUNTIMES(",\"runtimeArgs\":[\"--debug\",\"--network\",\"host\"]") "}",
		"runsc", &is, &err);
	is_int(is.host_network, 1, "the host's network in two words");
	ask("{\"ServerVersion\":\"1\"," LIMITS
	    "," RUNTIMES(",\"runtimeArgs\":[\"--network=host\"]") "}",
		"runsc", &is, &err);
	is_int(is.host_network, 1, "the host's network");
	is_int(sbx_docker_check_engine(&host, &gvisor, &is, &err), -1, "production does not");
	is_int(err.code, SBX_E_DENIED, "code");
	is_str(err.msg, "runtime runsc passes system calls on sockets to the host's kernel",
		"message");
	config.gvisor_network = SBX_GVISOR_HOST;
	is_int(sbx_docker_check_engine(&host, &gvisor, &is, &err), 0, "unless configured");
	config.gvisor_network = SBX_GVISOR_SANDBOX;
	is_int(ask("{\"host\":{\"cgroupControllers\":[\"cpu\",\"memory\",\"pids\"]},"
		   "\"version\":{\"Version\":\"4.3.1\"}}",
		       "runsc", &is, &err),
		0, "podman");
	is_str(is.version, "4.3.1", "its version");
	ok(is.memory && is.swap && is.pids && is.cpu, "its limits");
	is_int(is.host_network, -1, "it does not tell a runtime's arguments");
	is_int(sbx_docker_check_engine(&host, &gvisor, &is, &err), -1, "production does not");
	config.deployment = SBX_DEPLOY_DEVELOPMENT;
}

static void
specs(void)
{
	struct sbx_spec asked = { .limits = { .memory_bytes = 64 << 20 } };
	char digest[] = "sha256:" HEX;
	struct sbx_err err = { 0 };

	is_int(sbx_docker_check_spec("docker", &asked, &err), -1, "no image");
	is_int(err.code, SBX_E_BAD_REQUEST, "code");
	is_str(err.msg, "mechanism docker needs an image", "message");
	is_str(err.hint, "sbx-provision --resolve REF prints the digest of one", "hint");
	asked.image = digest;
	is_int(sbx_docker_check_spec("docker", &asked, &err), 0, "an image");
	asked.limits.memory_bytes = 4 << 20;
	is_int(sbx_docker_check_spec("gvisor", &asked, &err), -1, "too little memory");
	is_str(err.msg, "mechanism gvisor needs a memory of at least 6MiB, not 4194304 bytes",
		"message");
	asked.limits.memory_bytes = 64 << 20;
	asked.proc_view = SBX_PROC_PID;
	is_int(sbx_docker_check_spec("docker", &asked, &err), -1, "a view of /proc");
	asked.proc_view = SBX_PROC_FULL;
	asked.limits.egress = SBX_EGRESS_OPEN;
	is_int(sbx_docker_check_spec("docker", &asked, &err), -1, "a way out");
	is_int(err.code, SBX_E_UNAVAILABLE, "code");
}

int
main(void)
{
	sbx_docker_names(&host, record.id, &names);
	is_str(names.container, "sbx-abcdefghij234-eaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"a container's name");
	is_str(names.volume, names.container, "and its volume's");
	creates();
	short_ones();
	engines();
	specs();
	return done();
}
