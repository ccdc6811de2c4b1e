/*
 * How each call of the engine is spelt: pure text from plain structs. An argument never names a
 * path of the host, nothing that a stranger chose begins an argument, and every limit is said,
 * whatever the engine's defaults are. docker and podman both take what is written here.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "mech/channel.h"
#include "mech/docker/docker.h"

/* Of the engine's processes and ours in the container's group: pid 1, attach, exec's own. */
#define PIDS_ROOM 16
/*
 * gVisor on ptrace makes a host task for each task inside and each of its own threads that served
 * it, and the whole sandbox dies at the limit: it is a fence against the host being filled, and how
 * many tasks there are inside is seen to by attach.
 */
#define GVISOR_TASKS 16
#define GVISOR_ROOM 4096
#define PERIOD_US 100000

void
sbx_docker_args_add(struct sbx_docker_args *args, const char *format, ...)
{
	va_list ap, again;
	char *text;
	int length;

	assert(args->count + 1 < SBX_DOCKER_ARGS_MAX);
	va_start(ap, format);
	va_copy(again, ap);
	length = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	assert(length >= 0);
	text = sbx_mem_alloc((size_t)length + 1, 1);
	vsnprintf(text, (size_t)length + 1, format, again);
	va_end(again);
	args->args[args->count++] = text;
}

void
sbx_docker_args_done(struct sbx_docker_args *args)
{
	for (size_t i = 0; i < args->count; i++)
		free(args->args[i]);
	*args = (struct sbx_docker_args){ .count = 0 };
}

/* Fixed words, after the engine's name where there are none yet. */
static void
add_words(const struct sbx_docker *docker, struct sbx_docker_args *args, const char *const *words)
{
	if (args->count == 0)
		sbx_docker_args_add(args, "%s", docker->engine);
	for (; *words != NULL; words++)
		sbx_docker_args_add(args, "%s", *words);
}
#define ADD(docker, args, ...) add_words(docker, args, (const char *const[]){ __VA_ARGS__, NULL })

static void
add_labels(const struct sbx_docker_want *want, struct sbx_docker_args *args)
{
	const struct sbx_env_record *record = want->record;

	sbx_docker_args_add(args, "--label=sbx.env=%s", record->id);
	sbx_docker_args_add(args, "--label=sbx.state=%s", want->names->state);
	sbx_docker_args_add(args, "--label=sbx.tenant=%s", record->tenant);
	sbx_docker_args_add(args, "--label=sbx.run=%s", record->run);
	sbx_docker_args_add(args, "--label=sbx.epoch=%" PRId64, record->epoch);
}

void
sbx_docker_args_volume(const struct sbx_docker_want *want, struct sbx_docker_args *args)
{
	ADD(want->docker, args, "volume", "create");
	add_labels(want, args);
	sbx_docker_args_add(args, "%s", want->names->volume);
}

void
sbx_docker_args_confine(const struct sbx_docker *docker, struct sbx_docker_args *args)
{
	static const char *const caps[] = { "SETUID", "SETGID", "SETPCAP", "KILL", "CHOWN",
		"FOWNER", "DAC_READ_SEARCH" };

	if (docker->runtime != NULL)
		sbx_docker_args_add(args, "--runtime=%s", docker->runtime);
	ADD(docker, args, "--pull=never", "--network=none", "--read-only", "--cap-drop=ALL");
	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++)
		sbx_docker_args_add(args, "--cap-add=%s", caps[i]);
	ADD(docker, args, "--security-opt=no-new-privileges", "--user=0:0", "--ipc=private",
		"--cgroupns=private", "--hostname=sbx", "--workdir=/", "--log-driver=none",
		"--restart=no", "--init=false", "--no-healthcheck", "--stop-signal=KILL");
	/* Its socket and nothing else; commands cannot look into it. */
	ADD(docker, args, "--tmpfs=" SBX_CHAN_RUN ":rw,nosuid,nodev,noexec,size=64k,mode=0700");
}

/*
 * The quota of a period, since --cpus is refused where it is more than the machine has. Full, /tmp
 * and /dev/shm leave half of the memory to programs.
 */
static void
add_limits(const struct sbx_docker *docker, const struct sbx_env_record *record,
	struct sbx_docker_args *args)
{
	const struct sbx_limits *limits = &record->limits;
	uint64_t tmp = limits->memory_bytes / 4;

	if (tmp > record->tmp_bytes)
		tmp = record->tmp_bytes;
	sbx_docker_args_add(args, "--memory=%" PRIu64, limits->memory_bytes);
	sbx_docker_args_add(args, "--memory-swap=%" PRIu64, limits->memory_bytes);
	sbx_docker_args_add(args, "--cpu-period=%d", PERIOD_US);
	sbx_docker_args_add(args, "--cpu-quota=%" PRIu64, limits->cpu_milli * (PERIOD_US / 1000));
	sbx_docker_args_add(args, "--pids-limit=%" PRIu64,
		docker->runtime != NULL ? limits->pids * GVISOR_TASKS + GVISOR_ROOM :
					  limits->pids + PIDS_ROOM);
	sbx_docker_args_add(args, "--shm-size=%" PRIu64, tmp);
	sbx_docker_args_add(args, "--tmpfs=/tmp:rw,nosuid,nodev,exec,size=%" PRIu64 ",mode=1777",
		tmp);
}

/* What the image has at these places stays there: a workspace begins empty. */
void
sbx_docker_args_create(const struct sbx_docker_want *want, struct sbx_docker_args *args)
{
	ADD(want->docker, args, "create");
	sbx_docker_args_add(args, "--name=%s", want->names->container);
	add_labels(want, args);
	sbx_docker_args_confine(want->docker, args);
	add_limits(want->docker, want->record, args);
	sbx_docker_args_add(args, "--volume=%s:" SBX_CHAN_WORKSPACE ":nocopy", want->names->volume);
	sbx_docker_args_add(args, "--volume=%s:" SBX_CHAN_DIR ":ro,nocopy", want->helper_volume);
	ADD(want->docker, args, "--entrypoint=" SBX_CHAN_INIT);
	sbx_docker_args_add(args, "%s", want->record->image);
	ADD(want->docker, args, "serve");
	if (want->spec->debug)
		ADD(want->docker, args, "--debug");
	if (want->docker->runtime != NULL) {
		ADD(want->docker, args, "--pids");
		sbx_docker_args_add(args, "%" PRIu64, want->record->limits.pids + PIDS_ROOM);
	}
}

void
sbx_docker_args_start(const struct sbx_docker *docker, const char *container,
	struct sbx_docker_args *args)
{
	ADD(docker, args, "start", container);
}

void
sbx_docker_args_restart(const struct sbx_docker *docker, const char *container,
	struct sbx_docker_args *args)
{
	ADD(docker, args, "restart", "-t", "0", container);
}

void
sbx_docker_args_pause(const struct sbx_docker *docker, const char *container, int paused,
	struct sbx_docker_args *args)
{
	ADD(docker, args, paused ? "pause" : "unpause", container);
}

void
sbx_docker_args_remove(const struct sbx_docker *docker, const char *container,
	struct sbx_docker_args *args)
{
	ADD(docker, args, "rm", "--force", "--volumes", container);
}

void
sbx_docker_args_remove_volume(const struct sbx_docker *docker, const char *volume,
	struct sbx_docker_args *args)
{
	ADD(docker, args, "volume", "rm", "--force", volume);
}

void
sbx_docker_args_attach(const struct sbx_docker *docker, const char *container,
	struct sbx_docker_args *args)
{
	ADD(docker, args, "exec", "--interactive", container, SBX_CHAN_INIT, "attach");
}

void
sbx_docker_args_state(const struct sbx_docker *docker, const char *container,
	struct sbx_docker_args *args)
{
	ADD(docker, args, "inspect", "--type=container",
		"--format={{.State.Running}} {{.State.OOMKilled}} {{.State.StartedAt}}", container);
}

void
sbx_docker_args_list(const struct sbx_docker *docker, const char *state_tag,
	struct sbx_docker_args *args)
{
	ADD(docker, args, "ps", "--all");
	sbx_docker_args_add(args, "--filter=label=sbx.state=%s", state_tag);
	ADD(docker, args, "--format={{.Names}} {{.State}}");
}
