/*
 * Landlock by its three system calls, which no libc wraps. A ruleset is built once for an
 * environment; each command enters a domain of its own made of it. Rights are asked for by what the
 * running kernel's ABI knows, never by what a header names.
 */
#include "kernel/landlock.h"

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/landlock.h>

#include "base/scoped.h"
#include "kernel/compat.h"

enum { ABI_MIN = 2, ABI_MAX = 7 }; /* what we need, what we know */

/* The rights of a file that is opened for writing; the others are rights of a directory. */
#define FILE_RIGHTS                                                                                \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE | LANDLOCK_ACCESS_FS_IOCTL_DEV)

int
sbx_landlock_abi(void)
{
	const unsigned flags = LANDLOCK_CREATE_RULESET_VERSION;
	int abi = (int)syscall(__NR_landlock_create_ruleset, NULL, (size_t)0, flags);

	return abi < 0 ? 0 : abi;
}

/* Every way to change a file system, as far as this ABI can tell them apart. */
static uint64_t
write_rights(int abi)
{
	uint64_t rights = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
		LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
		LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
		LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
		LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;

	if (abi >= 2)
		rights |= LANDLOCK_ACCESS_FS_REFER;
	if (abi >= 3)
		rights |= LANDLOCK_ACCESS_FS_TRUNCATE;
	if (abi >= 5)
		rights |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
	return rights;
}

static int
allow(int ruleset, int beneath, uint64_t rights, struct sbx_err *err)
{
	const struct landlock_path_beneath_attr rule = {
		.allowed_access = rights,
		.parent_fd = beneath,
	};

	if (syscall(__NR_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0U) != 0)
		return sbx_fail_sys(err, SBX_E_IO, "landlock: add descriptor %d", beneath);
	return 0;
}

int
sbx_landlock_make(const int *trees, size_t tree_count, const int *files, size_t file_count,
	struct sbx_err *err)
{
	int abi = sbx_landlock_abi();
	uint64_t rights = write_rights(abi);
	struct sbx_landlock_ruleset_attr attr = { .handled_access_fs = rights };
	SBX_AUTO_FD ruleset = -1;

	if (abi < ABI_MIN)
		return sbx_fail(err, SBX_E_UNAVAILABLE,
			"landlock: the kernel has ABI %d and %d is needed (Linux 5.19)", abi,
			ABI_MIN);
	if (abi >= 6)
		attr.scoped = LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | LANDLOCK_SCOPE_SIGNAL;
	/* Close-on-exec by the kernel's own choice. */
	ruleset = (int)syscall(__NR_landlock_create_ruleset, &attr, sizeof(attr), 0U);
	if (ruleset < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "landlock: create a ruleset");
	for (size_t i = 0; i < tree_count; i++)
		if (allow(ruleset, trees[i], rights, err) != 0)
			return -1;
	for (size_t i = 0; i < file_count; i++)
		if (allow(ruleset, files[i], rights & FILE_RIGHTS, err) != 0)
			return -1;
	return sbx_take_fd(&ruleset);
}

/*
 * From ABI 7 on a domain's refusals are logged if its program restricted itself, so a command could
 * fill the host's audit log with domains of its own making. Older kernels refuse any flag. With
 * this one -1 stands for "no new domain, only the flag" and would succeed: it must not.
 */
int
sbx_landlock_enter(int ruleset_fd)
{
	if (ruleset_fd < 0) {
		errno = EBADF;
		return -1;
	}
	if (syscall(__NR_landlock_restrict_self, ruleset_fd,
		    LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF) == 0)
		return 0;
	if (errno != EINVAL)
		return -1;
	return (int)syscall(__NR_landlock_restrict_self, ruleset_fd, 0U);
}

const char *
sbx_landlock_name_of(int abi)
{
	static const char *const names[] = { "landlock:0", "landlock:1", "landlock:2", "landlock:3",
		"landlock:4", "landlock:5", "landlock:6", "landlock:7" };

	_Static_assert(sizeof(names) / sizeof(names[0]) == ABI_MAX + 1, "a name for each ABI");
	return names[abi < ABI_MAX ? abi : ABI_MAX]; /* a newer one adds nothing that we use */
}

const char *
sbx_landlock_name(void)
{
	return sbx_landlock_name_of(sbx_landlock_abi());
}
