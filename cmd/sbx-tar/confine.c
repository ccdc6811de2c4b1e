/*
 * Before the first byte of a stranger's archive is read: nobody's rights, no way to write a file,
 * no program, bounded memory. Each part is required, but that of another user, which only root can
 * have.
 */
#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/scoped.h"
#include "kernel/landlock.h"
#include "kernel/seccomp.h"
#include "tar.h"

#define NOBODY 65534
#define MEMORY_BYTES ((rlim_t)1024 * 1024 * 1024) /* of addresses; xz at its worst wants 700 MiB */

static int
bound(int resource, rlim_t most)
{
	const struct rlimit limit = { most, most };

	return setrlimit((__rlimit_resource_t)resource, &limit);
}

/* Our stdout may be a file, which has to grow. */
static int
writes_a_file(void)
{
	struct stat st;

	return fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode);
}

int
tar_confine(struct sbx_err *err)
{
	SBX_AUTO_FD rules = -1;

	if (geteuid() == 0 &&
		(setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
			setresuid(NOBODY, NOBODY, NOBODY) != 0))
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "become nobody");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0) != 0 ||
		syscall(SYS_close_range, 3U, ~0U, 0U) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "confine");
	if (bound(RLIMIT_AS, MEMORY_BYTES) != 0 || bound(RLIMIT_CORE, 0) != 0 ||
		(!writes_a_file() && bound(RLIMIT_FSIZE, 0) != 0))
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "bound what may be used");
	if (sbx_landlock_abi() >= 2) {
		rules = sbx_landlock_make(NULL, 0, NULL, 0, err);
		if (rules < 0)
			return -1;
		if (sbx_landlock_enter(rules) != 0)
			return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "enter a Landlock domain");
	}
	if (sbx_seccomp_base(SBX_SECCOMP_STRICT) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "install the system call filter");
	return 0;
}
