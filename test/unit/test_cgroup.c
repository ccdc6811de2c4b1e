/* Control groups by doing, as root: bases, limits that bite, kills that leave none. */
#include "cgroup_env.h"

static void
child_memory_bomb(void)
{
	size_t size = 256 * MIB;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; p != MAP_FAILED && i < size; i += 4096)
		((volatile char *)p)[i] = 1;
}

static void
child_touch_8_mib(void)
{
	char *p = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; p != MAP_FAILED && i < 8 * MIB; i += 4096)
		((volatile char *)p)[i] = 1;
}

/* Ends with 11 if a fork was refused for want of pids. */
static void
child_fork_beyond(void)
{
	for (int i = 0; i < 100; i++) {
		pid_t pid = fork();

		if (pid < 0)
			_exit(errno == EAGAIN ? 11 : 12);
		if (pid == 0)
			child_sleep();
	}
}

static void
child_fork_bomb(void)
{
	for (;;)
		(void)!fork();
}

static void
test_limits(void)
{
	struct sbx_cgroup_limits limits = { 1500, 32 * MIB + 100, 20 };
	struct sbx_cgroup_limits small = { 5, 0, 0 }, wrong = { 100, MIB, 5000000000 };
	struct sbx_cgroup other;

	set_up("limits", &limits);
	if (v2()) {
		is_str(attr(cg.unified_fd, "memory.max"), "33554432", "memory, rounded to a page");
		is_str(attr(cg.unified_fd, "pids.max"), "20", "pids");
		is_str(attr(cg.unified_fd, "cpu.max"), "150000 100000", "cpu");
	} else {
		is_str(attr(cg.memory_fd, "memory.limit_in_bytes"), "33554432", "memory");
		is_str(attr(cg.memory_fd, "memory.swappiness"), "0", "no swap");
		is_str(attr(cg.pids_fd, "pids.max"), "20", "pids");
		is_str(attr(cg.cpu_fd, "cpu.cfs_quota_us"), "150000", "cpu");
	}
	ok(sbx_cgroup_make(&host, "limits", &limits, 0, &other, &err) < 0 &&
			err.code == SBX_E_CONFLICT,
		"the same id again");
	is_str(err.msg, "cgroup limits exists already", "its message");
	is_int(sbx_cgroup_open(&host, "limits", &other, &err), 0, "which leaves the first alone");
	sbx_cgroup_close(&other);
	tear_down("limits");
	set_up("small", &small);
	if (v2())
		is_str(attr(cg.unified_fd, "cpu.max"), "5000 1000000", "a small share of cpu");
	else
		is_str(attr(cg.cpu_fd, "cpu.cfs_quota_us"), "5000", "a small share of cpu");
	tear_down("small");
	ok(sbx_cgroup_make(&host, "wrong", &wrong, 0, &cg, &err) < 0 &&
			err.code == SBX_E_UNAVAILABLE,
		"a limit that the kernel refuses");
	is_str(err.msg, "cgroup: set pids.max to 5000000000: Invalid argument", "its message");
	ok(sbx_cgroup_open(&host, "wrong", &cg, &err) < 0 && err.code == SBX_E_NOT_FOUND,
		"leaves nothing");
	is_str(err.msg, "cgroup wrong is gone", "its message");
	ok(sbx_cgroup_make(&host, "../x", &limits, 0, &cg, &err) < 0 &&
			err.code == SBX_E_BAD_REQUEST,
		"an id with a path in it");
	is_str(err.msg, "cgroup: \"../x\" is no environment id", "its message");
}

static void
test_memory(void)
{
	struct sbx_cgroup_command command;
	struct sbx_cgroup_usage usage;
	struct pollfd oom = { .events = v2() ? POLLPRI : POLLIN };

	set_up("memory", &(struct sbx_cgroup_limits){ 0, 32 * MIB, 50 });
	ok(sbx_cgroup_claim(&cg, TEST_UID, &command, &err) == 0, "claim: %s", err.msg);
	oom.fd = sbx_cgroup_oom_watch(&cg, &command, &err);
	ok(oom.fd >= 0 && poll(&oom, 1, 0) == 0, "no memory event yet");
	ok(exited(reap(spawn(command.dir_fd, tasks, task_count, child_touch_8_mib), 10000), 0),
		"8 MiB fit in 32");
	is_int(sbx_cgroup_usage(&cg, &command, &usage, &err), 0, "usage");
	ok(usage.peak_memory_bytes >= 8 * MIB && usage.peak_memory_bytes < 32 * MIB, "peak of %llu",
		(unsigned long long)usage.peak_memory_bytes);
	is_int(usage.oom_kills, 0, "no kill");
	ok(killed(reap(spawn(command.dir_fd, tasks, task_count, child_memory_bomb), 10000)),
		"a memory bomb is killed");
	ok(poll(&oom, 1, 1000) == 1, "the memory event comes");
	is_int(sbx_cgroup_usage(&cg, &command, &usage, &err), 0, "usage");
	ok(usage.oom_kills >= 1, "and is counted"); /* twice, where a group falls (Linux 6.1) */
	ok(usage.exact && usage.peak_memory_bytes >= 30 * MIB, "exact peak of %llu",
		(unsigned long long)usage.peak_memory_bytes);
	close(oom.fd);
	sbx_cgroup_command_release(&command);
	ok(sbx_cgroup_claim(&cg, TEST_UID, &command, &err) == 0, "claim again");
	ok(exited(reap(spawn(command.dir_fd, tasks, task_count, child_exit_7), 10000), 7), "run");
	is_int(sbx_cgroup_usage(&cg, &command, &usage, &err), 0, "usage");
	is_int(usage.oom_kills, 0, "the next command begins at 0 kills");
	ok(!usage.exact || usage.peak_memory_bytes < 30 * MIB, "its peak is its own or marked");
	sbx_cgroup_command_release(&command);
	tear_down("memory");
}

static void
test_pids_and_kill(void)
{
	struct sbx_cgroup_command command;
	struct sbx_cgroup_usage usage;
	struct sbx_cgroup_totals totals;
	pid_t pid;

	set_up("pids", &(struct sbx_cgroup_limits){ 0, 64 * MIB, 30 });
	ok(sbx_cgroup_claim(&cg, TEST_UID, &command, &err) == 0, "claim: %s", err.msg);
	is_int(sbx_cgroup_populated(&command), 0, "nobody in it");
	ok(exited(reap(spawn(command.dir_fd, tasks, task_count, child_fork_beyond), 10000), 11),
		"a fork over the limit is refused");
	is_int(sbx_cgroup_usage(&cg, &command, &usage, &err), 0, "usage");
	ok(usage.pids_hits >= 1, "and counted");
	is_int(sbx_cgroup_populated(&command), 1, "its children are left");
	is_int(sbx_cgroup_totals(&cg, &totals), 0, "totals");
	ok(totals.pids == 29 && totals.memory_bytes > 0 && totals.cpu_us > 0,
		"%llu tasks, %llu bytes, %llu us", (unsigned long long)totals.pids,
		(unsigned long long)totals.memory_bytes, (unsigned long long)totals.cpu_us);
	is_int(sbx_cgroup_wait_empty(&command, sbx_clock_mono_us() + 50000), 0,
		"a wait that ends late");
	is_int(sbx_cgroup_kill(&command), 0, "kill them");
	is_int(sbx_cgroup_wait_empty(&command, sbx_clock_mono_us() + 2000000), 1, "all are gone");

	sbx_cgroup_command_release(&command);
	for (int i = 0; i < 20; i++) {
		int gone = sbx_cgroup_claim(&cg, TEST_UID, &command, &err) == 0;

		pid = spawn(command.dir_fd, tasks, task_count, child_fork_bomb);
		(void)poll(NULL, 0, 20);
		gone = gone && sbx_cgroup_populated(&command) == 1 &&
			sbx_cgroup_kill(&command) == 0 &&
			sbx_cgroup_wait_empty(&command, sbx_clock_mono_us() + 2000000) == 1 &&
			strcmp(attr(command.dir_fd, "cgroup.procs"), "") == 0;
		if (!gone || i == 19)
			ok(gone, "round %d: no process of a fork bomb is left", i);
		(void)reap(pid, 1000);
		sbx_cgroup_command_release(&command);
	}
	tear_down("pids");
}

static void
test_bases(void)
{
	struct sbx_cgroup_host other, below;
	char name[80], path[96];
	pid_t pid;

	snprintf(name, sizeof(name), "%s-other", base);
	ok(sbx_cgroup_host_open("sbx", &other, &err) < 0 && err.code == SBX_E_CONFIG,
		"a relative base");
	is_str(err.msg, "cgroup parent sbx is not a clean absolute path", "message");
	ok(sbx_cgroup_host_open("/", &other, &err) < 0 && err.code == SBX_E_CONFIG,
		"the root as base");
	is_int(sbx_cgroup_host_open(name, &other, &err), 0, "a base that is missing is made");
	snprintf(path, sizeof(path), "%s/deep", name);
	is_int(sbx_cgroup_host_open(path, &below, &err), 0, "and one below");
	is_int(drop_bases(&below, "deep"), 0, "remove that");
	if (v2()) {
		/* Controllers off again, then a process where none may be. */
		int fd = openat(other.unified_fd, "cgroup.subtree_control", O_WRONLY | O_CLOEXEC);

		ok(write(fd, "-memory -pids -cpu", 18) == 18, "controllers off");
		close(fd);
		pid = spawn(other.unified_fd, NULL, 0, child_sleep);
		ok(sbx_cgroup_host_open(path, &below, &err) < 0 && err.code == SBX_E_UNAVAILABLE,
			"a base whose parent has processes");
		ok(strstr(err.msg, " has processes of its own, so no controller") != NULL, "%s",
			err.msg);
		ok(strstr(err.hint, "move them into a child group") != NULL, "hint: %s", err.hint);
		kill(pid, SIGKILL);
		(void)reap(pid, 1000);
	}
	is_int(remove_bases(&other, name + 1), 0, "take the bases away");
	ok(sbx_cgroup_make(&other, "x", &(struct sbx_cgroup_limits){ 0 }, 0, &cg, &err) < 0 &&
			err.code == SBX_E_UNAVAILABLE,
		"no group in a base that is gone");
	is_str(err.msg, "make cgroup x: No such file or directory", "message");
	ok(sbx_cgroup_open(&other, "x", &cg, &err) < 0 && err.code == SBX_E_NOT_FOUND,
		"none to open");
	is_int(sbx_cgroup_remove(&other, "x", &err), 0, "none to remove");
	sbx_cgroup_host_close(&other);
}

int
main(void)
{
	if (open_test_base() != 0)
		return done();
	test_bases();
	test_limits();
	test_memory();
	test_pids_and_kill();
	is_int(drop_bases(&host, base + 1), 0, "nothing is left");
	return done();
}
