/*
 * The inside of a session with a container: link.c (the engine's exec and the channel on it),
 * restart.c (the container stopped and started again), session.c (open, close, events),
 * session_start.c, session_serve.c (what arrives), session_pulse.c (whether anything does),
 * session_streams.c (bytes), session_end.c (kill, finish, loss).
 */
#ifndef SBX_MECH_DOCKER_SESSION_H
#define SBX_MECH_DOCKER_SESSION_H

#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "mech/channel.h"
#include "mech/docker/docker.h"
#include "mech/docker/frames.h"

/* ---- restart.c */
#define SBX_RESTARTS_UNKNOWN UINT64_MAX
struct sbx_restart {
	int dir_fd; /* of the environment; borrowed */
	const struct sbx_docker *docker; /* borrowed, as is container */
	const char *container;
};
enum sbx_restart_found {
	SBX_RESTART_RUNS,
	SBX_RESTART_STOPPED,
	SBX_RESTART_OUT_OF_MEMORY, /* stopped by its memory limit */
	SBX_RESTART_HAPPENED, /* one of our tools did it */
};

/*
 * How often our tools have restarted the container; UNKNOWN while one is at it. Asked after a
 * channel has said hello, a later and larger answer means that what runs over that channel is dead.
 */
uint64_t sbx_restarts(const struct sbx_restart *restart);
/* Unless that happened since `seen`: restart the container, *did 1. This and the next two block for
 * the engine and for a restart in flight. */
int sbx_restart_since(const struct sbx_restart *restart, uint64_t seen, int *did,
	struct sbx_err *err) __attribute__((warn_unused_result));
/* Start a container that has stopped. */
int sbx_restart_revive(const struct sbx_restart *restart, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* Whether it is so, as seen now, or `patient` for up to a second. */
int sbx_restart_has_stopped(const struct sbx_restart *restart, int patient);
/* Why a channel has ended; a container that its memory limit ended is started again. */
int sbx_restart_judge(const struct sbx_restart *restart, uint64_t seen,
	enum sbx_restart_found *found, struct sbx_err *err) __attribute__((warn_unused_result));

/* ---- link.c */
#define SBX_LINK_SAID_MAX 4096
struct sbx_link {
	int up;
	int doubted; /* it complained while it was up, and was asked why */
	pid_t pid; /* the engine's command line, `exec -i` */
	int to_fd, from_fd, said_fd; /* its stdin, stdout, stderr; non-blocking */
	struct sbx_frames frames;
	struct sbx_buf said;
	struct sbx_chan_hello hello; /* of the newest channel, texts terminated */
};
/* Start the engine's exec and wait for HELLO; a container that has stopped is started, once. */
int sbx_link_open(struct sbx_link *link, const struct sbx_restart *restart, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* Take what the engine complains about; the pipe must never be full. -1 at its end. */
int sbx_link_listen(struct sbx_link *link);
void sbx_link_close(struct sbx_link *link); /* at once; what was said goes to the log */

/* ---- the session */
struct sbx_docker_stream { /* an output */
	int fd; /* the command's end of the pipe; -1: closed, what comes is dropped */
	int waiting; /* watched for room */
	int ended; /* no more comes */
	uint64_t window; /* what the inside may still send */
	uint32_t owed; /* left us and is not granted again yet */
	struct sbx_buf held; /* from held_at on: waits for room in the pipe */
	size_t held_at;
};

enum sbx_docker_step {
	SBX_STEP_ASKED = 0,
	SBX_STEP_RUNNING,
	SBX_STEP_ENDED, /* FAILED, EXITED or ENDED came */
	SBX_STEP_FINISHING, /* FINISH was sent */
	SBX_STEP_FINISHED,
};

struct sbx_docker_running {
	struct sbx_docker_running *next;
	uint32_t id;
	enum sbx_docker_step step;
	int detached; /* its channel has ended */
	int forgotten; /* finish() was called: only its outputs are left */
	int oom_told;
	int dead_by_restart;
	uint64_t cpu_us;
	struct sbx_chan_usage usage;
	struct sbx_docker_stream outputs[2]; /* stdout, stderr */
	int feed_fd; /* its stdin to be read; -1: none, or at its end */
	int feed_waiting; /* watched */
	uint64_t credit; /* of stdin */
};

struct sbx_session {
	int epoll_fd, wake_fd, pulse_fd, dir_fd;
	int awake_fd; /* our part in keeping the container from being paused; -1: none */
	int background_told; /* `background` came */
	struct sbx_chan_background background;
	int awake; /* wake_fd is readable */
	int beating; /* pulse_fd is armed */
	int64_t heard_ms,
		asked_ms; /* monotonic: when the link last said something; 0: no ping waits */
	struct sbx_docker docker; /* owns its texts */
	struct sbx_docker_names names;
	struct sbx_restart restart; /* borrows from this struct, which does not move */
	struct sbx_link link;
	uint64_t restarts; /* when the link said hello */
	int writing; /* the link's to_fd is watched */
	int lost; /* LOST is told or queued; nothing more happens */
	uint32_t killing; /* the command whose kill() is under way; 0: none */
	uint32_t last_id;
	struct sbx_docker_running *running; /* the oldest first */
	struct sbx_mech_event *events; /* a queue */
	size_t event_at, event_end, event_room;
};

/* What epoll answers with: a command's id and one of its streams, or id 0 and a part of the link. */
enum sbx_docker_part {
	SBX_PART_FROM = 0,
	SBX_PART_TO,
	SBX_PART_SAID,
	SBX_PART_WAKE,
	SBX_PART_PULSE
};
int sbx_session_watch(struct sbx_session *session, int fd, uint32_t events, uint32_t id,
	unsigned stream) __attribute__((warn_unused_result)); /* -1 with errno */
void sbx_session_unwatch(struct sbx_session *session, int fd);

/* ---- session.c */
int sbx_session_runs(const struct sbx_session *session); /* something over its channel */
struct sbx_docker_running *sbx_session_find(const struct sbx_session *session, uint32_t id);
void sbx_session_tell(struct sbx_session *session, enum sbx_mech_event_kind kind, uint32_t id,
	int status);
void sbx_session_queue(struct sbx_session *session, const struct sbx_mech_event *event);
/* Free what was forgotten and has given all its bytes. */
void sbx_session_sweep(struct sbx_session *session);
/* The descriptor is readable exactly while events wait. At the end of each call of a tool. */
void sbx_session_settle(struct sbx_session *session);
/* Until then events that wait do not end a wait for descriptors. */
void sbx_session_hush(struct sbx_session *session);
/* Open a link and watch it. Blocks for the engine. */
int sbx_session_connect(struct sbx_session *session, struct sbx_err *err)
	__attribute__((warn_unused_result));
void sbx_session_disconnect(struct sbx_session *session); /* all its commands are detached */

/* ---- session_serve.c */
/* Deal with what is there, waiting at most timeout_ms for anything. */
void sbx_session_serve(struct sbx_session *session, int timeout_ms);
/* Send what is queued, as far as it goes. */
void sbx_session_flush(struct sbx_session *session);
/* FINISH for a command that has ended; its rest comes without being granted. */
void sbx_session_finish(struct sbx_session *session, struct sbx_docker_running *running);

/* ---- session_pulse.c */
int sbx_pulse_open(struct sbx_session *session) __attribute__((warn_unused_result));
void sbx_pulse_start(struct sbx_session *session); /* a command runs */
void sbx_pulse_beat(struct sbx_session *session);

/* ---- session_streams.c */
/* Copies of the command's descriptors, watched; on failure the caller frees `running`. */
int sbx_streams_open(struct sbx_session *session, struct sbx_docker_running *running,
	const struct sbx_mech_command *command, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* Bytes of an output: 0, or -1 when there are more than were granted. */
int sbx_output_take(struct sbx_session *session, struct sbx_docker_running *running,
	unsigned stream, const char *bytes, size_t length) __attribute__((warn_unused_result));
void sbx_output_end(struct sbx_session *session, struct sbx_docker_running *running,
	unsigned stream);
void sbx_output_ready(struct sbx_session *session, struct sbx_docker_running *running,
	unsigned stream, uint32_t events);
int sbx_outputs_are_over(const struct sbx_docker_running *running);
/* Read its stdin, as far as it has credit. */
void sbx_feed(struct sbx_session *session, struct sbx_docker_running *running);
void sbx_feed_end(struct sbx_session *session, struct sbx_docker_running *running);
void sbx_running_free(struct sbx_session *session, struct sbx_docker_running *running);

/* ---- session_background.c */
/* Before anything is asked of the container: it is not paused, and is not until leave() of the last
 * session. Cheap where nothing was ever left to stay. `first`: something will be. Blocks for the
 * engine. */
int sbx_awake_enter(struct sbx_session *session, int first, struct sbx_err *err)
	__attribute__((warn_unused_result));
void sbx_awake_leave(struct sbx_session *session); /* nothing of ours runs any more */

/* ---- session_end.c */
/* The link has ended, or what came over it was no frame (`broken`). */
void sbx_session_lose(struct sbx_session *session, int broken);

#endif
