/*
 * sbx-init, pid 1 of every environment. It owns the listening socket of its control channel, its
 * callers' connections and the table of commands; it has no capability, no descriptor of the host
 * beside these, and an empty environment. Everything it is told comes from the operator's side;
 * the commands it starts are hostile, run under the same uid, and can reach it by nothing but
 * signals, which pid 1 ignores.
 */
#ifndef SBX_INIT_H
#define SBX_INIT_H

#include <stdint.h>
#include <sys/types.h>

#include "mech/init_proto.h"

#define INIT_CALLERS_MAX 64
#define INIT_COMMANDS_MAX 1024
#define INIT_FD_LAST 0x7fffffffU /* for close_range(2): gVisor takes no more */

/*
 * A command, from its start until its group is used again or its caller goes away: what it left
 * running is killed by group then. Without a group the entry ends with the process.
 */
struct init_command {
	uint32_t id; /* 0: free entry */
	int caller; /* index */
	pid_t pid; /* 0: ended and reported */
	int kill_fd; /* cgroup.kill of its group, or -1; owned */
	int grouped; /* it has, or had, a group of its own */
	uint64_t group; /* inode of kill_fd: who uses the group next takes it over */
	int swept; /* another caller's KILL 0 took it */
};

struct init {
	struct sbx_init_plan plan;
	int signal_fd;
	int kept; /* the maker said that it may live without it */
	int callers[INIT_CALLERS_MAX]; /* connected sockets, -1 */
	struct init_command commands[INIT_COMMANDS_MAX];
	int commands_end; /* no entry is used from here on */
	struct init_failure *failure; /* shared with a child until it executes */
};

/* Where a child that could not execute its program says why. */
struct init_failure {
	uint32_t stage;
	int32_t error;
};

/* A request, unpacked. All borrowed from the message's buffer. */
struct init_job {
	const char *cwd;
	char **argv, **envp;
	int stdio[3];
	int group_fd, kill_fd; /* -1 without groups */
};

/* main.c: what waits until the environment ends. */
/* serve.c: one message of a caller: 0, or -1 when the connection is of no more use. */
int init_serve(struct init *init, int caller);
void init_drop_caller(struct init *init, int caller); /* and kill what it started */
/*
 * Kill every process but pid 1; commands of other callers are told so. kill(-1) holds the task list,
 * and a fork in flight fails on its pending signal: nothing escapes.
 */
void init_sweep(struct init *init, int caller);
void init_answer(struct init *init, int caller, const struct sbx_init_reply *reply);

/* request.c: receive and unpack; 1, 0 at end of file, -1 malformed. Frees by release. */
struct init_message {
	struct sbx_init_request head;
	char *text; /* payload; heap or mapping */
	int mapped;
	char **strings; /* argv NULL envp NULL */
	int fds[6];
	struct init_job job;
};
int init_receive(int sock, struct init_message *message);
void init_release(struct init_message *message); /* closes what nobody took */

/* clone.c: a child in this group that shares our memory; run must end in execve or _exit. */
pid_t init_clone(int group_fd, void (*run)(void *), void *arg);

/* spawn.c: start the job; pid, or -1 with init->failure filled. Blocks until it executes. */
pid_t init_spawn(struct init *init, const struct init_job *job);
/* A child as a command would be, that tries what must not work; 0, or -1 with *what set. */
int init_selftest(struct init *init, const char **what);

/* reap.c: collect the dead and report the commands among them. */
void init_reap(struct init *init);

#endif
