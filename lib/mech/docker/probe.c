/*
 * What docker and gvisor need of this host, each tried by doing it. What is made for that lasts no
 * longer than the look at it, but for the helper volume, which the next environment would make.
 */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/scoped.h"
#include "mech/docker/provision.h"

/* What `sbx-init describe` says, or nothing of it. */
struct description {
	char kernel[160];
	uint64_t gvisor, landlock;
};

static void
read_line(const char *line, size_t length, struct description *is)
{
	char text[200];

	snprintf(text, sizeof(text), "%.*s", (int)(length < sizeof(text) ? length : 0), line);
	if (strncmp(text, "kernel=", 7) == 0)
		snprintf(is->kernel, sizeof(is->kernel), "%.159s", text + 7);
	else if (strncmp(text, "gvisor=", 7) == 0 &&
		sbx_num_u64(text + 7, 0, 1, "gvisor", &is->gvisor, NULL) < 0)
		is->gvisor = 0;
	else if (strncmp(text, "landlock=", 9) == 0 &&
		sbx_num_u64(text + 9, 0, 1000, "landlock", &is->landlock, NULL) < 0)
		is->landlock = 0;
}

static int
describe(const struct sbx_docker *docker, const char *image, struct description *is,
	struct sbx_err *err)
{
	SBX_AUTO_DOCKER_ARGS args = { .count = 0 };
	SBX_AUTO_BUF out = SBX_BUF_INIT(4096);
	const char *line;

	*is = (struct description){ 0 };
	sbx_docker_args_add(&args, "%s", docker->engine);
	sbx_docker_args_add(&args, "run");
	sbx_docker_args_add(&args, "--rm");
	sbx_docker_args_add(&args, "--label=sbx.helper=run");
	sbx_docker_args_confine(docker, &args);
	sbx_docker_args_add(&args, "--entrypoint=" SBX_CHAN_INIT);
	sbx_docker_args_add(&args, "%s", image);
	sbx_docker_args_add(&args, "describe");
	if (sbx_docker_call(docker, &args, NULL, 0, &out, err) < 0)
		return -1;
	line = sbx_buf_str(&out);
	while (*line != '\0') {
		size_t length = strcspn(line, "\n");

		read_line(line, length, is);
		line += length + (line[length] == '\n');
	}
	return 0;
}

static int
report(struct sbx_probe *probe, const char *name, int rc, const char *seen, struct sbx_err *err)
{
	if (rc == 0)
		sbx_probe_add(probe, name, 1, 1, seen, "");
	else
		sbx_probe_add(probe, name, 0, 1, err->msg, err->hint);
	*err = (struct sbx_err){ 0 };
	return rc;
}

static int
probe_engine(const struct sbx_mech_host *host, const struct sbx_docker *docker,
	struct sbx_probe *probe)
{
	struct sbx_docker_engine engine;
	struct sbx_err err = { 0 };
	char seen[160];
	int rc = sbx_docker_engine_ask(docker, &engine, &err);

	if (rc != 0 && err.hint[0] == '\0')
		sbx_fail_hint(&err, "start the engine, or say where it listens (DOCKER_HOST)");
	snprintf(seen, sizeof(seen), "%.60s %s answers", docker->engine, engine.version);
	if (report(probe, "engine", rc, seen, &err) != 0)
		return -1;
	rc = sbx_docker_check_engine(host, docker, &engine, &err);
	snprintf(seen, sizeof(seen), "memory, swap, pids and cpu%s%.60s%s",
		docker->runtime != NULL ? "; runtime " : "",
		docker->runtime != NULL ? docker->runtime : "",
		docker->runtime == NULL || engine.host_network == 0 ? "" :
			engine.host_network > 0 ? " with the host's network stack" :
						  " with a network that it does not tell");
	return report(probe, docker->runtime != NULL ? "runtime and limits" : "limits", rc, seen,
		&err);
}

static void
probe_kernel(const struct sbx_mech_host *host, const struct sbx_docker *docker,
	struct sbx_probe *probe)
{
	char image[SBX_DOCKER_HELPER_SIZE], volume[SBX_DOCKER_HELPER_SIZE];
	struct sbx_chan_hello hello = { 0 };
	struct description is;
	struct sbx_err err = { 0 };
	const char *item = docker->runtime != NULL ? "gVisor serves system calls" :
						     "Landlock inside";
	int rc = sbx_docker_helper_names(host, image, volume, &err);

	if (rc == 0)
		rc = describe(docker, image, &is, &err);
	if (rc == 0) {
		hello.gvisor = (uint32_t)is.gvisor;
		hello.landlock_abi = (uint16_t)is.landlock;
		memcpy(hello.kernel, is.kernel, sizeof(hello.kernel));
		rc = sbx_docker_check_hello(host, docker, &hello, &err);
	}
	report(probe, item, rc, rc == 0 ? is.kernel : "", &err);
}

void
sbx_docker_probe(const struct sbx_mech_host *host, const char *mechanism, struct sbx_probe *probe)
{
	char volume[SBX_DOCKER_HELPER_SIZE];
	struct sbx_docker docker;
	struct sbx_err err = { 0 };

	sbx_docker_of(host, mechanism, &docker);
	docker.quiet = 1;
	if (probe_engine(host, &docker, probe) != 0 ||
		report(probe, "helper volume",
			sbx_docker_helper_ensure(host, &docker, volume, &err),
			"it holds our sbx-init", &err) != 0)
		return;
	probe_kernel(host, &docker, probe);
}
