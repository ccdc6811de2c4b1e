/* Limits are set, soft and hard alike, and a lower hard limit is no error. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "child.h"
#include "kernel/rlimit.h"
#include "tap.h"

static int
is_exactly(int resource, rlim_t value)
{
	struct rlimit limit;

	return getrlimit(resource, &limit) == 0 && limit.rlim_cur == value &&
		limit.rlim_max == value;
}

static int
lower(int resource, rlim_t value)
{
	const struct rlimit limit = { value, value };

	return setrlimit(resource, &limit);
}

static int
sets_all(const void *arg)
{
	const struct sbx_rlimits limits = { .nproc = 50, .fsize_bytes = 4096, .nofile = 64 };
	struct rlimit before, after;

	(void)arg;
	if (getrlimit(RLIMIT_AS, &before) != 0 || sbx_rlimit_apply(&limits) != 0)
		return 1;
	if (!is_exactly(RLIMIT_NPROC, 50) || !is_exactly(RLIMIT_FSIZE, 4096) ||
		!is_exactly(RLIMIT_NOFILE, 64))
		return 2;
	if (!is_exactly(RLIMIT_MEMLOCK, 0) || !is_exactly(RLIMIT_MSGQUEUE, 0) ||
		!is_exactly(RLIMIT_NICE, 0) || !is_exactly(RLIMIT_RTPRIO, 0))
		return 3;
	if (!is_exactly(RLIMIT_SIGPENDING, 1024))
		return 4;
	if (getrlimit(RLIMIT_AS, &after) != 0 || before.rlim_cur != after.rlim_cur)
		return 5;
	return 0;
}

static int
core(const void *arg)
{
	const struct sbx_rlimits limits = { 0 };
	struct rlimit before;

	(void)arg;
	if (getrlimit(RLIMIT_CORE, &before) != 0 || sbx_rlimit_apply(&limits) != 0)
		return 1;
	if (is_exactly(RLIMIT_CORE, 1))
		return 0;
	return before.rlim_max == 0 && is_exactly(RLIMIT_CORE, 0) ? 0 : 2;
}

static int
zero_changes_nothing(const void *arg)
{
	const struct sbx_rlimits limits = { 0 };

	(void)arg;
	if (lower(RLIMIT_NPROC, 77) != 0 || lower(RLIMIT_FSIZE, 88) != 0 ||
		lower(RLIMIT_NOFILE, 99) != 0)
		return 1;
	if (sbx_rlimit_apply(&limits) != 0)
		return 2;
	return is_exactly(RLIMIT_NPROC, 77) && is_exactly(RLIMIT_FSIZE, 88) &&
			is_exactly(RLIMIT_NOFILE, 99) ?
		0 :
		3;
}

static int
keeps_lower(const void *arg)
{
	const struct sbx_rlimits limits = { .nofile = 200, .fsize_bytes = 300 };

	(void)arg;
	if (lower(RLIMIT_NOFILE, 100) != 0)
		return 1;
	if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
		return 2;
	if (sbx_rlimit_apply(&limits) != 0)
		return 3;
	return is_exactly(RLIMIT_NOFILE, 100) && is_exactly(RLIMIT_FSIZE, 300) ? 0 : 4;
}

static int
file_grows_too_large(const void *arg)
{
	const struct sbx_rlimits limits = { .fsize_bytes = 4096 };
	char bytes[4097] = { 0 };
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	(void)arg;
	if (fd < 0 || sbx_rlimit_apply(&limits) != 0)
		return 1;
	if (write(fd, bytes, sizeof(bytes)) != 4096)
		return 2;
	return (int)write(fd, bytes, 1) + 10; /* SIGXFSZ comes first */
}

int
main(void)
{
	is_int(in_child(sets_all, NULL), 0, "given and fixed limits are set, address space is not");
	is_int(in_child(core, NULL), 0, "core is 1, or stays 0 where no more is allowed");
	is_int(in_child(zero_changes_nothing, NULL), 0, "0 leaves a limit as it is");
	is_int(in_child(keeps_lower, NULL), 0, "a lower hard limit stays, without an error");
	is_int(in_child(file_grows_too_large, NULL), -SIGXFSZ, "a file stops at its limit");
	return done();
}
