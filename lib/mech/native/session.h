/*
 * The inside of a native session, shared by session.c (open, start, close) and end.c
 * (events, kill, finish).
 */
#ifndef SBX_MECH_NATIVE_SESSION_H
#define SBX_MECH_NATIVE_SESSION_H

#include <stdint.h>
#include <sys/types.h>

#include "kernel/cgroup.h"
#include "mech/native/native.h"
#include "mech/native/monitor.h"

/* For the processes of a command to end; many of them share what the cpu limit leaves. */
#define SBX_NATIVE_EMPTY_US (10 * 1000 * 1000)

struct sbx_native_running {
	struct sbx_native_running *next;
	uint32_t id;
	int has_group, oom_fd, oom_told;
	int background; /* the group is one of those that outlive their command */
	int pids_full; /* when it was killed */
	pid_t files_pid; /* workspace access: a child of ours and no command; -1: collected; else 0 */
	int files_fd; /* its pidfd */
	struct sbx_cgroup_command group;
	uint64_t waited_cpu_us; /* as pid 1 saw it; for hosts without groups */
};

struct sbx_session {
	int epoll_fd, sock, dir_fd; /* of the environment */
	int awake_fd; /* our part in keeping background processes awake; -1: none */
	int has_groups, lost;
	int64_t init_pid;
	uid_t owner;
	gid_t owner_gid;
	int has_mount; /* on the workspace, in the mount namespace of its maker */
	uint32_t last_id;
	struct sbx_cgroup_host host;
	struct sbx_cgroup groups;
	struct sbx_native_monitor *monitor; /* NULL where groups bound all memory */
	struct sbx_native_running *running;
	struct sbx_native_running *spare; /* ended, its group kept for the next command; or NULL */
};

/*
 * background.c: before a command starts: what runs in the background is thawed, and stays so until
 * leave() of the last session. Cheap where there never was any. `first`: there will be.
 */
int sbx_native_background_enter(struct sbx_session *session, int first, struct sbx_err *err);
void sbx_native_background_leave(struct sbx_session
		*session); /* no command of ours runs any more */

/* files.c: how its child ended, as an event: 1, or 0 if it is none of them. */
int sbx_native_files_event(struct sbx_session *session, int fd, struct sbx_mech_event *event);
void sbx_native_files_end(struct sbx_native_running *running); /* kills and waits; idempotent */

/* Lets the command's group go and frees. */
void sbx_native_forget(struct sbx_native_running *running);

#endif
