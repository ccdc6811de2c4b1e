/*
 * The container's own counters as the engine shows them inside: memory and pids, v1 or v2. What is
 * not there counts as nothing. They are hints for the reader of a result, not a fence.
 *
 * gVisor counts no tasks, and the host's limit of pids ends its whole sandbox: there we look how
 * many tasks there are, and have pid 1 end all commands when they are too many.
 */
#include "attach.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/clock.h"

#define V1 "/sys/fs/cgroup/"
#define TEXT_SIZE 1024

static int
open_either(const char *v1, const char *v2)
{
	int fd = open(v1, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 ? fd : open(v2, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

/* The number after `key` at the start of a line, or, without a key, the first; `most` where the
 * file is missing or says "max". */
static uint64_t
number(int fd, const char *key, uint64_t most)
{
	char text[TEXT_SIZE], *line = text;
	size_t length = key == NULL ? 0 : strlen(key);
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return most;
	text[n] = '\0';
	while (length > 0 && (strncmp(line, key, length) != 0 || line[length] != ' ')) {
		line = strchr(line, '\n');
		if (line == NULL)
			return most;
		line++;
	}
	line += length > 0 ? length + 1 : 0;
	return *line >= '0' && *line <= '9' ? strtoull(line, NULL, 10) : most;
}

void
attach_count_open(struct attach_counters *counters, uint32_t pids_most)
{
	counters->pids_most = pids_most;
	counters->oom_fd = open_either(V1 "memory/memory.oom_control", V1 "memory.events");
	counters->pids_fd = open_either(V1 "pids/pids.events", V1 "pids.events");
	counters->peak_fd = open_either(V1 "memory/memory.max_usage_in_bytes", V1 "memory.peak");
	counters->now_fd = open_either(V1 "pids/pids.current", V1 "pids.current");
	counters->max_fd = open_either(V1 "pids/pids.max", V1 "pids.max");
}

void
attach_count_start(struct attach *attach, struct attach_command *command)
{
	struct attach_counters *counters = &attach->counters;

	command->oom_before = number(counters->oom_fd, "oom_kill", 0);
	command->pids_before = number(counters->pids_fd, "max", 0);
	if (attach_runs(attach))
		return;
	/* What struck while nothing ran is nobody's. */
	counters->oom_seen = command->oom_before;
	counters->looked_ms = sbx_clock_mono_ms();
}

int
attach_count_wanted(const struct attach *attach)
{
	return attach->counters.oom_fd >= 0 || attach->counters.pids_most > 0;
}

static int
end_too_many(struct attach *attach)
{
	struct attach_counters *counters = &attach->counters;
	struct sysinfo info;

	if (counters->pids_most == 0 || sysinfo(&info) != 0 || info.procs <= counters->pids_most)
		return 0;
	for (int i = 0; i < attach->commands_end; i++)
		if (attach->commands[i].id != 0 && attach->commands[i].phase == ATTACH_RUNS)
			attach->commands[i].too_many = 1;
	counters->sweeps++;
	return attach_tell(attach, SBX_INIT_KILL, 0, 0);
}

int
attach_count_look(struct attach *attach)
{
	struct attach_counters *counters = &attach->counters;
	uint64_t now = number(counters->oom_fd, "oom_kill", 0);

	counters->looked_ms = sbx_clock_mono_ms();
	if (end_too_many(attach) != 0)
		return -1;
	if (now <= counters->oom_seen)
		return 0;
	counters->oom_seen = now;
	return attach_say(attach, SBX_CHAN_OOM, 0, 0, NULL, 0);
}

void
attach_count_usage(const struct attach *attach, const struct attach_command *command,
	struct sbx_chan_usage *usage)
{
	const struct attach_counters *counters = &attach->counters;
	uint64_t oom = number(counters->oom_fd, "oom_kill", 0);
	uint64_t hits = number(counters->pids_fd, "max", 0);

	*usage = (struct sbx_chan_usage){
		.peak_memory_bytes = number(counters->peak_fd, NULL, 0),
		.oom_kills = oom > command->oom_before ? oom - command->oom_before : 0,
		.pids_hits = (hits > command->pids_before ? hits - command->pids_before : 0) +
			(command->too_many ? 1 : 0),
		.left_over = command->left_over,
		.stays = command->stays,
		.pids_full = number(counters->now_fd, NULL, 0) >=
			number(counters->max_fd, NULL, UINT64_MAX),
	};
}
