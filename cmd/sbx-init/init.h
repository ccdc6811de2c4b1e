/*
 * sbx-init, pid 1 of every environment. It owns the listening socket of its control channel, its
 * callers' connections and the table of commands; it has no capability, no descriptor of the host
 * beside these, and an empty environment. Everything it is told comes from the operator's side;
 * the commands it starts are hostile, run under the same uid, and can reach it by nothing but
 * signals, which pid 1 ignores.
 *
 * In a container of an engine (`sbx-init serve`) it is uid 0 with the three capabilities that make
 * commands another uid's and end them; its callers are `sbx-init attach` (attach.h).
 */
#ifndef SBX_INIT_H
#define SBX_INIT_H

#include <linux/capability.h>
#include <stdint.h>
#include <sys/types.h>

#include "mech/init_proto.h"

#define INIT_CALLERS_MAX 64
#define INIT_COMMANDS_MAX 1024
#define INIT_HELLO "/.sbx/run/hello" /* struct sbx_chan_hello, before anybody is served */
/* What pid 1 of a container keeps: other uids for commands, and their end. */
#define INIT_CONTAIN_CAPS                                                                          \
	((uint64_t)1 << CAP_KILL | (uint64_t)1 << CAP_SETGID | (uint64_t)1 << CAP_SETUID)
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
	int stays; /* what it leaves behind does, without a group */
	uint64_t group; /* inode of kill_fd: who uses the group next takes it over */
	int swept; /* another caller's KILL 0 took it */
	int ended; /* collected, not yet reported: status and cpu_us are its own */
	int status;
	uint64_t cpu_us;
};

struct init {
	struct sbx_init_plan plan;
	int signal_fd;
	int kept; /* the maker said that it may live without it */
	int background; /* without groups: some of what runs was to stay */
	int contained; /* pid 1 of a container: commands become SBX_CHAN_UID */
	int unreported; /* commands that ended and wait for init_reap() */
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
	int stays; /* what it leaves behind does */
	int tty; /* stdin is to be the controlling terminal */
};

/* main.c: what waits until the environment ends; first 0, or -1 with errno. */
int init_prepare(struct init *init);
void init_run(struct init *init) __attribute__((noreturn));

/* contain.c: `serve [--debug] [--pids N]`, pid 1 of a container; an exit status if it cannot even say why. */
int init_contain(struct init *init, char **options);
/* In a command's child, after which it is nobody but SBX_CHAN_UID: 0, or -1 with errno. */
int init_lose_identity(void);

/* describe.c: what serves system calls here. The kernel's log is asked, so before any filter. */
struct sbx_chan_hello;
void init_describe(struct sbx_chan_hello *hello);
int init_print(void); /* `describe`: exit status */
int init_show(const char *path); /* `show PATH`: a regular file to stdout; exit status */

/* serve.c: one message of a caller: 0, or -1 when the connection is of no more use. */
int init_serve(struct init *init, int caller);
void init_drop_caller(struct init *init, int caller); /* and kill what it started */
/*
 * sweep.c: kill every process but pid 1 and, in a container, its callers; commands of other callers
 * are told so.
 */
void init_sweep(struct init *init, int caller);
void init_answer(struct init *init, int caller, const struct sbx_init_reply *reply);

/* The connection is of no more use: its end is seen later. */
void init_hang_up(const struct init *init, int caller);

/* pty.c: size is rows << 16 | columns. -1 with errno. */
int init_pty_open(uint32_t size, int ends[2]); /* master, slave; owned by the caller */
int init_pty_size(int fd, uint32_t size);
void init_pty_answer(struct init *init, int caller, uint32_t id, uint32_t size);

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
int init_collect(struct init *init); /* the first half: 1 while a child lives, 0 when none does */
int init_busy(const struct init *init); /* whether a command runs */
/* background.c: tell of what runs in the background of a container, or end it, and answer. */
void init_background(struct init *init, int caller, uint32_t id, int end);

#endif
