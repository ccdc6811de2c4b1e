/*
 * A pseudo-terminal in the environment's own /dev/pts, for a command that a person talks to. Its
 * master leaves with the caller; nothing of it stays here.
 */
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scoped.h"

/* musl takes an int, glibc an unsigned long; the kernel takes 32 bits of either. */
#ifdef __GLIBC__
#define GET_NUMBER TIOCGPTN
#else
#define GET_NUMBER ((int)TIOCGPTN)
#endif

int
init_pty_size(int fd, uint32_t size)
{
	struct winsize window = { .ws_row = (unsigned short)(size >> 16),
		.ws_col = (unsigned short)(size & 0xffff) };

	return ioctl(fd, TIOCSWINSZ, &window);
}

/* By its name, since gVisor of 2022 has no TIOCGPTPEER. */
int
init_pty_open(uint32_t size, int ends[2])
{
	SBX_AUTO_FD master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	SBX_AUTO_FD slave = -1;
	int unlocked = 0;
	unsigned number;
	char name[32];

	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) != 0 ||
		ioctl(master, GET_NUMBER, &number) != 0)
		return -1;
	snprintf(name, sizeof(name), "/dev/pts/%u", number);
	slave = open(name, O_RDWR | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	if (slave < 0 || init_pty_size(master, size) != 0)
		return -1;
	ends[0] = sbx_take_fd(&master);
	ends[1] = sbx_take_fd(&slave);
	return 0;
}

void
init_pty_answer(struct init *init, int caller, uint32_t id, uint32_t size)
{
	struct sbx_init_reply reply = { .magic = SBX_INIT_MAGIC,
		.version = SBX_INIT_VERSION,
		.answer = SBX_INIT_PTY_MADE,
		.id = id };
	int ends[2] = { -1, -1 };

	if (init_pty_open(size, ends) != 0)
		reply.error = errno;
	if (sbx_fd_send(init->callers[caller], &reply, sizeof(reply), ends, ends[0] < 0 ? 0 : 2) <
		0)
		init_hang_up(init, caller);
	sbx_scoped_close(&ends[0]);
	sbx_scoped_close(&ends[1]);
}
