/* What the cgroup_*.c files share and nobody else includes. */
#ifndef SBX_KERNEL_CGROUP_IMPL_H
#define SBX_KERNEL_CGROUP_IMPL_H

#include <fcntl.h>
#include <stddef.h>

#include "base/scoped.h"
#include "kernel/cgroup.h"

#define SBX_CGROUP_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define SBX_CGROUP_WAIT_US 2000000 /* for killed processes to be gone */
#define SBX_CGROUP_GROUPS_MAX 1024 /* of commands, in one environment */
#define SBX_CGROUP_TOOLS "sbx-tools" /* v2 leaf that a delegated group's own processes move to */
#define SBX_CGROUP_HINT                                                                            \
	"run inside a delegated group, e.g. `systemd-run --user --scope -p Delegate=yes COMMAND`," \
	" or configure `cgroup: best-effort`"

static inline void
sbx_cgroup_close_fd(int *fd)
{
	sbx_scoped_close(fd);
	*fd = -1;
}

/* cgroup_find.c */
#define SBX_CGROUP_FIELD 512 /* of a path in mountinfo; 511 stands in its scan formats */

enum {
	SBX_CGROUP_MEMORY,
	SBX_CGROUP_PIDS,
	SBX_CGROUP_CPU,
	SBX_CGROUP_V1_COUNT,
	SBX_CGROUP_UNIFIED = SBX_CGROUP_V1_COUNT,
	SBX_CGROUP_HIERARCHIES
};
extern const char *const sbx_cgroup_names[SBX_CGROUP_HIERARCHIES];

/* Where the hierarchy of a v1 controller, or v2, is mounted; two controllers may share one. */
struct sbx_cgroup_hierarchy {
	const char *name;
	char mount[SBX_CGROUP_FIELD]; /* "" if it is not mounted */
	char root[SBX_CGROUP_FIELD]; /* the group that is seen at the mount point */
	char own[SBX_CGROUP_FIELD]; /* our group, as seen from the hierarchy's root */
};

int sbx_cgroup_find(struct sbx_cgroup_hierarchy found[SBX_CGROUP_HIERARCHIES], struct sbx_err *err)
	__attribute__((warn_unused_result));

/* cgroup_host.c: -1, errno told with the ways out. */
int sbx_cgroup_open_failed(const char *verb, const char *path, struct sbx_err *err);

/*
 * cgroup_user.c. `parent` of a plain user is what sbx_cgroup_user_note() wrote (recorded), or
 * anything else, and then the bases are the groups that the caller is in.
 */
int sbx_cgroup_user_recorded(const char *parent);
/* Put the recorded groups in place of the caller's own. */
int sbx_cgroup_user_read(const char *parent, struct sbx_cgroup_hierarchy *found,
	struct sbx_err *err) __attribute__((warn_unused_result));
void sbx_cgroup_user_note(const struct sbx_cgroup_hierarchy *h, struct sbx_cgroup_host *host);
/* Recorded ones that are gone: SBX_E_NOT_FOUND. */
int sbx_cgroup_user_open(int top_fd, struct sbx_cgroup_hierarchy *h, int recorded, int controllers,
	struct sbx_err *err) __attribute__((warn_unused_result));
/* The part of our own group's path below what is mounted, or NULL if it is not below. */
const char *sbx_cgroup_below_mount(const struct sbx_cgroup_hierarchy *h);

/* cgroup_attr.c. Attribute files: readers answer -1 with errno, EBADMSG for a text not known. */

/* A number, or the one behind `key` in lines of "key number"; "max" is UINT64_MAX. */
int sbx_cgroup_read_fd(int fd, const char *key, uint64_t *value)
	__attribute__((warn_unused_result));
int sbx_cgroup_read(int dir_fd, const char *name, const char *key, uint64_t *value)
	__attribute__((warn_unused_result));
/* Write and read back: the same text, or as many bytes less what is rounded off to a page. */
int sbx_cgroup_set(int dir_fd, const char *name, const char *text, struct sbx_err *err)
	__attribute__((warn_unused_result));
int sbx_cgroup_set_bytes(int dir_fd, const char *name, uint64_t bytes, struct sbx_err *err)
	__attribute__((warn_unused_result));
int sbx_cgroup_has(int dir_fd, const char *name); /* whether this kernel has the attribute */
/* The first `room` processes of the group, those outside of our pid namespace left out. */
int sbx_cgroup_pids(int dir_fd, pid_t *pids, size_t room) __attribute__((warn_unused_result));

/*
 * cpu_milli as a period and a quota in microseconds: the kernel takes no quota below 1 ms, so a
 * small share gets a longer period.
 */
void sbx_cgroup_cpu_quota(uint64_t cpu_milli, uint64_t *period_us, uint64_t *quota_us);

/* cgroup.c */
int sbx_cgroup_check_id(const char *id, struct sbx_err *err) __attribute__((warn_unused_result));

/* Let processes of owner write the cgroup.procs file `procs`; -1 with errno. */
#define SBX_CGROUP_FOREIGN 0006 /* in its mode: the owner has another uid than the file */
int sbx_cgroup_give(int dir_fd, const char *procs, uid_t owner, mode_t mode)
	__attribute__((warn_unused_result));
int sbx_cgroup_is_foreign(uid_t owner); /* a plain user's subordinate uid */

/* cgroup_command.c: the directory <id>/c<number>, or -1 with errno. */
int sbx_cgroup_open_group(const struct sbx_cgroup *cg, int number, int make)
	__attribute__((warn_unused_result));

void sbx_cgroup_command_init(struct sbx_cgroup_command *command, uid_t owner);
/* Of a fresh directory that we locked: set up, its counters opened. */
int sbx_cgroup_command_fill(const struct sbx_cgroup *cg, struct sbx_cgroup_command *command,
	uid_t owner, struct sbx_err *err) __attribute__((warn_unused_result));

/* cgroup_usage.c: the two steps of a claim that make its figures comparable. */
int sbx_cgroup_rebase(const struct sbx_cgroup *cg, struct sbx_cgroup_command *command);
int sbx_cgroup_open_counters(const struct sbx_cgroup *cg, struct sbx_cgroup_command *command)
	__attribute__((warn_unused_result)); /* -1 with errno */
void sbx_cgroup_note_alone(const struct sbx_cgroup *cg, struct sbx_cgroup_command *command);

/* cgroup_v1.c */
int sbx_cgroup_v1_limit(const struct sbx_cgroup *cg, const struct sbx_cgroup_limits *limits,
	struct sbx_err *err) __attribute__((warn_unused_result));
int sbx_cgroup_v1_kill(int dir_fd); /* one round: how many were listed, or -1 with errno */
int sbx_cgroup_v1_oom_event(int memory_fd, struct sbx_err *err) __attribute__((warn_unused_result));

/* cgroup_v2.c. `shown` is the group's path for messages. */
int sbx_cgroup_v2_mount(void) __attribute__((warn_unused_result)); /* its root, or -1 with errno */
/* NULL if all controllers are there, or the name of one that is not. */
const char *sbx_cgroup_v2_missing(int dir_fd);
/* Turn the controllers on for the children of a group. */
int sbx_cgroup_v2_enable(int dir_fd, const char *shown, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* Move the processes of a delegated group, ours among them, to its leaf SBX_CGROUP_TOOLS. */
int sbx_cgroup_v2_evacuate(int dir_fd, const char *shown, struct sbx_err *err)
	__attribute__((warn_unused_result));
int sbx_cgroup_v2_limit(int dir_fd, const struct sbx_cgroup_limits *limits, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* Wait until nothing runs in the group or below: 1, 0 at the deadline, -1 with errno. */
int sbx_cgroup_v2_wait_empty(int dir_fd, int64_t deadline_us) __attribute__((warn_unused_result));

#endif
