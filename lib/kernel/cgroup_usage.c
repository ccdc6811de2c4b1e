/*
 * What a command used. Groups are pooled, so counters are read when the group is claimed and again
 * at the end, and never reset where somebody else might read them.
 *
 * On hybrid hosts memory and pids are counted for the whole environment. They are one command's
 * only while no other group is claimed: a claimer marks the mtime of the environment's directory,
 * then looks whether any other group is locked, and at the end whether the mark is still its own.
 */
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kernel/cgroup_impl.h"

/* Peak memory of a v2 group: memory.peak since 5.19, before that what is in use when it is read. */
static int
open_peak(struct sbx_cgroup_command *command)
{
	int dir_fd = command->dir_fd;

	command->peak_fd = openat(dir_fd, "memory.peak", O_RDWR | O_CLOEXEC);
	if (command->peak_fd < 0)
		command->peak_fd = openat(dir_fd, "memory.peak", O_RDONLY | O_CLOEXEC);
	if (command->peak_fd >= 0)
		return 0;
	command->peak_is_current = 1;
	command->peak_fd = openat(dir_fd, "memory.current", O_RDONLY | O_CLOEXEC);
	return command->peak_fd < 0 ? -1 : 0;
}

/* Reset for this descriptor, which a write does since 6.12; else remember where it stands. */
static int
read_base_peak(struct sbx_cgroup_command *command)
{
	command->base_peak_bytes = 0;
	if (command->peak_is_current) {
		command->base_peak_bytes = UINT64_MAX; /* never exact */
		return 0;
	}
	if (write(command->peak_fd, "reset", 5) == 5) {
		command->exact_peak = 1;
		return 0;
	}
	return sbx_cgroup_read_fd(command->peak_fd, NULL, &command->base_peak_bytes);
}

/*
 * Linux 6.11 counts a refused fork in the group whose limit it was, older ones in the group of the
 * one who forked: on v2 the sum of both is right everywhere.
 */
static int
read_counters(const struct sbx_cgroup *cg, struct sbx_cgroup_command *command)
{
	int oom_fd = cg->layout == SBX_CGROUP_V2 ? command->memory_events_fd : cg->oom_fd;
	uint64_t own_hits = 0;

	if (sbx_cgroup_read_fd(command->cpu_fd, "usage_usec", &command->now_cpu_us) != 0 ||
		sbx_cgroup_read_fd(oom_fd, "oom_kill", &command->now_oom_kills) != 0 ||
		sbx_cgroup_read_fd(cg->pids_events_fd, "max", &command->now_pids_hits) != 0)
		return -1;
	if (command->pids_events_fd >= 0 &&
		sbx_cgroup_read_fd(command->pids_events_fd, "max", &own_hits) != 0)
		return -1;
	command->now_pids_hits += own_hits;
	return 0;
}

int
sbx_cgroup_pids_full(const struct sbx_cgroup *cg)
{
	int dir_fd = cg->layout == SBX_CGROUP_V2 ? cg->unified_fd : cg->pids_fd;
	uint64_t tasks;

	return sbx_cgroup_read(dir_fd, "pids.current", NULL, &tasks) == 0 &&
		tasks >= cg->pids_limit;
}

/* On v1, once it was full it stays so: there is nothing to see any more. */
static int
ever_full(const struct sbx_cgroup *cg)
{
	uint64_t peak;

	return cg->pids_peak_fd >= 0 && sbx_cgroup_read_fd(cg->pids_peak_fd, NULL, &peak) == 0 &&
		peak >= cg->pids_limit;
}

/* What the counters said last is where the next command begins. */
int
sbx_cgroup_rebase(const struct sbx_cgroup *cg, struct sbx_cgroup_command *command)
{
	command->exact_peak = 0;
	command->alone_since_ns = 0;
	command->base_cpu_us = command->now_cpu_us;
	command->base_oom_kills = command->now_oom_kills;
	command->base_pids_hits = command->now_pids_hits;
	return cg->layout == SBX_CGROUP_V2 ? read_base_peak(command) : 0;
}

int
sbx_cgroup_open_counters(const struct sbx_cgroup *cg, struct sbx_cgroup_command *command)
{
	int dir_fd = command->dir_fd;

	command->cpu_fd = openat(dir_fd, "cpu.stat", O_RDONLY | O_CLOEXEC);
	command->events_fd = openat(dir_fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
	if (command->events_fd < 0)
		return -1;
	if (cg->layout == SBX_CGROUP_V2) {
		command->memory_events_fd = openat(dir_fd, "memory.events", O_RDONLY | O_CLOEXEC);
		command->pids_events_fd = openat(dir_fd, "pids.events", O_RDONLY | O_CLOEXEC);
		if (command->memory_events_fd < 0 || command->pids_events_fd < 0 ||
			open_peak(command) != 0)
			return -1;
	}
	command->pids_were_full = ever_full(cg);
	if (read_counters(cg, command) != 0)
		return -1;
	return sbx_cgroup_rebase(cg, command);
}

static int64_t
mark_of(const struct timespec *mtime)
{
	return (int64_t)mtime->tv_sec * 1000000000 + mtime->tv_nsec;
}

/* Mark first, look second: of two claimers at the same time at least one sees the other. */
void
sbx_cgroup_note_alone(const struct sbx_cgroup *cg, struct sbx_cgroup_command *command)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };
	int others = command->number > 0; /* else we had got c0 */

	clock_gettime(CLOCK_REALTIME, &times[1]);
	if (futimens(cg->unified_fd, times) != 0)
		return;
	for (int number = 1; number < SBX_CGROUP_GROUPS_MAX && !others; number++) {
		SBX_AUTO_FD group = sbx_cgroup_open_group(cg, number, 0);

		if (group < 0)
			break;
		others = flock(group, LOCK_SH | LOCK_NB) != 0;
	}
	if (others)
		return;
	command->alone_since_ns = mark_of(&times[1]);
	/* The environment's peak is nobody else's now. Any write resets it to what is in use. */
	if (cg->peak_fd >= 0 && pwrite(cg->peak_fd, "0", 1, 0) == 1)
		command->exact_peak = 1;
}

static int
was_alone(const struct sbx_cgroup *cg, const struct sbx_cgroup_command *command)
{
	struct stat st;

	return command->alone_since_ns != 0 && fstat(cg->unified_fd, &st) == 0 &&
		mark_of(&st.st_mtim) == command->alone_since_ns;
}

int
sbx_cgroup_usage(const struct sbx_cgroup *cg, struct sbx_cgroup_command *command,
	struct sbx_cgroup_usage *usage, struct sbx_err *err)
{
	int v2 = cg->layout == SBX_CGROUP_V2;
	int alone = was_alone(cg, command);
	int peak_is_own;

	*usage = (struct sbx_cgroup_usage){ 0 };
	if (read_counters(cg, command) != 0 ||
		sbx_cgroup_read_fd(v2 ? command->peak_fd : cg->peak_fd, NULL,
			&usage->peak_memory_bytes) != 0)
		return sbx_fail_sys(err, SBX_E_IO, "cgroup: read the counters of c%d",
			command->number);
	usage->cpu_us = command->now_cpu_us - command->base_cpu_us;
	usage->oom_kills = command->now_oom_kills - command->base_oom_kills;
	usage->pids_hits = command->now_pids_hits - command->base_pids_hits;
	if (!command->pids_were_full && ever_full(cg)) {
		command->pids_were_full = 1;
		usage->pids_hits++;
	}
	/* A v2 peak that cannot be reset is ours if it grew. */
	peak_is_own = command->exact_peak ||
		(v2 &&
			(usage->peak_memory_bytes > command->base_peak_bytes ||
				command->base_peak_bytes == 0));
	usage->exact = peak_is_own && (alone || (v2 && usage->pids_hits == 0));
	return 0;
}

int
sbx_cgroup_oom_watch(const struct sbx_cgroup *cg, const struct sbx_cgroup_command *command,
	struct sbx_err *err)
{
	SBX_AUTO_FD events = -1;
	uint64_t oom_kills;

	if (cg->layout != SBX_CGROUP_V2)
		return sbx_cgroup_v1_oom_event(cg->memory_fd, err);
	events = openat(command->dir_fd, "memory.events", O_RDONLY | O_CLOEXEC);
	/* The read arms the event. */
	if (events < 0 || sbx_cgroup_read_fd(events, "oom_kill", &oom_kills) != 0)
		return sbx_fail_sys(err, SBX_E_IO, "cgroup: watch memory.events");
	return sbx_take_fd(&events);
}
