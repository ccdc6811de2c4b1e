/*
 * The adapter that owns every subprocess of a container engine: mechanisms docker and gvisor. The
 * engine is a command line (docker, podman, or a path); no argument of it ever names a path of the
 * host, an image is a digest, the workspace is a named volume. cli.c runs the commands, args.c
 * spells them, engine.c reads what the engine says of itself, helper.c and helper_image.c bring
 * sbx-init into any image, docker.c is the order of an environment's life, session.c and frames.c
 * the channel to commands inside.
 */
#ifndef SBX_MECH_DOCKER_DOCKER_H
#define SBX_MECH_DOCKER_DOCKER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "mech/mech.h"

#define SBX_DOCKER_ARGS_MAX 96

/* A command line that is spelt out: args[0] is the engine, NULL at the end; the texts are owned. */
struct sbx_docker_args {
	char *args[SBX_DOCKER_ARGS_MAX];
	size_t count;
};
void sbx_docker_args_add(struct sbx_docker_args *args, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void sbx_docker_args_done(struct sbx_docker_args *args);
#define SBX_AUTO_DOCKER_ARGS __attribute__((cleanup(sbx_docker_args_done))) struct sbx_docker_args

/* ---- names.c: what an environment's objects are called, from its id and the state's tag alone */
struct sbx_docker_names {
	char container[64], volume[64]; /* "sbx-<tag>-<id>" both */
	char state[16]; /* the tag: label sbx.state */
};
void sbx_docker_names(const struct sbx_mech_host *host, const char *id,
	struct sbx_docker_names *names);

/* ---- cli.c: one call of the engine */
struct sbx_docker {
	const char *engine; /* config: engine */
	const char *runtime; /* NULL: the engine's own; gvisor: config gvisor.runtime */
	int64_t timeout_ms; /* of a control-plane call: config engine_timeout, 60 s */
	int lock_fd; /* the environment's lock, which a call in flight keeps though we die; -1 */
	int quiet; /* what it complains of is no news: for --verbose alone */
	int (*stop)(void); /* asked during a call: 1 ends it, SBX_E_CANCELLED; NULL: nobody asks */
};
/*
 * Run it to its end. stdout goes to `out` (may be NULL), without its last newline. A failure is
 * normalised: SBX_E_UNAVAILABLE (no such program, engine not reachable, runtime not known or
 * failing), SBX_E_NOT_FOUND (no such image, container, volume), SBX_E_CONFLICT (name in use),
 * SBX_E_BUSY (in use), SBX_E_DENIED, SBX_E_QUOTA (no space left), SBX_E_TIMEOUT, SBX_E_CANCELLED,
 * else SBX_E_INTERNAL; its raw text goes to the log, never into the message: as a warning, where
 * something is only not there as debug.
 */
int sbx_docker_call(const struct sbx_docker *docker, const struct sbx_docker_args *args,
	const char *input, size_t input_bytes, struct sbx_buf *out, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* The code of an engine's complaint; pure. */
enum sbx_code sbx_docker_code(const char *said);

/* ---- args.c: how each call is spelt; pure */
struct sbx_docker_want {
	const struct sbx_docker *docker;
	const struct sbx_docker_names *names;
	const struct sbx_spec *spec;
	const struct sbx_env_record *record; /* limits, tmp_bytes, image */
	const char *helper_volume;
};
void sbx_docker_args_volume(const struct sbx_docker_want *want, struct sbx_docker_args *args);
void sbx_docker_args_create(const struct sbx_docker_want *want, struct sbx_docker_args *args);
/* What every container of ours is confined by, also the short ones of the helper and the probe. */
void sbx_docker_args_confine(const struct sbx_docker *docker, struct sbx_docker_args *args);
void sbx_docker_args_start(const struct sbx_docker *docker, const char *container,
	struct sbx_docker_args *args);
void sbx_docker_args_restart(const struct sbx_docker *docker, const char *container,
	struct sbx_docker_args *args); /* stops it at once, starts the same one */
void sbx_docker_args_pause(const struct sbx_docker *docker, const char *container, int paused,
	struct sbx_docker_args *args); /* or resume it */
void sbx_docker_args_remove(const struct sbx_docker *docker, const char *container,
	struct sbx_docker_args *args); /* running or not */
void sbx_docker_args_remove_volume(const struct sbx_docker *docker, const char *volume,
	struct sbx_docker_args *args);
/* `exec -i` of SBX_CHAN_INIT attach: the channel of mech/channel.h on its stdin and stdout */
void sbx_docker_args_attach(const struct sbx_docker *docker, const char *container,
	struct sbx_docker_args *args);
/* "<name> <state>" lines of all containers of a state */
void sbx_docker_args_list(const struct sbx_docker *docker, const char *state_tag,
	struct sbx_docker_args *args);
/* One line: running (true or false), OOMKilled (true or false), StartedAt, a blank between. */
void sbx_docker_args_state(const struct sbx_docker *docker, const char *container,
	struct sbx_docker_args *args);

/* ---- strike.c: what an engine takes minutes for */
/* One line: the pid of its first process, 0 if it does not run, and its id. */
void sbx_docker_args_process(const struct sbx_docker *docker, const char *container,
	struct sbx_docker_args *args);
/* End a gVisor container by its process: 1 when the engine knows that it has stopped, 0 where that
 * is not ours to do or did not work, which the engine's own way then has to. */
int sbx_docker_strike(const struct sbx_docker *docker, const char *container);

/* ---- helper.c: sbx-init in a named volume of the engine, made once and verified by digest */
#define SBX_DOCKER_HELPER_SIZE 64
/* Names from the digest of the image made of libexec/sbx-init: image "sbx-helper:<16 hex>", volume
 * "sbx-helper-<16 hex>". */
int sbx_docker_helper_names(const struct sbx_mech_host *host, char image[SBX_DOCKER_HELPER_SIZE],
	char volume[SBX_DOCKER_HELPER_SIZE], struct sbx_err *err)
	__attribute__((warn_unused_result));
/* The volume holds exactly our sbx-init; it is made if missing. SBX_E_CORRUPT if it cannot be. */
int sbx_docker_helper_ensure(const struct sbx_mech_host *host, const struct sbx_docker *docker,
	char volume[SBX_DOCKER_HELPER_SIZE], struct sbx_err *err)
	__attribute__((warn_unused_result));

/* helper_image.c: our sbx-init, and the image made of it. */
struct sbx_docker_helper {
	struct sbx_buf binary, tar; /* the second is the image, which holds the first */
	char image[SBX_DOCKER_HELPER_SIZE], volume[SBX_DOCKER_HELPER_SIZE];
};
int sbx_docker_helper_read(const struct sbx_mech_host *host, struct sbx_docker_helper *helper,
	struct sbx_err *err) __attribute__((warn_unused_result)); /* done() in any case */
void sbx_docker_helper_done(struct sbx_docker_helper *helper);
/* The image is there: imported unless the engine has one of that name. */
int sbx_docker_helper_image(const struct sbx_docker *docker, const struct sbx_docker_helper *helper,
	struct sbx_err *err) __attribute__((warn_unused_result));
/* One line that tells this volume from a later one of the same name. */
void sbx_docker_args_stamp(const struct sbx_docker *docker, const char *volume,
	struct sbx_docker_args *args);

/* ---- engine.c: what the engine says of itself and of images */
struct sbx_docker_engine {
	int memory, swap, pids, cpu; /* it can limit them */
	int knows_runtime; /* of struct sbx_docker; 1 where it does not list them (podman) */
	int host_network; /* the runtime is told to pass system calls on sockets through; -1: not said */
	char version[64];
};
int sbx_docker_engine_ask(const struct sbx_docker *docker, struct sbx_docker_engine *engine,
	struct sbx_err *err) __attribute__((warn_unused_result));
void sbx_docker_args_info(const struct sbx_docker *docker, struct sbx_docker_args *args);
/* Pure: the text of `info --format {{json .}}`, of docker or podman. */
int sbx_docker_engine_read(const char *text, size_t length, const char *runtime,
	struct sbx_docker_engine *engine, struct sbx_err *err) __attribute__((warn_unused_result));
/* The image is there and declares no volume, which would be writable and without a bound. */
int sbx_docker_image_check(const struct sbx_docker *docker, const char *image, struct sbx_err *err)
	__attribute__((warn_unused_result));
void sbx_docker_args_image(const struct sbx_docker *docker, const char *image,
	struct sbx_docker_args *args);
/* mech->resolve */
int sbx_docker_resolve(const struct sbx_mech_host *host, const char *reference,
	char digest[SBX_MECH_DIGEST_SIZE], struct sbx_err *err);

/* ---- docker.c */
/* The engine as this configuration and mechanism (docker or gvisor) have it; borrows the config. */
void sbx_docker_of(const struct sbx_mech_host *host, const char *mechanism,
	struct sbx_docker *docker);

/* ---- session.c: mech->open, close, fd, start, next, kill, finish */
struct sbx_chan_hello;
int sbx_docker_open(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record, struct sbx_session **session, struct sbx_err *err);
/* What pid 1 said when the session was opened; borrowed. */
const struct sbx_chan_hello *sbx_docker_hello(const struct sbx_session *session);
void sbx_docker_close(struct sbx_session *session);
int sbx_docker_fd(const struct sbx_session *session);
int sbx_docker_start(struct sbx_session *session, const struct sbx_mech_command *command,
	uint32_t *id, struct sbx_err *err);
int sbx_docker_files(struct sbx_session *session, const struct sbx_mech_files *files, uint32_t *id,
	struct sbx_err *err);
int sbx_docker_next(struct sbx_session *session, struct sbx_mech_event *event);
int sbx_docker_background(struct sbx_session *session,
	struct sbx_mech_background list[SBX_MECH_BACKGROUND_MAX], struct sbx_err *err);
int sbx_docker_end_background(struct sbx_session *session, int number, struct sbx_err *err);
int sbx_docker_resize(struct sbx_session *session, uint32_t id, const struct sbx_mech_tty *tty,
	struct sbx_err *err);
int sbx_docker_signal(struct sbx_session *session, uint32_t id, int signo, struct sbx_err *err);
int sbx_docker_kill(struct sbx_session *session, uint32_t id, int *restarted, struct sbx_err *err);
int sbx_docker_finish(struct sbx_session *session, uint32_t id, struct sbx_mech_usage *usage,
	struct sbx_err *err);

#endif
