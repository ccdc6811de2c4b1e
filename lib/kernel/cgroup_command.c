/*
 * The groups of commands: pooled below the environment's v2 group, one for each command that runs.
 *
 * A claim is an flock on the group's directory, so the kernel frees it when the claimer dies. The
 * mode of cgroup.procs says what the group is: fresh from mkdir, in use, or ready again. Only a
 * release that found it empty, thawed and never killed makes it ready; whatever else a claim finds
 * in use and unlocked is killed, removed and made anew. That covers dead claimers, and Linux from
 * 6.14 (with its stable branches) to 6.18 at least, where a clone into a group dies at once if
 * cgroup.kill was written to that group more often than to the cloner's own: cgroup_css_set_fork()
 * takes kill_seq before it knows the target.
 */
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "kernel/cgroup_impl.h"

#define READY_MODE 0600
#define IN_USE_MODE 0640
#define CLAIM_ROUNDS 8 /* with one group, while others remove it under us */

static const struct sbx_cgroup_command nothing = { .dir_fd = -1,
	.kill_fd = -1,
	.cpu_fd = -1,
	.events_fd = -1,
	.memory_events_fd = -1,
	.pids_events_fd = -1,
	.peak_fd = -1 };

static void
group_name(int number, char name[16])
{
	snprintf(name, 16, "c%d", number);
}

int
sbx_cgroup_open_group(const struct sbx_cgroup *cg, int number, int make)
{
	char name[16];
	int fd;

	group_name(number, name);
	fd = openat(cg->unified_fd, name, SBX_CGROUP_DIR);
	if (fd >= 0 || errno != ENOENT || !make)
		return fd;
	if (mkdirat(cg->unified_fd, name, 0755) != 0 && errno != EEXIST)
		return -1;
	return openat(cg->unified_fd, name, SBX_CGROUP_DIR);
}

/* What the mode of cgroup.procs has beside its word, and whose file it is. */
static mode_t
others(uid_t owner)
{
	return sbx_cgroup_is_foreign(owner) ? SBX_CGROUP_FOREIGN : 0;
}

static uid_t
holder(uid_t owner)
{
	return sbx_cgroup_is_foreign(owner) ? geteuid() : owner;
}

/* By whoever holds the lock: the one who made the directory may not be the first to lock it. */
static int
set_up_group(const struct sbx_cgroup *cg, int dir_fd, uid_t owner, struct sbx_err *err)
{
	/* Its processes fall together, and no others of the environment (Linux 4.19). */
	if (cg->layout == SBX_CGROUP_V2 &&
		sbx_cgroup_set(dir_fd, "memory.oom.group", "1", err) != 0)
		return -1;
	if (sbx_cgroup_give(dir_fd, "cgroup.procs", owner, IN_USE_MODE) != 0)
		return sbx_fail_sys(err, SBX_E_IO, "cgroup: give a command's group to uid %u",
			(unsigned)owner);
	return 1;
}

/* 0 if it is gone, -1 if its processes will not end. */
static int
discard_group(const struct sbx_cgroup *cg, int number, int dir_fd)
{
	int64_t deadline_us = sbx_clock_mono_us() + SBX_CGROUP_WAIT_US;
	char name[16];

	group_name(number, name);
	if (sbx_io_write_attr(dir_fd, "cgroup.kill", "1") != 0 ||
		sbx_cgroup_v2_wait_empty(dir_fd, deadline_us) != 1)
		return -1;
	return unlinkat(cg->unified_fd, name, AT_REMOVEDIR);
}

/* 1: locked and in use by us; 0: in use by others, or full of what will not die; -1 with err. */
static int
lock_group(const struct sbx_cgroup *cg, int number, uid_t owner, int *out, struct sbx_err *err)
{
	for (int round = 0; round < CLAIM_ROUNDS; round++) {
		SBX_AUTO_FD dir = sbx_cgroup_open_group(cg, number, 1);
		struct stat st;

		if (dir < 0)
			return sbx_fail_sys(err, errno == ENOENT ? SBX_E_NOT_FOUND : SBX_E_IO,
				"cgroup: make a command's group");
		if (flock(dir, LOCK_EX | LOCK_NB) != 0)
			return errno == EWOULDBLOCK ?
				0 :
				sbx_fail_sys(err, SBX_E_IO, "cgroup: lock c%d", number);
		if (fstatat(dir, "cgroup.procs", &st, 0) != 0)
			continue; /* removed before we had the lock */
		st.st_mode &= 07777;
		if (st.st_mode == (READY_MODE | others(owner)) && st.st_uid == holder(owner)) {
			*out = sbx_take_fd(&dir);
			return fchmodat(*out, "cgroup.procs", IN_USE_MODE | others(owner), 0) == 0 ?
				1 :
				sbx_fail_sys(err, SBX_E_IO, "cgroup: mark c%d", number);
		}
		if (st.st_mode != (READY_MODE | others(owner)) &&
			st.st_mode != (IN_USE_MODE | others(owner))) {
			*out = sbx_take_fd(&dir);
			return set_up_group(cg, *out, owner, err);
		}
		if (discard_group(cg, number, dir) != 0)
			return 0;
	}
	return 0;
}

static int
fill_command(const struct sbx_cgroup *cg, struct sbx_cgroup_command *command, struct sbx_err *err)
{
	command->kill_fd = openat(command->dir_fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);
	if (command->kill_fd < 0) {
		sbx_fail_sys(err, SBX_E_UNAVAILABLE, "cgroup: open cgroup.kill");
		return sbx_fail_hint(err, "it came with Linux 5.14");
	}
	if (sbx_cgroup_open_counters(cg, command) != 0)
		return sbx_fail_sys(err, SBX_E_IO, "cgroup: read the counters of c%d",
			command->number);
	sbx_cgroup_note_alone(cg, command);
	return 0;
}

void
sbx_cgroup_command_init(struct sbx_cgroup_command *command, uid_t owner)
{
	*command = nothing;
	command->others = others(owner);
}

int
sbx_cgroup_command_fill(const struct sbx_cgroup *cg, struct sbx_cgroup_command *command,
	uid_t owner, struct sbx_err *err)
{
	return set_up_group(cg, command->dir_fd, owner, err) < 0 ? -1 :
								   fill_command(cg, command, err);
}

int
sbx_cgroup_claim(const struct sbx_cgroup *cg, uid_t owner, struct sbx_cgroup_command *command,
	struct sbx_err *err)
{
	int got = 0;

	sbx_cgroup_command_init(command, owner);
	if (cg->unified_fd < 0) {
		sbx_fail(err, SBX_E_UNAVAILABLE, "cgroup: no v2 tree here for groups of commands");
		return sbx_fail_hint(err, "mount cgroup2, e.g. on /sys/fs/cgroup/unified");
	}
	for (int number = 0; number < SBX_CGROUP_GROUPS_MAX && got == 0; number++) {
		command->number = number;
		got = lock_group(cg, number, owner, &command->dir_fd, err);
	}
	if (got == 0)
		return sbx_fail(err, SBX_E_BUSY, "cgroup: all %d groups of commands are in use",
			SBX_CGROUP_GROUPS_MAX);
	if (got > 0 && fill_command(cg, command, err) == 0)
		return 0;
	sbx_cgroup_command_release(command);
	return -1;
}

static int
is_reusable(const struct sbx_cgroup_command *command)
{
	uint64_t populated, frozen;

	return !command->killed && command->events_fd >= 0 &&
		sbx_cgroup_read_fd(command->events_fd, "populated", &populated) == 0 &&
		populated == 0 && sbx_cgroup_read_fd(command->events_fd, "frozen", &frozen) == 0 &&
		frozen == 0;
}

int
sbx_cgroup_rearm(const struct sbx_cgroup *cg, struct sbx_cgroup_command *command)
{
	if (!is_reusable(command) || sbx_cgroup_rebase(cg, command) != 0)
		return 0;
	sbx_cgroup_note_alone(cg, command);
	return 1;
}

void
sbx_cgroup_command_release(struct sbx_cgroup_command *command)
{
	if (command == NULL)
		return;
	if (command->dir_fd >= 0) {
		/* If that fails the group is made anew by the next claim. */
		if (is_reusable(command) &&
			fchmodat(command->dir_fd, "cgroup.procs", READY_MODE | command->others,
				0) != 0)
			command->killed = 1;
		/* pid 1 may still hold a copy of the descriptor: that must not keep the lock. */
		(void)flock(command->dir_fd, LOCK_UN);
	}
	sbx_cgroup_close_fd(&command->dir_fd);
	sbx_cgroup_close_fd(&command->kill_fd);
	sbx_cgroup_close_fd(&command->cpu_fd);
	sbx_cgroup_close_fd(&command->events_fd);
	sbx_cgroup_close_fd(&command->memory_events_fd);
	sbx_cgroup_close_fd(&command->pids_events_fd);
	sbx_cgroup_close_fd(&command->peak_fd);
}

int
sbx_cgroup_populated(const struct sbx_cgroup_command *command)
{
	uint64_t populated;

	if (sbx_cgroup_read_fd(command->events_fd, "populated", &populated) != 0)
		return -1;
	return populated != 0;
}

int
sbx_cgroup_kill(struct sbx_cgroup_command *command)
{
	command->killed = 1;
	return write(command->kill_fd, "1", 1) == 1 ? 0 : -1;
}

int
sbx_cgroup_freeze(const struct sbx_cgroup_command *command, int frozen)
{
	return sbx_io_write_attr(command->dir_fd, "cgroup.freeze", frozen ? "1" : "0");
}

int
sbx_cgroup_wait_empty(const struct sbx_cgroup_command *command, int64_t deadline_us)
{
	return sbx_cgroup_v2_wait_empty(command->dir_fd, deadline_us);
}
