/*
 * `sbx-init attach`: the end of mech/channel.h inside a container, one process for each channel. The
 * host's frames come in on stdin and go out on stdout; commands are pid 1's, reached by their pipes
 * and by pid 1's socket (mech/init_proto.h). It is uid 0, unlike commands, and of its capabilities
 * it keeps the one that reads a workspace whatever its modes. It trusts the host, and of what comes
 * from a command it only ever counts and copies bytes.
 */
#ifndef SBX_INIT_ATTACH_H
#define SBX_INIT_ATTACH_H

#include <linux/capability.h>
#include <poll.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "mech/channel.h"
#include "mech/init_proto.h"

/* Pipes are not read while as much waits for the host; the cap is for a host that reads nothing. */
#define ATTACH_QUEUE_LONG ((size_t)512 * 1024)
#define ATTACH_QUEUE_CAP ((size_t)4 * 1024 * 1024)

/* SETUID: pipes are made as the commands' uid, who may then open /dev/stdout by name; with SETGID, a
 * workspace is changed as its owner. */
#define ATTACH_CAPS                                                                                \
	((uint64_t)1 << CAP_DAC_READ_SEARCH | (uint64_t)1 << CAP_SETUID | (uint64_t)1 << CAP_SETGID)

enum attach_phase { ATTACH_RUNS = 1, ATTACH_OVER /* FAILED, EXITED, ENDED */, ATTACH_FINISHES };

struct attach_stream {
	int fd; /* our end of the pipe, or -1 */
	int over; /* END_OF was said */
	uint32_t credit; /* what the host has room for */
	uint32_t rest; /* while it FINISHES: what the pipe held */
};

struct attach_command {
	uint32_t id; /* 0: free entry */
	enum attach_phase phase;
	pid_t files_pid; /* of FILES; 0: pid 1 has it */
	int in_fd; /* -1: closed, what comes is dropped */
	int in_over; /* close it when all is written */
	uint32_t in_window; /* what the host may still send */
	struct sbx_buf in;
	struct attach_stream out[2]; /* streams 1 and 2 */
	uint64_t oom_before, pids_before;
	uint32_t left_over, stays;
	int too_many; /* it ran while the tasks were more than they may be */
};

/* The container's own counters, v1 or v2; descriptors are -1 where there is none. */
struct attach_counters {
	int oom_fd, pids_fd, peak_fd, now_fd, max_fd;
	uint64_t oom_seen;
	uint32_t pids_most; /* tasks, where we have to see to it; 0: the engine does */
	int sweeps; /* of ours that pid 1 has not answered */
	int64_t looked_ms;
};

struct attach {
	int sock; /* to pid 1 */
	struct sbx_buf in, out;
	size_t out_at; /* written already */
	struct attach_counters counters;
	struct attach_command commands[SBX_CHAN_COMMANDS_MAX];
	int commands_end; /* no entry is used from here on */
};

/* attach.c: exit status. */
int init_attach(void);

/* attach_frame.c: -1 is the end of the channel: malformed, or no room. */
int attach_take(struct attach *attach, const char *bytes, size_t length);
int attach_say(struct attach *attach, enum sbx_chan_type type, uint32_t stream, uint32_t id,
	const void *payload, size_t length);
/* A place for up to SBX_CHAN_DATA_MAX bytes of DATA; then how many came (0: none, no frame). */
char *attach_data_place(struct attach *attach);
void attach_data_done(struct attach *attach, uint32_t stream, uint32_t id, size_t length);
size_t attach_queued(const struct attach *attach);
int attach_flush(struct attach *attach); /* never blocks */

/* attach_command.c: -1 as above. */
struct attach_command *attach_find(struct attach *attach, uint32_t id);
/* A new entry; NULL if the id is taken or 0, or there is no room. */
struct attach_command *attach_enter(struct attach *attach, uint32_t id);
int attach_failed(struct attach *attach, struct attach_command *command, enum sbx_init_stage stage,
	int error);
int attach_finish(struct attach *attach, struct attach_command *command);
int attach_finished(struct attach *attach, struct attach_command *command); /* if it is */
int attach_files_ended(struct attach *attach, struct attach_command *command);
int attach_reply(struct attach *attach, const struct sbx_init_reply *reply);
/* To pid 1; id and flags as the op has them. */
int attach_tell(struct attach *attach, enum sbx_init_op op, uint32_t id, uint32_t flags);
int attach_runs(const struct attach *attach); /* whether a command does */

/* attach_start.c: -1 as above. */
int attach_exec(struct attach *attach, uint32_t id, const char *payload, size_t length);
int attach_files(struct attach *attach, uint32_t id, const char *payload, size_t length);

/* attach_stream.c: the pipes. */
#define ATTACH_POLLED 3 /* of each command: stdin and two outputs */
void attach_wants(const struct attach *attach, struct attach_command *command, struct pollfd *fds);
int attach_move(struct attach *attach, struct attach_command *command, const struct pollfd *fds);
int attach_feed(struct attach *attach, struct attach_command *command, const char *bytes,
	size_t length);
int attach_pour(struct attach *attach, struct attach_command *command); /* into its stdin */
int attach_end_of(struct attach *attach, struct attach_command *command, int index);

/* attach_count.c */
void attach_count_open(struct attach_counters *counters, uint32_t pids_most);
int attach_count_wanted(const struct attach *attach); /* whether it has anything to look at */
void attach_count_start(struct attach *attach, struct attach_command *command);
int attach_count_look(struct attach *attach); /* says OOM, ends too many tasks; -1 as above */
void attach_count_usage(const struct attach *attach, const struct attach_command *command,
	struct sbx_chan_usage *usage);

#endif
