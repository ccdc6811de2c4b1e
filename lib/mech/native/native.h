/*
 * The inside of mechanism native. Order of a launch:
 *
 *     native.c   the order of it all, and the end; parts.c: groups, slot, socket,
 *                       workspace, what needs rights on the host's side
 *     launch.c   clone with all namespaces, write the maps, wait for the report of pid 1
 *     child.c    in the namespaces: join, map, build the view, drop everything, become sbx-init
 *     view.c     what the environment sees; dev.c, proc.c, etc.c: parts
 *     needs.c    steps that a kernel may not know, and the words for that
 *     session.c  a tool's hold on a live environment; files.c: its workspace
 *
 * child.c and view.c run with all capabilities of the new user namespace; they take
 * the plain struct below and parse nothing that comes from outside.
 */
#ifndef SBX_MECH_NATIVE_H
#define SBX_MECH_NATIVE_H

#include <stdint.h>
#include <unistd.h>

#include "base/err.h"
#include "kernel/cgroup.h"
#include "kernel/ns.h"
#include "mech/mech.h"

#define SBX_NATIVE_UID 1000 /* inside, uid and gid */
#define SBX_NATIVE_WORKSPACE "/workspace"
#define SBX_NATIVE_PLACE ".sbx" /* in the new root while it is built: what is hung up elsewhere */
#define SBX_NATIVE_SECCOMP_HINT "the kernel needs CONFIG_SECCOMP_FILTER"

/* What the child works from. Descriptors are borrowed from the launcher; -1 where there is none. */
struct sbx_native_plan {
	const struct sbx_limits *limits;
	uint64_t tmp_bytes;
	uint64_t file_bytes; /* of one file, by RLIMIT_FSIZE */
	int counted; /* nothing but a count bounds the workspace */
	int proc_view; /* enum sbx_proc_view */
	int seccomp; /* enum sbx_seccomp_profile */
	int landlock; /* whether to make a ruleset */
	struct sbx_ns_map map;
	int subordinate; /* the map is to a subordinate uid: both trees are cut before it is taken */
	int maps_itself; /* a plain user's child writes its own maps */
	int go_fd, go_write_fd; /* a byte says: the maps are written; handed to pid 1 as keep_fd */
	int report_fd; /* struct sbx_err on failure, else handed to pid 1 */
	int init_fd; /* O_PATH of sbx-init */
	int listen_fd;
	int hold_fd;
	int join_fds[3], join_count; /* v1 `tasks` files */
	int own_cgroup; /* give it a cgroup namespace */
	int workspace_fd; /* detached tree, or -1: cut workspace_path */
	char workspace_path[4352];
	int image_fd; /* the same for an image's root; both absent: the host's program trees */
	char image_path[4352];
};

/*
 * A pid 1 that has reported and waits to be kept. It ends by itself if its maker dies or drops it
 * before that, so that none lives unrecorded.
 */
struct sbx_native_birth {
	pid_t pid;
	int pidfd, keep_fd; /* owned */
};

/*
 * Start pid 1 with this plan in the v2 group cgroup_fd (or -1) and wait, at most 10 s, for its
 * report. On failure it is killed and reaped.
 */
int sbx_native_launch(struct sbx_native_plan *plan, int cgroup_fd, struct sbx_native_birth *birth,
	struct sbx_err *err) __attribute__((warn_unused_result));
/* Once the record names it: it lives on without its maker. Frees birth. */
int sbx_native_keep(struct sbx_native_birth *birth, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* Kill it, wait for it, free birth. */
void sbx_native_drop(struct sbx_native_birth *birth);

/*
 * needs.c: what a kernel may lack. Each fails with SBX_E_UNAVAILABLE, a message that names
 * the layer, and mostly a hint.
 */
int sbx_native_check_landlock(struct sbx_err *err) __attribute__((warn_unused_result));
int sbx_native_map(pid_t pid, const struct sbx_ns_map *map, struct sbx_err *err)
	__attribute__((warn_unused_result)); /* sbx_ns_map() */
/* All descriptors from 3 on close on exec. */
int sbx_native_mark_descriptors(struct sbx_err *err) __attribute__((warn_unused_result));
/* A hint for a call that the kernel does not have or forbids, where err has none. */
void sbx_native_advise(struct sbx_err *err);

/* The child's life until it is sbx-init; ends in execveat or _exit. */
void sbx_native_child(struct sbx_native_plan *plan) __attribute__((noreturn));

/* Whether a plain user's environment has a host uid out of its maker's subordinate range. */
static inline int
sbx_native_is_subordinate(const struct sbx_env_record *record)
{
	return geteuid() != 0 && record->slot >= 0;
}

/* Build the new root over "/" and make it the root of this mount namespace. */
int sbx_native_view(const struct sbx_native_plan *plan, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* Its parts; root_fd is the new root. */
int sbx_native_etc(int root_fd, struct sbx_err *err) __attribute__((warn_unused_result));
int sbx_native_dev(int root_fd, uint64_t shm_bytes, struct sbx_err *err)
	__attribute__((warn_unused_result));
int sbx_native_proc(int root_fd, const struct sbx_native_plan *plan, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* And what they are made with; paths are relative to the root, something there already is fine. */
int sbx_native_dir(int root_fd, const char *path, mode_t mode, struct sbx_err *err)
	__attribute__((warn_unused_result));
int sbx_native_link(int root_fd, const char *target, const char *path, struct sbx_err *err)
	__attribute__((warn_unused_result));
int sbx_native_hang_new(int root_fd, const char *path, const char *type, const char *const *options,
	int flags, struct sbx_err *err) __attribute__((warn_unused_result));
/* A bounded tmpfs for anybody. */
int sbx_native_scratch(int root_fd, const char *path, uint64_t bytes, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* A file of the view that we write: made at `path` with mode 0444. */
int sbx_native_file(int root_fd, const char *path, const void *bytes, size_t length,
	struct sbx_err *err) __attribute__((warn_unused_result));

/* mech->probe */
void sbx_native_probe(const struct sbx_mech_host *host, struct sbx_probe *probe);

/* mech->open, close, fd, start, next, kill, finish */
int sbx_native_open(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record, struct sbx_session **session, struct sbx_err *err);
void sbx_native_close(struct sbx_session *session);
int sbx_native_fd(const struct sbx_session *session);
int sbx_native_start(struct sbx_session *session, const struct sbx_mech_command *command,
	uint32_t *id, struct sbx_err *err);
int sbx_native_files(struct sbx_session *session, const struct sbx_mech_files *files, uint32_t *id,
	struct sbx_err *err);
int sbx_native_workspace(struct sbx_session *session, struct sbx_err *err);
uint64_t sbx_native_session_held(struct sbx_session *session, uint64_t dev);
int sbx_native_next(struct sbx_session *session, struct sbx_mech_event *event);
int sbx_native_pty(struct sbx_session *session, const struct sbx_mech_tty *tty, int ends[2],
	struct sbx_err *err);
int sbx_native_signal(struct sbx_session *session, uint32_t id, int signo, struct sbx_err *err);
int sbx_native_background(struct sbx_session *session,
	struct sbx_mech_background list[SBX_MECH_BACKGROUND_MAX], struct sbx_err *err);
int sbx_native_end_background(struct sbx_session *session, int number, struct sbx_err *err);
int sbx_native_kill(struct sbx_session *session, uint32_t id, int *restarted, struct sbx_err *err);
int sbx_native_finish(struct sbx_session *session, uint32_t id, struct sbx_mech_usage *usage,
	struct sbx_err *err);

#endif
