/*
 * ATTACKS 11, 13, 14: the terminal of whoever looks. No terminal of the host is there or
 * controls us; TIOCSTI, TIOCLINUX and TIOCSETD answer EPERM also on a terminal of our own,
 * whatever the high half of the request says; /dev/pts is an instance of our own.
 */
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "guest.h"

static void
try_ioctls(int fd, const char *where)
{
	static const struct {
		const char *name;
		unsigned long request;
	} calls[] = { { "TIOCSTI", TIOCSTI }, { "TIOCLINUX", 0x541c }, { "TIOCSETD", TIOCSETD } };
	char name[96], key[] = "x", paste[] = { 3, 0 };

	for (size_t i = 0; i < GUEST_COUNT(calls); i++) {
		char *argument = calls[i].request == 0x541c ? paste : key;

		snprintf(name, sizeof(name), "%s on %s", calls[i].name, where);
		guest_refused(name, syscall(SYS_ioctl, fd, calls[i].request, argument), EPERM);
		snprintf(name, sizeof(name), "%s with high bits on %s", calls[i].name, where);
		guest_refused(name, syscall(SYS_ioctl, fd, calls[i].request | 1UL << 32, argument),
			EPERM);
		guest_refused(name, syscall(SYS_ioctl, fd, calls[i].request | 1UL << 63, argument),
			EPERM);
	}
}

static void
terminals(void)
{
	static const char *const nodes[] = { "/dev/tty", "/dev/console", "/dev/tty0", "/dev/tty1",
		"/dev/ttyS0", "/dev/vcs", "/dev/vcsa1", "/dev/hvc0", "/dev/pts/0", "/dev/pts/1",
		"/dev/pts/2", "/dev/input", "/dev/uinput", "/dev/ptp0" };
	char name[64];
	int master, slave, number = -1, unlock = 0;

	for (int fd = 0; fd < 3; fd++) {
		snprintf(name, sizeof(name), "descriptor %d is no terminal", fd);
		guest_must(!isatty(fd), name, "it is");
		snprintf(name, sizeof(name), "descriptor %d", fd);
		try_ioctls(fd, name);
	}
	for (size_t i = 0; i < GUEST_COUNT(nodes); i++) {
		guest_no_open(nodes[i], O_RDONLY | O_NOCTTY);
		guest_no_open(nodes[i], O_WRONLY | O_NOCTTY);
	}
	guest_must(getsid(0) == getpid(), "we lead a session of our own", "%d", (int)getsid(0));
	master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	guest_must(master >= 0 && ioctl(master, (int)TIOCSPTLCK, &unlock) == 0 &&
			ioctl(master, (int)TIOCGPTN, &number) == 0 && number == 0,
		"our first terminal is number 0", "number %d errno %d", number, errno);
	slave = open("/dev/pts/0", O_RDWR | O_CLOEXEC);
	guest_must(slave >= 0, "it opens", "errno %d", errno);
	try_ioctls(slave, "a terminal of our own");
}

/* With --tty: on the terminal that controls us, which another reads at its other end. */
static void
typing(void)
{
	guest_must(isatty(0) && isatty(1) && isatty(2), "all three are a terminal", "they are not");
	guest_must(getsid(0) == getpid(), "we lead a session of our own", "%d", (int)getsid(0));
	try_ioctls(0, "our controlling terminal");
}

int
main(int argc, char **argv)
{
	static const struct guest_act acts[] = { { "terminals", terminals }, { "typing", typing },
		{ NULL, NULL } };

	return guest_main(argc, argv, acts);
}
