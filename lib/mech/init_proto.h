/*
 * What sbx-init (pid 1 of an environment) and its callers say to each other, over a SOCK_SEQPACKET
 * socket in the state directory: one message a request, one a reply, native byte order (both ends
 * are on one host), a version in each. Used by mech/native/session.c and cmd/sbx-init.
 *
 * EXEC carries descriptors: stdin, stdout, stderr, and, where control groups exist, the command's
 * group directory and its cgroup.kill. Its payload is cwd, argv..., env..., each with its NUL; a
 * payload that does not fit in SBX_INIT_INLINE_MAX comes as a sealed memfd, the last descriptor.
 * When a caller's connection ends, pid 1 kills the commands that it started and did not call DONE.
 * DONE comes before the group is let go: a kill that came later would hit its next command, even
 * with nobody in the group (Linux 6.14 to 6.18 kill what is cloned into a group that was killed).
 */
#ifndef SBX_MECH_INIT_PROTO_H
#define SBX_MECH_INIT_PROTO_H

#include <stdint.h>

#define SBX_INIT_MAGIC 0x73627869u /* "sbxi" */
#define SBX_INIT_VERSION 1
#define SBX_INIT_INLINE_MAX 65536
#define SBX_INIT_PAYLOAD_MAX (2 * 1024 * 1024 + 8192)
#define SBX_INIT_STRINGS_MAX 65536 /* argc + envc */

enum sbx_init_op {
	SBX_INIT_EXEC = 1,
	SBX_INIT_KILL, /* the command `id` of this connection; 0: every process but pid 1 */
	SBX_INIT_DONE, /* the command `id` has ended and its group is let go; no answer */
	SBX_INIT_PING,
	SBX_INIT_BACKGROUND, /* tell of what runs in the background, or, `flags` 1, end it: BACKGROUND_IS */
	SBX_INIT_PTY, /* a terminal in the environment, `flags` its rows << 16 | columns: PTY_MADE */
	SBX_INIT_SIGNAL, /* `flags` to the process group of the command `id`, if it lives; no answer */
};

enum sbx_init_flag {
	SBX_INIT_HAS_GROUP = 1, /* descriptors 3 and 4 are the group and its cgroup.kill */
	SBX_INIT_IN_MEMFD = 2, /* the payload is in the last descriptor */
	SBX_INIT_STAYS =
		8, /* without groups: what it leaves behind stays, and so does what others leave
			     * as long as any of that is there */
	SBX_INIT_TTY = 4, /* stdin is a terminal, and becomes the command's controlling one */
};

struct sbx_init_request {
	uint32_t magic;
	uint16_t version, op;
	uint32_t id; /* chosen by the caller, not 0, unique in its connection */
	uint32_t flags;
	uint32_t argc, envc;
	uint32_t payload_bytes;
};

enum sbx_init_answer {
	SBX_INIT_STARTED = 1, /* the program was executed */
	SBX_INIT_FAILED, /* stage and error say where and why; nothing runs */
	SBX_INIT_EXITED, /* status as wait(2) */
	SBX_INIT_KILLED, /* to KILL */
	SBX_INIT_PONG,
	SBX_INIT_BACKGROUND_IS, /* status: how many processes; error: EBUSY, since commands run */
	SBX_INIT_PTY_MADE, /* with two descriptors, master and slave; or error is set and there are none */
	SBX_INIT_ENDED, /* killed because another connection's KILL 0 took everything */
};

/* Where a command may fail to start, in the order of doing. */
enum sbx_init_stage {
	SBX_STAGE_REQUEST = 0,
	SBX_STAGE_CLONE,
	SBX_STAGE_SETSID,
	SBX_STAGE_STDIO,
	SBX_STAGE_SIGNALS,
	SBX_STAGE_CHDIR,
	SBX_STAGE_LANDLOCK,
	SBX_STAGE_SECCOMP,
	SBX_STAGE_EXECVE,
	SBX_STAGE_COUNT
};

struct sbx_init_reply {
	uint32_t magic;
	uint16_t version, answer;
	uint32_t id;
	int32_t pid; /* inside */
	int32_t status;
	uint32_t stage;
	int32_t error; /* errno */
	uint32_t left_over; /* EXITED without groups: descendants lived and were killed */
	uint32_t stays; /* EXITED of one that asked for it: some live on */
	uint64_t cpu_us; /* of the first process and what it waited for */
};

/*
 * What pid 1 finds when it starts: this struct as the only content of descriptor SBX_INIT_FD_PLAN.
 * Other descriptors by number; -1 where there is none.
 */
#define SBX_INIT_FD_PLAN 3
struct sbx_init_plan {
	uint32_t magic;
	uint16_t version, seccomp; /* enum sbx_seccomp_profile */
	int32_t listen_fd; /* SOCK_SEQPACKET, bound, listening */
	int32_t ready_fd; /* written one struct sbx_init_report, then closed */
	int32_t landlock_fd; /* ruleset for commands, or -1 */
	int32_t keep_fd; /* a byte: live on without the maker; end of file before it: end */
	int32_t counted; /* nothing but a count bounds the workspace */
	int32_t hold_fd; /* kept open and never used: its lock lives as long as pid 1; or -1 */
	char workspace[64]; /* where commands start */
	char probe_write[64]; /* self-test: a path that must not be writable */
};

/* After its own set-up and the self-test: stage 0 and error 0 mean ready. */
struct sbx_init_report {
	uint32_t magic;
	uint32_t stage;
	int32_t error;
	char what[96];
};

#endif
