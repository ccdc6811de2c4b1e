/*
 * Mechanisms docker and gvisor: one implementation, two names. The order in which an environment is
 * made and its end, each step one call of the engine. Every object's name follows from the id, so
 * that destroy() finds all of it without a record; what was proved inside, and nothing else, is
 * `enforced`.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "mech/channel.h"
#include "mech/docker/docker.h"
#include "mech/docker/provision.h"
#include "mech/tool.h"

#define GVISOR "gvisor"

void
sbx_docker_of(const struct sbx_mech_host *host, const char *mechanism, struct sbx_docker *docker)
{
	const struct sbx_config *config = host->config;

	*docker = (struct sbx_docker){ .engine = config->engine,
		.runtime = strcmp(mechanism, GVISOR) == 0 ? config->gvisor_runtime : NULL,
		.timeout_ms = (int64_t)config->engine_timeout_ms,
		.lock_fd = -1 };
}

/* ---- making */

/* One call that is only made. */
typedef void spell_fn(const struct sbx_docker_want *want, struct sbx_docker_args *args);

static void
spell_start(const struct sbx_docker_want *want, struct sbx_docker_args *args)
{
	sbx_docker_args_start(want->docker, want->names->container, args);
}

static int
call(const struct sbx_docker_want *want, spell_fn *spell, struct sbx_err *err)
{
	SBX_AUTO_DOCKER_ARGS args = { .count = 0 };

	spell(want, &args);
	return sbx_docker_call(want->docker, &args, NULL, 0, NULL, err);
}

/* Said before anything is made: without it destroy() has nothing to ask the engine for. */
static int
record_begin(const struct sbx_env *env, struct sbx_env_record *record, struct sbx_err *err)
{
	record->uid = record->gid = SBX_CHAN_UID;
	return sbx_env_write(env, record, err);
}

/* What pid 1 says when a session is opened, kept beyond it. */
static int
hear_hello(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record, struct sbx_chan_hello *hello, struct sbx_err *err)
{
	struct sbx_session *session;

	if (sbx_docker_open(host, env, record, &session, err) != 0)
		return -1;
	*hello = *sbx_docker_hello(session);
	sbx_docker_close(session);
	return 0;
}

static int
provision(const struct sbx_mech_host *host, const struct sbx_env *env, const struct sbx_spec *spec,
	struct sbx_env_record *record, struct sbx_mech_birth **birth, struct sbx_err *err)
{
	char helper_volume[SBX_DOCKER_HELPER_SIZE];
	struct sbx_docker docker;
	struct sbx_docker_engine engine;
	struct sbx_docker_names names;
	struct sbx_docker_want want = { .docker = &docker,
		.names = &names,
		.spec = spec,
		.record = record,
		.helper_volume = helper_volume };
	struct sbx_chan_hello hello;

	*birth = NULL; /* nothing of it is ours: it lives and ends by the engine */
	sbx_docker_of(host, record->mechanism, &docker);
	docker.lock_fd = env->lock_fd;
	docker.stop = sbx_tool_deferred;
	sbx_docker_names(host, record->id, &names);
	if (sbx_docker_check_spec(record->mechanism, spec, err) < 0 ||
		sbx_docker_engine_ask(&docker, &engine, err) < 0 ||
		sbx_docker_check_engine(host, &docker, &engine, err) < 0 ||
		sbx_docker_image_check(&docker, record->image, err) < 0 ||
		sbx_docker_helper_ensure(host, &docker, helper_volume, err) < 0 ||
		record_begin(env, record, err) < 0 ||
		call(&want, sbx_docker_args_volume, err) < 0 ||
		call(&want, sbx_docker_args_create, err) < 0 || call(&want, spell_start, err) < 0 ||
		hear_hello(host, env, record, &hello, err) < 0 ||
		sbx_docker_check_hello(host, &docker, &hello, err) < 0)
		return -1;
	sbx_docker_note_layers(&docker, spec, &engine, &hello, record);
	return 0;
}

static int
dry_run(const struct sbx_mech_host *host, const struct sbx_spec *spec,
	const struct sbx_env_record *record, sbx_mech_call_fn *tell, void *arg, struct sbx_err *err)
{
	static spell_fn *const making[] = { sbx_docker_args_volume, sbx_docker_args_create,
		spell_start };
	char image[SBX_DOCKER_HELPER_SIZE], volume[SBX_DOCKER_HELPER_SIZE];
	struct sbx_docker docker;
	struct sbx_docker_names names;
	struct sbx_docker_want want = { .docker = &docker,
		.names = &names,
		.spec = spec,
		.record = record,
		.helper_volume = volume };
	struct sbx_docker_args calls[7] = { 0 };

	sbx_docker_of(host, record->mechanism, &docker);
	sbx_docker_names(host, record->id, &names);
	if (sbx_docker_check_spec(record->mechanism, spec, err) < 0 ||
		sbx_docker_helper_names(host, image, volume, err) < 0)
		return -1;
	sbx_docker_args_info(&docker, &calls[0]);
	sbx_docker_args_image(&docker, record->image, &calls[1]);
	sbx_docker_args_stamp(&docker, volume, &calls[2]);
	for (size_t i = 0; i < 3; i++)
		making[i](&want, &calls[3 + i]);
	sbx_docker_args_attach(&docker, names.container, &calls[6]);
	for (size_t i = 0; i < 7; i++) {
		tell(arg, calls[i].args);
		sbx_docker_args_done(&calls[i]);
	}
	return 0;
}

static int
keep(struct sbx_mech_birth *birth, struct sbx_err *err)
{
	(void)birth;
	(void)err;
	return 0;
}

static void
drop(struct sbx_mech_birth *birth)
{
	(void)birth;
}

/* ---- its end */

typedef void remove_fn(const struct sbx_docker *docker, const char *name,
	struct sbx_docker_args *args);

static int
remove_object(const struct sbx_docker *docker, remove_fn *spell, const char *name,
	struct sbx_err *err)
{
	SBX_AUTO_DOCKER_ARGS args = { .count = 0 };
	struct sbx_err why = { 0 };

	spell(docker, name, &args);
	if (sbx_docker_call(docker, &args, NULL, 0, NULL, &why) == 0 || why.code == SBX_E_NOT_FOUND)
		return 0;
	if (err != NULL)
		*err = why;
	return -1;
}

/* A record without a mechanism is a damaged one, and tells nothing. Signals do not hurry this. */
static int
destroy(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record, struct sbx_err *err)
{
	struct sbx_docker docker;
	struct sbx_docker_names names;
	struct sbx_err later = { 0 };
	int rc;

	if (record->mechanism[0] != '\0' && record->uid < 0)
		return 0;
	sbx_docker_of(host, record->mechanism, &docker);
	docker.lock_fd = env->lock_fd;
	sbx_docker_names(host, record->id, &names);
	sbx_docker_strike(&docker, names.container);
	rc = remove_object(&docker, sbx_docker_args_remove, names.container, err);
	if (remove_object(&docker, sbx_docker_args_remove_volume, names.volume,
		    rc == 0 ? err : &later) != 0)
		rc = -1;
	return rc;
}

/* ---- lists */

/* "<name> <state>" lines of this state's containers, asked once in a process's life. */
static const char *
containers(const struct sbx_mech_host *host)
{
	static struct sbx_buf list = SBX_BUF_INIT((size_t)16 * 1024 * 1024);
	static int asked;
	SBX_AUTO_DOCKER_ARGS args = { .count = 0 };
	struct sbx_docker docker;
	struct sbx_err why = { 0 };

	if (asked)
		return sbx_buf_str(&list);
	asked = 1;
	sbx_docker_of(host, "docker", &docker);
	sbx_docker_args_list(&docker, host->state->tag, &args);
	sbx_buf_add_char(&list, '\n');
	if (sbx_docker_call(&docker, &args, NULL, 0, &list, &why) != 0)
		sbx_log(SBX_LOG_WARN, "containers count as not alive: %s", why.msg);
	return sbx_buf_str(&list);
}

static int
alive(const struct sbx_mech_host *host, const struct sbx_env_record *record)
{
	struct sbx_docker_names names;
	char line[96], paused[96];

	sbx_docker_names(host, record->id, &names);
	snprintf(line, sizeof(line), "\n%s running", names.container);
	snprintf(paused, sizeof(paused), "\n%s paused", names.container);
	return strstr(containers(host), line) != NULL || strstr(containers(host), paused) != NULL;
}

static int
answers(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record)
{
	SBX_AUTO_DOCKER_ARGS args = { .count = 0 };
	struct sbx_docker_names names;
	struct sbx_chan_hello hello;
	struct sbx_docker docker;
	struct sbx_err why = { 0 };

	sbx_docker_of(host, record->mechanism, &docker);
	if (hear_hello(host, env, record, &hello, &why) == 0)
		return sbx_docker_check_hello(host, &docker, &hello, &why) == 0;
	/* Dead only by an engine's word: its workspace is at stake. */
	sbx_docker_names(host, record->id, &names);
	sbx_docker_args_state(&docker, names.container, &args);
	why = (struct sbx_err){ 0 };
	if (sbx_docker_call(&docker, &args, NULL, 0, NULL, &why) == 0 ||
		why.code == SBX_E_NOT_FOUND)
		return 0;
	return -1;
}

static int
totals(const struct sbx_mech_host *host, const struct sbx_env_record *record,
	uint64_t *memory_bytes, uint64_t *pids)
{
	(void)host;
	(void)record;
	*memory_bytes = *pids = 0;
	return 0;
}

static void
probe_docker(const struct sbx_mech_host *host, struct sbx_probe *probe)
{
	sbx_docker_probe(host, "docker", probe);
}

static void
probe_gvisor(const struct sbx_mech_host *host, struct sbx_probe *probe)
{
	sbx_docker_probe(host, GVISOR, probe);
}

#define MECHANISM(its_name, its_probe)                                                             \
	{                                                                                          \
		.name = (its_name), .own_workspace = 1, .carries_output = 1, .probe = (its_probe), \
		.dry_run = dry_run, .resolve = sbx_docker_resolve, .provision = provision,         \
		.keep = keep, .drop = drop, .destroy = destroy, .alive = alive,                    \
		.answers = answers, .totals = totals, .open = sbx_docker_open,                     \
		.close = sbx_docker_close, .fd = sbx_docker_fd, .start = sbx_docker_start,         \
		.files = sbx_docker_files, .next = sbx_docker_next,                                \
		.background = sbx_docker_background, .end_background = sbx_docker_end_background,  \
		.resize = sbx_docker_resize, .signal = sbx_docker_signal, .kill = sbx_docker_kill, \
		.finish = sbx_docker_finish                                                        \
	}

const struct sbx_mech sbx_mech_docker = MECHANISM("docker", probe_docker);
const struct sbx_mech sbx_mech_gvisor = MECHANISM(GVISOR, probe_gvisor);
