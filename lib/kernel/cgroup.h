/*
 * Control groups of one environment, on cgroup v2, on hybrid hosts (v1 controllers and a v2 tree
 * without them) and on hosts that mount v1 only (there we open the v2 tree ourselves, detached,
 * which root can since Linux 5.2).
 *
 * Layout below a base directory (`/sbx` of each hierarchy for root; the own, delegated group for a
 * plain user):
 *
 *     <id>            the environment: every limit sits here and is inherited
 *     <id>/init       v2 only: pid 1
 *     <id>/c0, c1...  v2 only: pooled groups for commands, claimed by flock(2) on the directory,
 *                     which the kernel frees if the claimer dies
 *
 * A process enters a v2 group by CLONE_INTO_CGROUP and a v1 group by writing "0" to a `tasks` file
 * that root opened: unlike a pid in cgroup.procs, neither waits for an RCU grace period (measured
 * on Linux 6.18: 25 us against 11 ms). Commands inherit pid 1's v1 groups.
 */
#ifndef SBX_KERNEL_CGROUP_H
#define SBX_KERNEL_CGROUP_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum sbx_cgroup_layout { SBX_CGROUP_NONE = 0, SBX_CGROUP_V1, SBX_CGROUP_HYBRID, SBX_CGROUP_V2 };

#define SBX_CGROUP_PARENT_SIZE 2112

/* Where each limit is kept on this host: directories of the bases, -1 where there is none. */
struct sbx_cgroup_host {
	enum sbx_cgroup_layout layout;
	int memory_fd, pids_fd, cpu_fd; /* v1 bases; all -1 on v2 */
	int unified_fd; /* v2 base */
	char parent[SBX_CGROUP_PARENT_SIZE]; /* for the record: finds the same bases again */
	char unified_path[256]; /* for people and records; "(detached)/..." if we mounted it */
};

struct sbx_cgroup_limits {
	uint64_t cpu_milli; /* thousandths of one processor; 0: no limit */
	uint64_t memory_bytes; /* swap is 0 beside it; 0: no limit */
	uint64_t pids; /* tasks, pid 1 counted; 0: no limit */
};

/* An environment's groups, open. Owned by the caller; -1 where a hierarchy does not exist. */
struct sbx_cgroup {
	enum sbx_cgroup_layout layout;
	int memory_fd, pids_fd, cpu_fd; /* v1 directories of <id> */
	int unified_fd; /* v2 directory of <id> */
	/* Counters of <id>, kept open for the commands that come. */
	int oom_fd, peak_fd; /* v1: memory.oom_control, memory.max_usage_in_bytes */
	int pids_events_fd;
	int pids_peak_fd; /* v1, where the kernel has it */
	uint64_t pids_limit;
};

/* One command's claimed group, with the counters as they stood when it was claimed. */
struct sbx_cgroup_command {
	int dir_fd; /* <id>/cN, locked; for CLONE_INTO_CGROUP */
	int kill_fd; /* its cgroup.kill, for pid 1: used if the caller is lost */
	int number;
	int killed; /* by us: not to be used again */
	mode_t others; /* bits in the mode of cgroup.procs */
	int cpu_fd; /* its cpu.stat */
	int events_fd; /* cgroup.events */
	int memory_events_fd, pids_events_fd, peak_fd; /* its own, v2 only */
	uint64_t base_cpu_us, base_oom_kills, base_pids_hits, base_peak_bytes;
	uint64_t now_cpu_us, now_oom_kills, now_pids_hits; /* as last read */
	int pids_were_full; /* v1: the environment had reached its pids limit before */
	int exact_peak; /* peak memory is this command's alone */
	int peak_is_current; /* Linux below 5.19: no memory.peak */
	int64_t alone_since_ns; /* mtime of <id> if no other group was claimed then, else 0 */
};

struct sbx_cgroup_usage {
	uint64_t cpu_us; /* of the command's group */
	uint64_t peak_memory_bytes; /* v1: of the environment since the claim */
	uint64_t oom_kills; /* kills by the memory limit since the claim */
	uint64_t
		pids_hits; /* forks refused by the pids limit; v1: 1 if it was reached, see there */
	int exact; /* the figures belong to this command alone */
};

/*
 * Find the hierarchies and open the bases. For root `parent` is the path of the base ("/sbx"), made
 * if missing. For a plain user it is the `parent` of an earlier host, which opens the same bases
 * wherever the caller is now (SBX_E_NOT_FOUND if they are gone: what was below is gone too); with
 * anything else the bases are the groups that the caller is in, which must be delegated to it.
 * SBX_E_UNAVAILABLE that names what is missing and, in the hint, the fix: a controller that no
 * hierarchy has, a group that is not delegated, no cgroup file system.
 */
int sbx_cgroup_host_open(const char *parent, struct sbx_cgroup_host *host, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* The same for what an environment's record names: makes nothing, SBX_E_NOT_FOUND if it is gone. */
int sbx_cgroup_host_find(const char *parent, struct sbx_cgroup_host *host, struct sbx_err *err)
	__attribute__((warn_unused_result));
void sbx_cgroup_host_close(struct sbx_cgroup_host *host); /* NULL is fine */

/*
 * Make the groups of an environment and set the limits, each read back. `owner` is the host uid of
 * pid 1, which must be able to clone into the v2 groups (their cgroup.procs is given to it); a
 * plain user passes its own, or a subordinate uid. Left-over groups of the same id are an error
 * (SBX_E_CONFLICT). On failure nothing is left.
 */
int sbx_cgroup_make(const struct sbx_cgroup_host *host, const char *id,
	const struct sbx_cgroup_limits *limits, uid_t owner, struct sbx_cgroup *cg,
	struct sbx_err *err) __attribute__((warn_unused_result));

/* Open the groups of a live environment; SBX_E_NOT_FOUND if they are gone. */
int sbx_cgroup_open(const struct sbx_cgroup_host *host, const char *id, struct sbx_cgroup *cg,
	struct sbx_err *err) __attribute__((warn_unused_result));
void sbx_cgroup_close(struct sbx_cgroup *cg);

/*
 * How pid 1 gets in: the v2 `init` directory for CLONE_INTO_CGROUP (owned by the caller, -1 with
 * errno), and `tasks` files of v1 into which the child itself writes "0" while it has one thread.
 */
int sbx_cgroup_init_dir(const struct sbx_cgroup *cg) __attribute__((warn_unused_result));
int sbx_cgroup_join_files(const struct sbx_cgroup *cg, int fds[3], struct sbx_err *err)
	__attribute__((warn_unused_result)); /* count, 0 on v2 */
/* In the child: 0, or -1 with errno. */
int sbx_cgroup_join(const int *fds, int count) __attribute__((warn_unused_result));

/*
 * Claim a free, empty pooled group (made if there is none, at most 1,024: SBX_E_BUSY). Processes
 * that a dead claimer left are killed first. `owner` as in make. A group that was killed, or is not
 * empty at its release, is not used again but made anew; if somebody else wrote to kill_fd, call
 * sbx_cgroup_kill before the release.
 */
int sbx_cgroup_claim(const struct sbx_cgroup *cg, uid_t owner, struct sbx_cgroup_command *command,
	struct sbx_err *err) __attribute__((warn_unused_result));
/*
 * Keep a claimed group for the caller's next command instead, after sbx_cgroup_usage(): 1 if it is
 * fit for that (empty, never killed), 0 if it has to be released. A fifth of a claim's price.
 */
int sbx_cgroup_rearm(const struct sbx_cgroup *cg, struct sbx_cgroup_command *command);
void sbx_cgroup_command_release(struct sbx_cgroup_command *command); /* NULL is fine */

int sbx_cgroup_populated(const struct sbx_cgroup_command *command); /* 1, 0, or -1 with errno */
/* Kill every process of the command (cgroup.kill, Linux 5.14), whatever it forks meanwhile. */
int sbx_cgroup_kill(struct sbx_cgroup_command *command); /* -1 with errno */
int sbx_cgroup_freeze(const struct sbx_cgroup_command *command, int frozen);
/* Wait until it is empty: 1, or 0 at the deadline (CLOCK_MONOTONIC us), -1 with errno. */
int sbx_cgroup_wait_empty(const struct sbx_cgroup_command *command, int64_t deadline_us);
/*
 * Whether the environment's tasks are at the pids limit now: read it before they are killed. On v1
 * Linux 6.11 and later no longer count refused forks (pids.events stays 0); the peak does tell, but
 * is not to be reset, so only of the first command that reaches the limit.
 */
int sbx_cgroup_pids_full(const struct sbx_cgroup *cg);
/* Read the counters now, less what they were at the claim. */
int sbx_cgroup_usage(const struct sbx_cgroup *cg, struct sbx_cgroup_command *command,
	struct sbx_cgroup_usage *usage, struct sbx_err *err) __attribute__((warn_unused_result));

/*
 * A descriptor that becomes readable (EPOLLIN; EPOLLPRI on v2) when the environment's memory limit
 * kills or would kill; on v1 the kernel kills one process only and the caller kills the rest.
 */
int sbx_cgroup_oom_watch(const struct sbx_cgroup *cg, const struct sbx_cgroup_command *command,
	struct sbx_err *err) __attribute__((warn_unused_result));

/*
 * Commands whose processes outlive them: groups of their own beside the pool, told by a number.
 * claim() as above, SBX_E_BUSY when there are 64; release() of one leaves what runs in it.
 */
#define SBX_CGROUP_BACKGROUND_MAX 64
int sbx_cgroup_background_claim(const struct sbx_cgroup *cg, uid_t owner,
	struct sbx_cgroup_command *command, struct sbx_err *err)
	__attribute__((warn_unused_result));
void sbx_cgroup_background_release(const struct sbx_cgroup *cg, struct sbx_cgroup_command *command);
/* The numbers of those that have processes, in their order; empty ones go. Count, -1 with errno. */
int sbx_cgroup_background_list(const struct sbx_cgroup *cg, int numbers[SBX_CGROUP_BACKGROUND_MAX]);
/* All of them at once; -1 if one could not be. */
int sbx_cgroup_background_freeze(const struct sbx_cgroup *cg, int frozen);
struct sbx_cgroup_background {
	uint64_t processes, cpu_us;
};
int sbx_cgroup_background_look(const struct sbx_cgroup *cg, int number,
	struct sbx_cgroup_background *figures); /* -1 with errno: gone */
/* Waits until they are gone: SBX_E_NOT_FOUND, SBX_E_BUSY. */
int sbx_cgroup_background_kill(const struct sbx_cgroup *cg, int number, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* Memory in use, tasks, and CPU of the whole environment now; for lists. */
struct sbx_cgroup_totals {
	uint64_t memory_bytes, pids, cpu_us;
};
int sbx_cgroup_totals(const struct sbx_cgroup *cg, struct sbx_cgroup_totals *totals);

/*
 * Kill whatever is left in the groups of `id` and remove them, in bounded retries (about 2 s: rmdir
 * answers EBUSY while zombies exist). Groups that are not there are success. On failure the rest is
 * still tried and the first error kept.
 */
int sbx_cgroup_remove(const struct sbx_cgroup_host *host, const char *id, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* Root's bases go with their last environment; one that is in use stays. */
void sbx_cgroup_host_tidy(const struct sbx_cgroup_host *host);

#endif
