/*
 * ATTACKS 31 to 33, 81: kernel knobs and host information through /proc and /sys. Nothing there
 * may be opened for writing but a process's own files; what tells about the host is absent or
 * empty; /sys is empty, so there is no cgroup tree; /proc/self/mem changes private copies and
 * never a file.
 */
#include <ftw.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "guest.h"

static int files_seen, writable;

/* A process may write its own; everybody else's directories are not visible to it. */
static int
is_process(const char *path)
{
	return strncmp(path, "/proc/", 6) == 0 &&
		((path[6] >= '0' && path[6] <= '9') || strncmp(path + 6, "self", 4) == 0 ||
			strncmp(path + 6, "thread-self", 11) == 0);
}

/* Engines put it over what they hide. */
static int
is_null(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

static int
try_writing(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	int fd;

	(void)ftw;
	if (type != FTW_F || is_process(path) || S_ISLNK(st->st_mode))
		return 0;
	files_seen++;
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && !is_null(fd)) {
		writable++;
		guest_must(0, path, "opened to write");
		close(fd);
	}
	if (chmod(path, 0666) == 0 && strncmp(path, "/dev/", 5) != 0)
		guest_must(0, path, "changed its mode");
	return 0;
}

static void
knobs(void)
{
	static const char *const known[] = { "/proc/sys/kernel/core_pattern",
		"/proc/sys/kernel/modprobe", "/proc/sys/vm/overcommit_memory",
		"/proc/sys/user/max_user_namespaces", "/proc/sysrq-trigger", "/proc/mtrr",
		"/proc/irq/default_smp_affinity", "/sys/kernel/uevent_helper",
		"/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/cgroup.procs",
		"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/kernel/mm/ksm/run",
		"/proc/self/oom_adj/..", "/proc/pressure/memory" };

	for (size_t i = 0; i < GUEST_COUNT(known); i++)
		guest_no_open(known[i], O_WRONLY);
	nftw("/proc", try_writing, 32, FTW_PHYS);
	guest_must(files_seen > 50 && writable == 0, "nothing of /proc opens to write", "%d of %d",
		writable, files_seen);
	files_seen = writable = 0;
	nftw("/sys", try_writing, 32, FTW_PHYS);
	guest_must(writable == 0, "nothing of /sys opens to write", "%d of %d", writable,
		files_seen);
	guest_must(files_seen == 0, "/sys is empty", "%d files", files_seen);
}

static void
host_knowledge(void)
{
	static const char *const hidden[] = { "/proc/kcore", "/proc/kallsyms", "/proc/kmsg",
		"/proc/sched_debug", "/proc/timer_list", "/proc/keys", "/proc/key-users",
		"/proc/modules", "/proc/cmdline", "/proc/iomem", "/proc/ioports",
		"/proc/interrupts", "/proc/slabinfo", "/proc/vmallocinfo", "/proc/kpagecount",
		"/proc/kpageflags", "/proc/config.gz", "/proc/partitions", "/proc/diskstats",
		"/proc/pagetypeinfo", "/sys/firmware/dmi/tables/DMI",
		"/sys/class/dmi/id/product_uuid", "/sys/kernel/notes", "/dev/kmsg", "/dev/mem",
		"/dev/port", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/vda", "/dev/sda",
		"/dev/loop-control", "/etc/shadow", "/etc/machine-id", "/root", "/var/lib",
		"/var/log", "/boot", "/home/user" };
	char text[4096];

	for (size_t i = 0; i < GUEST_COUNT(hidden); i++) {
		int fd = open(hidden[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

		guest_must(fd < 0 || n == 0, hidden[i], "answers %zd bytes", n);
		close(fd);
	}
}

/* Write `bytes` over a mapping by way of /proc/self/mem, which disregards its protection. */
static ssize_t
poke(const void *at, const char *bytes, size_t length)
{
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : pwrite(fd, bytes, length, (off_t)(uintptr_t)at);

	if (fd >= 0)
		close(fd);
	return n;
}

static void
own_memory(void)
{
	char before[16], after[16];
	int fd = open("/bin/sh", O_RDONLY | O_CLOEXEC);
	char *own = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	char *shared = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	guest_must(own != MAP_FAILED && shared != MAP_FAILED &&
			pread(fd, before, sizeof(before), 0) == sizeof(before),
		"/bin/sh is mapped", "it is not");
	poke(own, "poison", 6);
	poke(shared, "poison", 6);
	guest_must(memcmp(shared, before, 6) == 0, "a shared mapping is unchanged", "%.6s", shared);
	guest_must(pread(fd, after, sizeof(after), 0) == sizeof(after) &&
			memcmp(before, after, sizeof(before)) == 0,
		"the file is unchanged", "%.6s", after);
	guest_refused("map a host file shared and writable",
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0,
		EACCES);
	close(fd);
}

int
main(int argc, char **argv)
{
	static const struct guest_act acts[] = { { "knobs", knobs }, { "hidden", host_knowledge },
		{ "memory", own_memory }, { NULL, NULL } };

	return guest_main(argc, argv, acts);
}
