/*
 * Groups of commands whose processes outlive them: <id>/b0, b1... beside the pool, so that no claim
 * ever takes one. While its command runs the group is locked like a pooled one; without a lock it
 * is what the command left, which stays until it is empty, killed, or the environment goes.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "kernel/cgroup_impl.h"

static void
group_name(int number, char name[16])
{
	snprintf(name, 16, "b%d", number);
}

static int
open_group(const struct sbx_cgroup *cg, int number)
{
	char name[16];

	group_name(number, name);
	return openat(cg->unified_fd, name, SBX_CGROUP_DIR);
}

/* Only an empty one goes, and only from whoever has its lock: a command may be about to enter. */
static void
tidy(const struct sbx_cgroup *cg, int number, int dir_fd)
{
	uint64_t populated;
	char name[16];

	group_name(number, name);
	if (sbx_cgroup_read(dir_fd, "cgroup.events", "populated", &populated) == 0 &&
		populated == 0 && flock(dir_fd, LOCK_EX | LOCK_NB) == 0)
		(void)unlinkat(cg->unified_fd, name, AT_REMOVEDIR);
}

int
sbx_cgroup_background_claim(const struct sbx_cgroup *cg, uid_t owner,
	struct sbx_cgroup_command *command, struct sbx_err *err)
{
	char name[16];

	sbx_cgroup_command_init(command, owner);
	if (cg->unified_fd < 0)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "cgroup: no v2 tree here");
	for (int number = 0; number < SBX_CGROUP_BACKGROUND_MAX; number++) {
		group_name(number, name);
		if (mkdirat(cg->unified_fd, name, 0755) != 0) {
			if (errno == EEXIST)
				continue;
			return sbx_fail_sys(err, SBX_E_IO, "cgroup: make %s", name);
		}
		command->number = number;
		command->dir_fd = open_group(cg, number);
		if (command->dir_fd < 0 || flock(command->dir_fd, LOCK_EX | LOCK_NB) != 0 ||
			sbx_cgroup_command_fill(cg, command, owner, err) != 0) {
			if (err != NULL && err->code == SBX_OK)
				sbx_fail_sys(err, SBX_E_IO, "cgroup: set up %s", name);
			sbx_cgroup_command_release(command);
			(void)unlinkat(cg->unified_fd, name, AT_REMOVEDIR);
			return -1;
		}
		return 0;
	}
	return sbx_fail(err, SBX_E_BUSY, "%d background commands have left processes already",
		SBX_CGROUP_BACKGROUND_MAX);
}

void
sbx_cgroup_background_release(const struct sbx_cgroup *cg, struct sbx_cgroup_command *command)
{
	if (command->dir_fd >= 0)
		tidy(cg, command->number, command->dir_fd);
	sbx_cgroup_command_release(command);
}

static int
by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

int
sbx_cgroup_background_list(const struct sbx_cgroup *cg, int numbers[SBX_CGROUP_BACKGROUND_MAX])
{
	int fd = openat(cg->unified_fd, ".", SBX_CGROUP_DIR), count = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	uint64_t populated;

	if (dir == NULL) {
		sbx_cgroup_close_fd(&fd);
		return -1;
	}
	while (count < SBX_CGROUP_BACKGROUND_MAX && (entry = readdir(dir)) != NULL) {
		SBX_AUTO_FD group = -1;
		char *end;
		long number;

		if (entry->d_name[0] != 'b')
			continue;
		number = strtol(entry->d_name + 1, &end, 10);
		if (*end != '\0' || number < 0 || number >= SBX_CGROUP_BACKGROUND_MAX)
			continue;
		group = open_group(cg, (int)number);
		if (group < 0)
			continue;
		if (sbx_cgroup_read(group, "cgroup.events", "populated", &populated) == 0 &&
			populated != 0)
			numbers[count++] = (int)number;
		else
			tidy(cg, (int)number, group);
	}
	closedir(dir);
	qsort(numbers, (size_t)count, sizeof(*numbers), by_number);
	return count;
}

int
sbx_cgroup_background_freeze(const struct sbx_cgroup *cg, int frozen)
{
	int numbers[SBX_CGROUP_BACKGROUND_MAX], failed = 0;
	int count = sbx_cgroup_background_list(cg, numbers);

	for (int i = 0; i < count; i++) {
		SBX_AUTO_FD group = open_group(cg, numbers[i]);

		if (group >= 0 &&
			sbx_io_write_attr(group, "cgroup.freeze", frozen ? "1" : "0") != 0)
			failed = 1;
	}
	return count < 0 || failed ? -1 : 0;
}

int
sbx_cgroup_background_look(const struct sbx_cgroup *cg, int number,
	struct sbx_cgroup_background *figures)
{
	SBX_AUTO_FD group = open_group(cg, number);
	static pid_t pids[SBX_CGROUP_GROUPS_MAX];
	int count;

	*figures = (struct sbx_cgroup_background){ 0 };
	if (group < 0)
		return -1;
	count = sbx_cgroup_pids(group, pids, SBX_CGROUP_GROUPS_MAX);
	figures->processes = count > 0 ? (uint64_t)count : 0;
	return sbx_cgroup_read(group, "cpu.stat", "usage_usec", &figures->cpu_us);
}

int
sbx_cgroup_background_kill(const struct sbx_cgroup *cg, int number, struct sbx_err *err)
{
	int64_t deadline_us = sbx_clock_mono_us() + SBX_CGROUP_WAIT_US;
	SBX_AUTO_FD group = open_group(cg, number);

	if (group < 0)
		return sbx_fail(err, SBX_E_NOT_FOUND, "no background command b%d", number);
	if (sbx_io_write_attr(group, "cgroup.kill", "1") != 0)
		return sbx_fail_sys(err, SBX_E_IO, "cgroup: kill b%d", number);
	if (sbx_cgroup_v2_wait_empty(group, deadline_us) != 1)
		return sbx_fail(err, SBX_E_BUSY, "processes of b%d do not die", number);
	tidy(cg, number, group);
	return 0;
}
