/*
 * What a tool on the host and `sbx-init attach` in a container say to each other, over the stdin
 * and stdout of an engine's exec: frames, native byte order (one build makes both ends). Used by
 * mech/docker/session.c, mech/docker/frames.c and cmd/sbx-init/attach*.c.
 *
 * One channel carries any number of commands. Each output stream has a window: inside, bytes are
 * taken from a command's pipe only while the host has room for them, so a reader that is slow holds
 * up its own command and nothing else; the command's stdin likewise the other way round. After
 * FINISH what the pipes still hold is sent without asking, at most SBX_CHAN_REST_MAX a stream.
 *
 * Order: HELLO is the first frame. For a command: STARTED or FAILED, DATA and END_OF of its streams
 * (which may come before STARTED), EXITED or ENDED, and FINISHED last; after it the id is free. The
 * host trusts nothing in it: what comes out of a container may have been written by whoever broke
 * into it.
 */
#ifndef SBX_MECH_CHANNEL_H
#define SBX_MECH_CHANNEL_H

#include <stdint.h>

#include "workspace/workspace.h"

#define SBX_CHAN_MAGIC 0x63786273u /* "sbxc" */
#define SBX_CHAN_VERSION 1
#define SBX_CHAN_PAYLOAD_MAX (2 * 1024 * 1024 + 8192) /* of EXEC; as SBX_INIT_PAYLOAD_MAX */
#define SBX_CHAN_DATA_MAX 65536 /* of DATA */
#define SBX_CHAN_WINDOW ((uint32_t)256 * 1024) /* granted for each stream at its start */
#define SBX_CHAN_REST_MAX ((uint32_t)1024 * 1024) /* the largest pipe that a user may make */
#define SBX_CHAN_COMMANDS_MAX 256 /* at once on one channel */

enum sbx_chan_type {
	/* to the inside */
	SBX_CHAN_EXEC = 1, /* struct sbx_chan_exec, then cwd, argv..., env..., each with its NUL */
	SBX_CHAN_FINISH, /* after FAILED, EXITED or ENDED: end what is left, send what is left */
	SBX_CHAN_KILL_ALL, /* id 0: end every command of the environment; KILLED answers */
	SBX_CHAN_PING, /* id 0: PONG answers */
	SBX_CHAN_FILES, /* struct sbx_chan_files, then path and `to`, each with its NUL; answers as a
			 * command, and takes stream 0 as one if it says so */
	SBX_CHAN_BACKGROUND, /* id 0, uint32_t: 1 ends it, 0 only asks; BACKGROUND_IS answers */
	SBX_CHAN_RESIZE, /* uint32_t, as above: of a command with a terminal; no answer */
	SBX_CHAN_SIGNAL, /* uint32_t: to the process group of a command that runs; no answer */
	/* both ways; `stream` says which: 0 to the inside, 1 and 2 to the host */
	SBX_CHAN_DATA = 16,
	SBX_CHAN_END_OF, /* no more of it; of 1 and 2 to the inside: nobody reads it any more */
	SBX_CHAN_CREDIT, /* payload: uint32_t, bytes more that the other end may send of `stream` */
	/* to the host */
	SBX_CHAN_HELLO = 32, /* struct sbx_chan_hello */
	SBX_CHAN_STARTED, /* struct sbx_chan_end: pid */
	SBX_CHAN_FAILED, /* struct sbx_chan_end: stage (enum sbx_init_stage) and error */
	SBX_CHAN_EXITED, /* struct sbx_chan_end: status, cpu_us */
	SBX_CHAN_ENDED, /* as EXITED; another caller's KILL_ALL took it */
	SBX_CHAN_OOM, /* id 0: the container's memory limit struck while commands run */
	SBX_CHAN_FINISHED, /* struct sbx_chan_usage */
	SBX_CHAN_KILLED,
	SBX_CHAN_PONG,
	SBX_CHAN_BACKGROUND_IS, /* struct sbx_chan_background */
};

struct sbx_chan_head {
	uint32_t length; /* of the payload that follows */
	uint16_t type, stream;
	uint32_t id; /* chosen by the host, not 0, unique among the living of its channel */
};

enum sbx_chan_exec_flag {
	SBX_CHAN_NO_STDIN = 1, /* /dev/null; nothing is granted */
	SBX_CHAN_STAYS = 4, /* what it leaves behind does */
	SBX_CHAN_TTY = 2, /* a terminal of this size; stream 2 ends at once */
};
struct sbx_chan_exec {
	uint32_t flags, argc, envc;
	uint32_t size; /* rows << 16 | columns */
};

struct sbx_chan_end {
	uint32_t stage;
	int32_t error; /* errno */
	int32_t status; /* as wait(2) */
	int32_t pid; /* inside */
	uint64_t cpu_us;
};

/* Since the command was asked for, as far as the container's own counters tell. */
struct sbx_chan_usage {
	uint64_t peak_memory_bytes; /* of the container since it started; 0: not known */
	uint64_t oom_kills, pids_hits;
	uint32_t left_over; /* descendants had to be killed */
	uint32_t pids_full; /* the pids limit was reached when this was read */
	uint32_t stays; /* of what it left behind something lives on, as was asked */
	uint32_t reserved;
};

struct sbx_chan_background {
	uint32_t processes;
	int32_t error; /* errno: it was not ended */
};

/* What pid 1 is and what it proved of itself before it listened. */
struct sbx_chan_hello {
	uint32_t magic;
	uint16_t version, landlock_abi; /* 0: none, so none is entered */
	uint32_t gvisor; /* 1: its kernel log and version say that gVisor serves system calls */
	uint32_t stage; /* enum sbx_init_stage, where it could not be confined */
	int32_t error;
	uint32_t
		pids; /* the most tasks, where attach has to see to it itself; 0: the engine does */
	char what[96]; /* the self-test: what worked and must not; "" */
	char kernel[160]; /* /proc/version as seen inside */
};

/* Workspace access, as workspace/workspace.h has it, in a process of its own as uid 0. */
struct sbx_chan_files {
	uint32_t op, flags, mode; /* as in struct sbx_files_want */
	uint32_t path_bytes, to_bytes; /* with the NUL */
	uint32_t has_input;
	uint64_t offset, limit;
};

/* Inside a container: the helper volume is mounted at DIR, pid 1 keeps its socket below RUN. */
#define SBX_CHAN_DIR "/.sbx/bin"
#define SBX_CHAN_INIT "/.sbx/bin/sbx-init"
#define SBX_CHAN_RUN "/.sbx/run"
#define SBX_CHAN_SOCKET "/.sbx/run/init.sock"
#define SBX_CHAN_WORKSPACE "/workspace"
#define SBX_CHAN_UID 1000 /* of commands, and their gid */

#endif
