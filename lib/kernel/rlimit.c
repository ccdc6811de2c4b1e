/*
 * Resource limits of a command, set by itself between fork and exec. Soft and hard are always the
 * same: a command has no room to give back to itself.
 */
#include "kernel/rlimit.h"

#include <errno.h>
#include <stddef.h>
#include <sys/resource.h>

/*
 * Only CAP_SYS_RESOURCE of the initial user namespace may raise a hard limit, and many services run
 * with low ones (CORE 0, NOFILE 4,096): there the lower limit, the stricter one, stays.
 */
static int
set_limit(int resource, uint64_t value)
{
	struct rlimit limit = { .rlim_cur = value, .rlim_max = value };

	if (setrlimit(resource, &limit) == 0)
		return 0;
	if (errno != EPERM || getrlimit(resource, &limit) != 0)
		return -1;
	if (limit.rlim_max >= value) {
		errno = EPERM;
		return -1;
	}
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(resource, &limit);
}

int
sbx_rlimit_apply(const struct sbx_rlimits *limits)
{
	const struct {
		int resource;
		uint64_t value;
		int is_optional; /* 0 stands for "unchanged" */
	} rows[] = {
		{ RLIMIT_NPROC, limits->nproc, 1 },
		{ RLIMIT_FSIZE, limits->fsize_bytes, 1 },
		{ RLIMIT_NOFILE, limits->nofile, 1 },
		{ RLIMIT_CORE, 1, 0 },
		{ RLIMIT_MEMLOCK, 0, 0 },
		{ RLIMIT_MSGQUEUE, 0, 0 },
		{ RLIMIT_NICE, 0, 0 },
		{ RLIMIT_RTPRIO, 0, 0 },
		{ RLIMIT_SIGPENDING, 1024, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].is_optional && rows[i].value == 0)
			continue;
		if (set_limit(rows[i].resource, rows[i].value) != 0)
			return -1;
	}
	return 0;
}
