/*
 * Installs the filters that seccomp_gen.c made when we built. No heap, no library call that may
 * not be made in a child after fork; nothing is decided here.
 */
#include "kernel/seccomp.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "seccomp_filter.h"

/* struct sock_fprog with a pointer to const: the kernel only reads the code. */
struct program {
	unsigned short length;
	const struct sock_filter *code;
};

_Static_assert(sizeof(struct program) == sizeof(struct sock_fprog) &&
		offsetof(struct program, code) == offsetof(struct sock_fprog, filter),
	"struct program is not laid out as struct sock_fprog");

#define COUNT(code) ((unsigned short)(sizeof(code) / sizeof((code)[0])))

static int
install(const struct sock_filter *code, unsigned short length)
{
	const struct program program = { length, code };

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0U, &program);
}

int
sbx_seccomp_base(enum sbx_seccomp_profile profile)
{
	if (profile == SBX_SECCOMP_DEBUG)
		return install(sbx_seccomp_debug_code, COUNT(sbx_seccomp_debug_code));
	return install(sbx_seccomp_strict_code, COUNT(sbx_seccomp_strict_code));
}

int
sbx_seccomp_command(int counted)
{
	if (counted)
		return install(sbx_seccomp_counted_code, COUNT(sbx_seccomp_counted_code));
	return install(sbx_seccomp_command_code, COUNT(sbx_seccomp_command_code));
}

int
sbx_seccomp_available(void)
{
	const uint32_t action = SECCOMP_RET_KILL_PROCESS;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0U, &action) == 0;
}
