/*
 * What docker and gvisor can do and whether this engine does it. Facts come in as structs; what is
 * not proved is refused where it is required, and never named in `enforced`.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "kernel/landlock.h"
#include "mech/docker/provision.h"

#define MEMORY_LEAST ((uint64_t)6 * 1024 * 1024) /* docker's own */
#define LANDLOCK_LEAST 2

int
sbx_docker_check_spec(const char *mechanism, const struct sbx_spec *spec, struct sbx_err *err)
{
	if (spec->image == NULL) {
		sbx_fail(err, SBX_E_BAD_REQUEST, "mechanism %s needs an image", mechanism);
		return sbx_fail_hint(err, "sbx-provision --resolve REF prints the digest of one");
	}
	if (spec->limits.egress != SBX_EGRESS_NONE)
		return sbx_fail(err, SBX_E_UNAVAILABLE,
			"egress %s is not part of this version: only none is",
			sbx_egress_names[spec->limits.egress]);
	if (spec->proc_view == SBX_PROC_PID)
		return sbx_fail(err, SBX_E_BAD_REQUEST,
			"mechanism %s has its engine's view of /proc, so not pid", mechanism);
	if (spec->limits.memory_bytes < MEMORY_LEAST)
		return sbx_fail(err, SBX_E_BAD_REQUEST,
			"mechanism %s needs a memory of at least 6MiB, not %" PRIu64 " bytes",
			mechanism, spec->limits.memory_bytes);
	return 0;
}

static int
check_limits(const struct sbx_mech_host *host, const struct sbx_docker_engine *engine,
	struct sbx_err *err)
{
	const char *missing = !engine->memory ? "memory" :
		!engine->swap		      ? "swap" :
		!engine->pids		      ? "pids" :
		!engine->cpu		      ? "cpu" :
						NULL;

	if (missing == NULL || host->config->cgroup == SBX_BEST_EFFORT)
		return 0;
	sbx_fail(err, SBX_E_UNAVAILABLE, "the engine cannot limit %s", missing);
	return sbx_fail_hint(err,
		"give it the control group controllers, or configure `cgroup: best-effort`");
}

static int
check_network(const struct sbx_mech_host *host, const struct sbx_docker *docker,
	const struct sbx_docker_engine *engine, struct sbx_err *err)
{
	if (engine->host_network == 0 || host->config->deployment != SBX_DEPLOY_PRODUCTION ||
		host->config->gvisor_network == SBX_GVISOR_HOST)
		return 0;
	sbx_fail(err, SBX_E_DENIED,
		"runtime %s passes system calls on sockets to the host's kernel%s", docker->runtime,
		engine->host_network < 0 ? ", or may" : "");
	return sbx_fail_hint(err,
		"take --network=host out of its runtimeArgs, or set gvisor: {network: host}");
}

int
sbx_docker_check_engine(const struct sbx_mech_host *host, const struct sbx_docker *docker,
	const struct sbx_docker_engine *engine, struct sbx_err *err)
{
	if (!engine->knows_runtime) {
		sbx_fail(err, SBX_E_UNAVAILABLE, "the engine does not know the runtime %.64s",
			docker->runtime);
		return sbx_fail_hint(err,
			"install runsc and name it under `runtimes` in the engine's daemon.json");
	}
	if (docker->runtime != NULL && check_network(host, docker, engine, err) < 0)
		return -1;
	return check_limits(host, engine, err);
}

/* The host's own /proc/version inside would mean that its kernel serves the system calls. */
static int
is_hosts_kernel(const char *kernel)
{
	char ours[sizeof(((struct sbx_chan_hello *)0)->kernel)];

	return sbx_io_read_attr(AT_FDCWD, "/proc/version", ours, sizeof(ours)) < 0 ||
		strncmp(ours, kernel, sizeof(ours) - 1) == 0;
}

int
sbx_docker_check_hello(const struct sbx_mech_host *host, const struct sbx_docker *docker,
	const struct sbx_chan_hello *hello, struct sbx_err *err)
{
	if (docker->runtime != NULL && (!hello->gvisor || is_hosts_kernel(hello->kernel))) {
		sbx_fail(err, SBX_E_UNAVAILABLE, "runtime %.64s is not gVisor", docker->runtime);
		return sbx_fail_hint(err, "set gvisor: {runtime: NAME} in sbx.yaml to one that is");
	}
	/* gVisor's kernel has no Landlock and is the layer itself. */
	if (hello->gvisor || hello->landlock_abi >= LANDLOCK_LEAST ||
		host->config->landlock == SBX_BEST_EFFORT)
		return 0;
	sbx_fail(err, SBX_E_UNAVAILABLE, "no Landlock inside the container");
	return sbx_fail_hint(err,
		"use a kernel and an engine that have it, or configure "
		"`landlock: best-effort`");
}

void
sbx_docker_note_layers(const struct sbx_docker *docker, const struct sbx_spec *spec,
	const struct sbx_docker_engine *engine, const struct sbx_chan_hello *hello,
	struct sbx_env_record *record)
{
	char text[sizeof(record->enforced[0])];
	static const char *const always[] = { "container:docker", "no_new_privs", "no_capabilities",
		"readonly_root", "network:none", "rlimits", "uid:1000" };
	record->enforced_count = 0;
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		sbx_mech_enforced(record, always[i]);
	sbx_mech_enforced(record, spec->debug ? "seccomp:debug" : "seccomp:strict");
	if (hello->landlock_abi >= LANDLOCK_LEAST)
		sbx_mech_enforced(record, sbx_landlock_name_of(hello->landlock_abi));
	sbx_mech_enforced(record, "workspace:monitor");
	if (engine->memory && engine->swap)
		sbx_mech_enforced(record, "memory:engine");
	if (engine->pids)
		sbx_mech_enforced(record, hello->gvisor ? "pids:watched" : "pids:engine");
	if (engine->cpu)
		sbx_mech_enforced(record, "cpu:engine");
	if (hello->gvisor)
		sbx_mech_enforced(record, "gvisor");
	if (docker->runtime == NULL)
		return;
	snprintf(text, sizeof(text), "runtime:%.23s", docker->runtime);
	sbx_mech_enforced(record, text);
	if (engine->host_network != 0)
		sbx_mech_enforced(record,
			engine->host_network > 0 ? "gvisor:network=host" :
						   "gvisor:network=unknown");
}
