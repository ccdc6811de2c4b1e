/*
 * Attribute files of control groups: numbers out of them, settings into them and back again to see
 * that they hold. Knows nothing of layouts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/num.h"
#include "base/scoped.h"
#include "kernel/cgroup_impl.h"

/* The value of `key` in "key value\n" lines; the whole text without a key. NULL if not there. */
static const char *
find_value(const char *text, const char *key)
{
	size_t length;

	if (key == NULL)
		return text;
	length = strlen(key);
	while (strncmp(text, key, length) != 0 || text[length] != ' ') {
		text = strchr(text, '\n');
		if (text == NULL)
			return NULL;
		text++;
	}
	return text + length + 1;
}

static int
parse_value(const char *text, const char *key, uint64_t *value)
{
	const char *at = find_value(text, key);
	char number[24];
	size_t length;

	errno = EBADMSG;
	if (at == NULL)
		return -1;
	length = strcspn(at, " \n");
	if (length >= sizeof(number))
		return -1;
	memcpy(number, at, length);
	number[length] = '\0';
	if (strcmp(number, "max") == 0)
		*value = UINT64_MAX;
	else if (sbx_num_u64(number, 0, UINT64_MAX, "attribute", value, NULL) != 0)
		return -1;
	return 0;
}

int
sbx_cgroup_read_fd(int fd, const char *key, uint64_t *value)
{
	char text[2048];
	ssize_t length = pread(fd, text, sizeof(text) - 1, 0);

	if (length < 0)
		return -1;
	text[length] = '\0';
	return parse_value(text, key, value);
}

int
sbx_cgroup_read(int dir_fd, const char *name, const char *key, uint64_t *value)
{
	SBX_AUTO_FD fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -1 : sbx_cgroup_read_fd(fd, key, value);
}

int
sbx_cgroup_has(int dir_fd, const char *name)
{
	return faccessat(dir_fd, name, F_OK, 0) == 0;
}

int
sbx_cgroup_set(int dir_fd, const char *name, const char *text, struct sbx_err *err)
{
	char now[64];

	if (sbx_io_write_attr(dir_fd, name, text) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "cgroup: set %s to %s", name, text);
	if (sbx_io_read_attr(dir_fd, name, now, sizeof(now)) < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "cgroup: read %s back", name);
	if (strcmp(now, text) != 0)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "cgroup: %s was set to %s and reads %s",
			name, text, now);
	return 0;
}

int
sbx_cgroup_set_bytes(int dir_fd, const char *name, uint64_t bytes, struct sbx_err *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t now;
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, bytes);
	if (sbx_io_write_attr(dir_fd, name, text) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "cgroup: set %s to %s", name, text);
	if (sbx_cgroup_read(dir_fd, name, NULL, &now) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "cgroup: read %s back", name);
	if (now > bytes || bytes - now >= page)
		return sbx_fail(err, SBX_E_UNAVAILABLE,
			"cgroup: %s was set to %s and reads %" PRIu64, name, text, now);
	return 0;
}

int
sbx_cgroup_pids(int dir_fd, pid_t *pids, size_t room)
{
	SBX_AUTO_FD fd = openat(dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	char text[4096];
	const char *at = text;
	const char *end;
	ssize_t length;
	size_t count = 0;
	uint64_t pid;

	if (fd < 0)
		return -1;
	length = read(fd, text, sizeof(text) - 1);
	if (length < 0)
		return -1;
	text[length] = '\0';
	/* A line without its end was cut by our buffer. */
	for (; count < room && (end = strchr(at, '\n')) != NULL; at = end + 1) {
		if (parse_value(at, NULL, &pid) != 0)
			return -1;
		if (pid != 0)
			pids[count++] = (pid_t)pid;
	}
	return (int)count;
}

void
sbx_cgroup_cpu_quota(uint64_t cpu_milli, uint64_t *period_us, uint64_t *quota_us)
{
	*period_us = cpu_milli < 10 ? 1000000 : 100000;
	*quota_us = cpu_milli * *period_us / 1000;
}
