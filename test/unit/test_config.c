/* data/config: sbx.yaml over the defaults, the shipped files, what is refused and on which line. */
#include "data/config.h"

#include <fcntl.h>

#include "base/io.h"
#include "tap.h"

#define DIGEST "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static enum sbx_code
read_text(const char *text, struct sbx_config *config, struct sbx_err *err)
{
	memset(err, 0, sizeof(*err));
	sbx_config_init(config);
	return sbx_config_read("sbx.yaml", text, strlen(text), config, err) < 0 ? err->code :
										  SBX_OK;
}

static void
is_default(const struct sbx_config *config, const char *who)
{
	is_int(config->deployment, SBX_DEPLOY_DEVELOPMENT, "%s: development", who);
	is_str(config->mechanism, "native", "%s: native", who);
	is_int(config->accept_shared_kernel, 0, "%s: the shared kernel is not accepted", who);
	is_str(config->state, NULL, "%s: no state directory", who);
	is_str(config->limits, NULL, "%s: no limits file", who);
	is_int(config->images.count, 0, "%s: no images", who);
	is_int(config->cgroup, SBX_REQUIRED, "%s: cgroups required", who);
	is_int(config->quota, SBX_QUOTA_MONITOR, "%s: nothing but a count", who);
	is_int(config->landlock, SBX_REQUIRED, "%s: Landlock required", who);
	is_str(config->cgroup_parent, "/sbx", "%s: parent group", who);
	is_int(config->uid_first, 1880000000, "%s: first uid", who);
	is_int(config->uid_count, 65536, "%s: count of uids", who);
	is_int(config->output_bytes, 65536, "%s: 64 KiB of output", who);
	is_int(config->tmp_bytes, 64 << 20, "%s: 64 MiB of /tmp", who);
	is_int(config->lease_ms, 3600000, "%s: an hour", who);
	is_int(config->pass_env.count, 0, "%s: no variables", who);
}

static void
test_defaults(void)
{
	struct sbx_config config;
	struct sbx_err err;

	is_int(read_text("", &config, &err), SBX_OK, "an empty file");
	is_default(&config, "empty");
	sbx_config_done(&config);
	sbx_config_done(&config);
	ok(1, "done twice is done");
}

/* The shipped files say what the program does without them. */
static void
test_shipped(void)
{
	SBX_AUTO_BUF text = SBX_BUF_INIT(SBX_YAML_TEXT_MAX);
	SBX_AUTO_BUF limits = SBX_BUF_INIT(SBX_YAML_TEXT_MAX);
	struct sbx_config config;
	struct sbx_profile builtin, read;
	struct sbx_err err = { .code = SBX_OK };
	const struct sbx_limits *b, *r;

	is_int(sbx_io_read_file(AT_FDCWD, "etc/sbx.yaml", &text, &err), 0,
		"etc/sbx.yaml is there: %s", err.msg);
	is_int(read_text(sbx_buf_str(&text), &config, &err), SBX_OK, "and valid: %s", err.msg);
	is_default(&config, "shipped");
	sbx_config_done(&config);
	is_int(sbx_io_read_file(AT_FDCWD, "etc/limits.yaml", &limits, &err), 0,
		"etc/limits.yaml too");
	sbx_profile_init(&builtin);
	memset(&read, 0xff, sizeof(read)); /* so that a field that the file leaves out shows */
	is_int(sbx_profile_read("limits.yaml", sbx_buf_str(&limits), limits.length, &read, &err), 0,
		"and valid: %s", err.msg);
	for (int i = 0; i < 2; i++) {
		b = i ? &builtin.maximum : &builtin.defaults;
		r = i ? &read.maximum : &read.defaults;
		is_int(r->cpu_milli, b->cpu_milli, "cpu %d", i);
		is_int(r->memory_bytes, b->memory_bytes, "memory %d", i);
		is_int(r->pids, b->pids, "pids %d", i);
		is_int(r->wall_ms, b->wall_ms, "wall_time %d", i);
		is_int(r->workspace_bytes, b->workspace_bytes, "workspace_bytes %d", i);
		is_int(r->workspace_inodes, b->workspace_inodes, "workspace_inodes %d", i);
		is_int(r->egress, b->egress, "egress %d", i);
		is_int(r->retention_ms, b->retention_ms, "artifact_retention %d", i);
		is_int(r->artifact_max_bytes, b->artifact_max_bytes, "artifact_max_size %d", i);
	}
}

static void
test_all_keys(void)
{
	struct sbx_config config;
	struct sbx_err err;

	is_int(read_text("deployment: production\nmechanism: gvisor\naccept_shared_kernel: true\n"
			 "state: /srv/sbx\nlimits: /etc/l.yaml\nimages:\n  python: " DIGEST "\n"
			 "cgroup: best-effort\ncgroup_parent: /a/b\nlandlock: best-effort\n"
			 "quota: tmpfs\n"
			 "uids: {first: 100000, count: 10}\noutput_bytes: 0\ntmp_bytes: 1GiB\n"
			 "lease: 5m\npass_env: [HTTP_PROXY, EDITOR]\n",
		       &config, &err),
		SBX_OK, "every key: %s", err.msg);
	is_int(config.deployment, SBX_DEPLOY_PRODUCTION, "deployment");
	is_str(config.mechanism, "gvisor", "mechanism");
	is_int(config.accept_shared_kernel, 1, "accept_shared_kernel");
	is_str(config.state, "/srv/sbx", "state");
	is_str(config.limits, "/etc/l.yaml", "limits");
	is_int(config.images.count, 1, "images");
	is_str(config.images.values[0], DIGEST, "a digest");
	is_int(config.cgroup, SBX_BEST_EFFORT, "cgroup");
	is_str(config.cgroup_parent, "/a/b", "cgroup_parent");
	is_int(config.landlock, SBX_BEST_EFFORT, "landlock");
	is_int(config.quota, SBX_QUOTA_TMPFS, "quota");
	is_int(config.uid_first, 100000, "uids.first");
	is_int(config.uid_count, 10, "uids.count");
	is_int(config.output_bytes, 0, "output_bytes may be 0");
	is_int(config.tmp_bytes, 1 << 30, "tmp_bytes");
	is_int(config.lease_ms, 300000, "lease");
	is_int(config.pass_env.count, 2, "pass_env");
	is_str(config.pass_env.items[1], "EDITOR", "in order");
	sbx_config_done(&config);
}

static void
test_refused(void)
{
	static const struct {
		const char *text, *message; /* the message begins so */
	} rows[] = {
		{ "a: 1\n", "sbx.yaml:1: " },
		{ "\ndeployment: prod\n", "sbx.yaml:2: " },
		{ "mechanism: chroot\n", "sbx.yaml:1: " },
		{ "quota: none\n", "sbx.yaml:1: " },
		{ "lease: 1h\nlease: 2h\n", "sbx.yaml:2: " },
		{ "lease: 0s\n", "sbx.yaml:1: " },
		{ "output_bytes: 262145\n", "sbx.yaml:1: " },
		{ "uids: {first: 1000}\n", "sbx.yaml:1: " },
		{ "lease: 1h\nstate: var/sbx\n",
			"sbx.yaml:2: state: \"var/sbx\" is not an absolute path without \".\", \"..\" and \"//\"" },
		{ "cgroup_parent: /a/../b\n",
			"sbx.yaml:1: cgroup_parent: \"/a/../b\" is not an absolute path" },
		{ "images: {python: 'python:3.12'}\n",
			"sbx.yaml:1: images: python: \"python:3.12\" is not sha256: and 64 hexadecimal digits" },
		{ "uids: {first: 4294967290, count: 100}\n",
			"sbx.yaml:1: uids: first and count reach beyond 4294967293" },
		{ "pass_env:\n- EDITOR\n- GITHUB_TOKEN\n",
			"sbx.yaml:3: pass_env: env: GITHUB_TOKEN looks like a credential" },
		{ "pass_env: [LD_PRELOAD]\n",
			"sbx.yaml:1: pass_env: env: LD_PRELOAD of the caller is for its own loader" },
		{ "pass_env: ['A B']\n", "sbx.yaml:1: pass_env: env: \"A B\" is not a name" },
	};
	struct sbx_config config;
	struct sbx_err err;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		is_int(read_text(rows[i].text, &config, &err), SBX_E_CONFIG, "refused: %s",
			err.msg);
		ok(strncmp(err.msg, rows[i].message, strlen(rows[i].message)) == 0, "begins: %s",
			rows[i].message);
		sbx_config_done(&config);
	}
}

int
main(void)
{
	test_defaults();
	test_shipped();
	test_all_keys();
	test_refused();
	return done();
}
