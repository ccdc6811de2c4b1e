/*
 * ATTACKS 1 to 6, 26: who started us, and what of it can be reached. The launcher must not be
 * visible or not be writable; no descriptor but 0 to 2, none of a directory; no environ, memory
 * or root of pid 1 or of anybody else; ptrace and process_vm refused; signals to pid 1 without
 * effect.
 */
#include <dirent.h>
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "guest.h"

static void
launcher(void)
{
	char path[64], target[256];
	ssize_t n;

	guest_no_open("/proc/1/exe", O_RDONLY);
	guest_no_open("/proc/1/exe", O_WRONLY);
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)getppid());
	guest_no_open(path, O_WRONLY);
	n = readlink("/proc/1/exe", target, sizeof(target) - 1);
	guest_refused("readlink /proc/1/exe", n, 0);
	/* What a shell runs is the host's own file. */
	guest_no_open("/bin/sh", O_WRONLY);
	guest_no_open("/bin/sh", O_WRONLY | O_TRUNC);
	guest_refused("chmod /bin/sh", chmod("/bin/sh", 0777), EROFS);
	guest_refused("rename over /bin/sh", rename("g", "/bin/sh"), 0);
	guest_refused("link /bin/sh", link("/bin/sh", "sh"), 0);
	guest_refused("unlink /usr/bin/env", unlink("/usr/bin/env"), 0);
}

static void
descriptors(void)
{
	struct pollfd asked[256];
	struct stat st;
	char name[64];

	/* One call for many: a call may cost 80 us (gVisor by ptrace). */
	for (int first = 3; first < 65536; first += (int)GUEST_COUNT(asked)) {
		for (int i = 0; i < (int)GUEST_COUNT(asked); i++)
			asked[i] = (struct pollfd){ .fd = first + i };
		if (poll(asked, GUEST_COUNT(asked), 0) < 0)
			guest_must(0, "poll", "%s", strerror(errno));
		for (size_t i = 0; i < GUEST_COUNT(asked); i++) {
			if (asked[i].revents & POLLNVAL)
				continue;
			snprintf(name, sizeof(name), "descriptor %d", asked[i].fd);
			guest_must(0, name, "open");
		}
	}
	for (int fd = 0; fd < 3; fd++) {
		snprintf(name, sizeof(name), "descriptor %d is no directory", fd);
		guest_must(fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode), name, "mode %o",
			st.st_mode);
		snprintf(name, sizeof(name), "/proc/self/fd/%d/../..", fd);
		guest_no_open(name, O_RDONLY | O_DIRECTORY);
	}
}

static int
same_root(const char *path)
{
	struct stat here, there;

	if (stat("/", &here) != 0 || stat(path, &there) != 0)
		return -1;
	return here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

static void
roots(void)
{
	static const char *const same[] = { "/..", "/../../../..", "/proc/self/root",
		"/proc/self/root/../..", "/proc/self/cwd/../..", "/proc/self/cwd/../../..",
		"/proc/thread-self/root" };
	static const char *const foreign[] = { "/proc/1/root", "/proc/1/root/..", "/proc/1/cwd",
		"/proc/1/cwd/..", "/proc/1/fd", "/proc/1/map_files", "/proc/1/task/1/root" };
	char cwd[4096];

	guest_must(getcwd(cwd, sizeof(cwd)) != NULL && cwd[0] == '/', "cwd is under the root", "%s",
		cwd);
	for (size_t i = 0; i < GUEST_COUNT(same); i++)
		guest_must(same_root(same[i]) == 1, same[i], "is another directory");
	for (size_t i = 0; i < GUEST_COUNT(foreign); i++)
		guest_no_open(foreign[i], O_RDONLY);
}

/* Everything that /proc might tell of others: pids are tried, since a listing may hide them. */
static void
others(void)
{
	static const char *const files[] = { "environ", "cmdline", "mem", "maps", "auxv", "stack",
		"mountinfo", "status", "root/etc/hostname" };
	char path[64], text[64];
	int readable = 0;

	for (int pid = 1; pid < 40000; pid++) {
		/* One call for each pid that is not there: a call may cost 80 us (gVisor by ptrace). */
		snprintf(path, sizeof(path), "/proc/%d", pid);
		if (pid == getpid() || (access(path, F_OK) != 0 && errno == ENOENT))
			continue;
		for (size_t i = 0; i < GUEST_COUNT(files); i++) {
			int fd;

			snprintf(path, sizeof(path), "/proc/%d/%s", pid, files[i]);
			fd = open(path, O_RDONLY | O_CLOEXEC);
			if (fd < 0)
				continue;
			if (read(fd, text, sizeof(text)) > 0) {
				guest_must(0, path, "can be read");
				readable++;
			}
			close(fd);
		}
	}
	guest_must(readable == 0, "no file of another process can be read", "%d", readable);
	for (char **at = environ; *at != NULL; at++)
		printf("environ %s\n", *at);
}

static void
memory(void)
{
	char bytes[8] = "poison";
	struct iovec mine = { bytes, sizeof(bytes) };
	struct iovec theirs = { bytes, sizeof(bytes) };

	guest_refused("ptrace attach pid 1", ptrace(PTRACE_ATTACH, 1, NULL, NULL), EPERM);
	guest_refused("ptrace seize pid 1", ptrace(PTRACE_SEIZE, 1, NULL, NULL), EPERM);
	guest_refused("ptrace traceme", ptrace(PTRACE_TRACEME, 0, NULL, NULL), EPERM);
	guest_refused("process_vm_readv pid 1", process_vm_readv(1, &mine, 1, &theirs, 1, 0),
		EPERM);
	guest_refused("process_vm_writev pid 1", process_vm_writev(1, &mine, 1, &theirs, 1, 0),
		EPERM);
	guest_no_open("/proc/1/mem", O_RDWR);
	guest_refused("pidfd_getfd of pid 1",
		syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, 1, 0), 3, 0), EPERM);
	guest_refused("kcmp", syscall(SYS_kcmp, getpid(), 1, 0, 0, 0), EPERM);
}

/* That pid 1 lives on is what the next command shows. Nobody else is in our domain. */
static void
signals(void)
{
	for (int sig = 1; sig < 65; sig++) {
		if (kill(1, sig) == 0)
			syscall(SYS_tgkill, 1, 1, sig);
		kill(getppid(), sig == SIGCONT ? SIGTSTP : sig);
	}
	guest_must(1, "signals to pid 1", "unused");
	for (int sig = 1; sig < 65; sig++) {
		if (sig != SIGCHLD)
			kill(-1, sig);
	}
	guest_must(1, "signals to everybody", "unused");
}

int
main(int argc, char **argv)
{
	static const struct guest_act acts[] = { { "launcher", launcher },
		{ "descriptors", descriptors }, { "roots", roots }, { "others", others },
		{ "memory", memory }, { "signals", signals }, { NULL, NULL } };

	return guest_main(argc, argv, acts);
}
