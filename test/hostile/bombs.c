/*
 * ATTACKS 59 to 62: take more than is given, of processes and memory (buffers.c: of what the
 * kernel keeps for descriptors). argv[2] is the memory limit in MiB. A guest takes of one kind
 * until it is refused (`ok`), is killed (the record says memory), or holds twice its limit
 * (`ESCAPED`): then what it took was charged to nobody. The host sees the record and the next
 * command.
 */
#include <sched.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>

#include "bomb.h"

static void
processes(void)
{
	long made = 0;
	pid_t pid;

	while (made < 100000 && (pid = fork()) >= 0) {
		if (pid == 0)
			for (;;)
				pause();
		made++;
	}
	guest_must(made < 1000 && errno == EAGAIN, "forks end with EAGAIN", "%ld made, errno %d",
		made, errno);
}

__attribute__((noreturn)) static int
sleeper(void *unused)
{
	(void)unused;
	for (;;)
		pause();
}

static void
threads(void)
{
	long made = 0;

	for (; made < 100000; made++) {
		char *stack = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

		if (stack == MAP_FAILED ||
			clone(sleeper, stack + 16384,
				CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
					CLONE_SYSVSEM,
				NULL) < 0)
			break;
	}
	guest_must(made < 1000 && errno == EAGAIN, "threads end with EAGAIN", "%ld made, errno %d",
		made, errno);
}

/* Each is the only child of the one before, and waits in vfork for it. */
static void
slow_chain(void)
{
	for (long depth = 1; depth < 100000; depth++) {
		pid_t pid = (pid_t)syscall(SYS_clone, 0x4000L | SIGCHLD, 0L, 0L, 0L, 0L);

		if (pid > 0)
			_exit(0);
		if (pid < 0) {
			guest_must(depth < 1000 && errno == EAGAIN, "the chain ends with EAGAIN",
				"depth %ld, errno %d", depth, errno);
			return;
		}
	}
	guest_must(0, "the chain ends", "it does not");
}

static void
anonymous(void)
{
	long taken = 0;

	for (; taken < 2 * limit_bytes(); taken += MIB) {
		char *at = mmap(NULL, (size_t)MIB, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (at == MAP_FAILED)
			break;
		memset(at, 1, (size_t)MIB);
	}
	judge("anonymous memory", taken);
}

static long
fill_file(int fd, long most)
{
	static char bytes[65536];
	long taken = 0;

	memset(bytes, 1, sizeof(bytes));
	while (taken < most) {
		ssize_t n = write(fd, bytes, sizeof(bytes));

		if (n <= 0)
			break;
		taken += n;
	}
	return taken;
}

static void
memory_file(void)
{
	judge("a memfd", fill_file((int)syscall(SYS_memfd_create, "x", 0), 2 * limit_bytes()));
}

static void
tmpfs(void)
{
	long taken = fill_file(open("/tmp/fill", O_WRONLY | O_CREAT | O_CLOEXEC, 0600),
		2 * limit_bytes());

	taken += fill_file(open("/dev/shm/fill", O_WRONLY | O_CREAT | O_CLOEXEC, 0600),
		2 * limit_bytes());
	judge("/tmp and /dev/shm", taken);
}

static void
system_v(void)
{
	long taken = 0;

	while (taken < 2 * limit_bytes()) {
		int id = shmget(IPC_PRIVATE, (size_t)MIB, IPC_CREAT | 0600);
		char *at = id < 0 ? (char *)-1 : shmat(id, NULL, 0);

		if (at == (char *)-1)
			break;
		memset(at, 1, (size_t)MIB);
		taken += MIB;
	}
	judge("System V segments", taken);
}

/* One page of memory in each 2 MiB of addresses, so that page tables are what is taken. */
static void
page_tables(void)
{
	const size_t room = 1UL << 40;
	char *at = mmap(NULL, room, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	long taken = 0;

	if (at == MAP_FAILED) {
		judge("page tables", 0);
		return;
	}
	madvise(at, room, MADV_NOHUGEPAGE);
	/* Reading maps the page of zeros, which is nobody's: only the table is charged. */
	for (size_t i = 0; i < room && taken < 2 * limit_bytes(); i += 2UL * 1024 * 1024) {
		(void)*(volatile char *)(at + i);
		taken += 4096;
	}
	judge("page tables", taken);
}

/* Inodes and names: of the small file systems, and negative ones. */
static void
inodes(void)
{
	char path[256];
	long made = 0, missed;

	memset(path, 'n', sizeof(path));
	for (; made < 4000000; made++) {
		snprintf(path + 200, sizeof(path) - 200, "%ld", made);
		memcpy(path, "/tmp/", 5);
		if (mknod(path, S_IFREG | 0600, 0) != 0)
			break;
	}
	guest_must(made < 100000, "files of /tmp end", "%ld", made);
	for (missed = 0; missed < 400000; missed++) {
		snprintf(path + 200, sizeof(path) - 200, "x%ld", missed);
		memcpy(path, "/usr/", 5);
		if (access(path, F_OK) == 0 || errno != ENOENT)
			break;
	}
	guest_must(1, "names that are not there", "unused");
}

static void
locked(void)
{
	char *at = mmap(NULL, (size_t)MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		0);
	struct rlimit more = { (rlim_t)MIB, (rlim_t)MIB };

	guest_refused("mlock", mlock(at, (size_t)MIB), 0);
	guest_refused("mlockall", mlockall(MCL_CURRENT | MCL_FUTURE), 0);
	guest_refused("raise RLIMIT_MEMLOCK", setrlimit(RLIMIT_MEMLOCK, &more), EPERM);
	guest_must(mmap(NULL, (size_t)(2 * MIB), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0) == MAP_FAILED,
		"MAP_LOCKED", "mapped");
	guest_refused("SHM_LOCK", shmctl(shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600), 11, NULL), 0);
	guest_refused("real-time priority",
		sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 }), 0);
	guest_refused("more priority", setpriority(PRIO_PROCESS, 0, -1), 0);
	guest_refused("real-time io", syscall(SYS_ioprio_set, 1, 0, 1 << 13), EPERM);
	guest_no_open("/proc/self/oom_score_adj", O_WRONLY);
}

int
main(int argc, char **argv)
{
	static const struct guest_act acts[] = { { "processes", processes }, { "threads", threads },
		{ "slow-chain", slow_chain }, { "anonymous", anonymous }, { "memfd", memory_file },
		{ "tmpfs", tmpfs }, { "system-v", system_v }, { "page-tables", page_tables },
		{ "inodes", inodes }, { "locked", locked }, { NULL, NULL } };

	return guest_main(argc, argv, acts);
}
