/* Groups of commands by doing, as root: claims, dead claimers, the way in, removal. */
#include <sys/prctl.h>
#include <time.h>

#include "cgroup_env.h"

static void
child_burn(void)
{
	struct timespec now;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while (now.tv_sec == 0 && now.tv_nsec < 200000000);
}

static void
claim_and_die(void)
{
	struct sbx_cgroup_command command;

	if (sbx_cgroup_claim(&cg, TEST_UID, &command, &err) != 0 ||
		spawn(command.dir_fd, NULL, 0, child_sleep) < 0)
		_exit(1);
	(void)poll(NULL, 0, 100); /* until it has closed its copy of the lock */
	_exit(sbx_cgroup_freeze(&command, 1) == 0 ? 0 : 1);
}

static void
test_claims(void)
{
	struct sbx_cgroup_command a, b;
	struct sbx_cgroup_usage usage;
	pid_t pid;

	set_up("claims", &(struct sbx_cgroup_limits){ 0, 64 * MIB, 30 });
	pid = fork();
	if (pid == 0)
		claim_and_die();
	ok(exited(reap(pid, 5000), 0), "a claimer dies, its frozen process stays");
	ok(sbx_cgroup_claim(&cg, TEST_UID, &a, &err) == 0 && a.number == 0, "its lock is free");
	is_int(sbx_cgroup_populated(&a), 0, "its process is killed");
	ok(waitpid(-1, NULL, WNOHANG) > 0, "and dead");
	ok(strstr(attr(a.dir_fd, "cgroup.events"), "frozen 0") != NULL, "the group is thawed");
	ok(exited(reap(spawn(a.dir_fd, tasks, task_count, child_burn), 10000), 0), "burn 200 ms");
	is_int(sbx_cgroup_usage(&cg, &a, &usage, &err), 0, "usage");
	ok(usage.cpu_us > 150000 && usage.cpu_us < 2000000, "cpu of %llu us",
		(unsigned long long)usage.cpu_us);
	ok(usage.exact, "alone: exact");
	ok(sbx_cgroup_claim(&cg, TEST_UID, &b, &err) == 0 && b.number == 1,
		"a second claim gets c1");
	is_int(sbx_cgroup_usage(&cg, &b, &usage, &err), 0, "usage");
	ok(usage.cpu_us < 50000, "cpu is counted by group");
	if (!v2())
		ok(!usage.exact, "two at a time: not exact");
	sbx_cgroup_command_release(&b);
	is_int(sbx_cgroup_usage(&cg, &a, &usage, &err), 0, "usage");
	if (!v2())
		ok(!usage.exact, "the first knows of the second that came and went");
	sbx_cgroup_command_release(&a);
	sbx_cgroup_command_release(NULL);
	ok(sbx_cgroup_claim(&cg, TEST_UID, &a, &err) == 0 && a.number == 0, "c0 is claimed again");
	is_int(sbx_cgroup_usage(&cg, &a, &usage, &err), 0, "usage");
	ok(usage.cpu_us < 50000, "the next command begins at 0 us");
	if (!v2())
		ok(usage.exact, "alone again");
	sbx_cgroup_command_release(&a);
	tear_down("claims");
}

/* pid 1's way: born in init, joined, dropped; then its commands are born in claimed groups. */
static void
test_enter(void)
{
	struct sbx_cgroup_command command;
	struct sbx_cgroup_totals totals;
	int init_fd, status[2];
	pid_t pid;

	set_up("enter", &(struct sbx_cgroup_limits){ 0, 64 * MIB, 30 });
	init_fd = sbx_cgroup_init_dir(&cg);
	ok(init_fd >= 0, "init directory");
	ok(sbx_cgroup_claim(&cg, TEST_UID, &command, &err) == 0, "claim: %s", err.msg);
	for (unsigned i = 0; i < 2; i++) {
		struct clone_args args = { .exit_signal = SIGCHLD,
			.flags = CLONE_INTO_CGROUP,
			.cgroup = (unsigned)init_fd };

		pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
		if (pid == 0) {
			alarm(CHILD_SECONDS);
			/* The uid goes first: the descriptors carry the right to join. */
			if (setresgid(TEST_UID, TEST_UID, TEST_UID) != 0 ||
				setresuid(TEST_UID + i, TEST_UID + i, TEST_UID + i) != 0 ||
				sbx_cgroup_join(tasks, task_count) != 0)
				_exit(98);
			pid = spawn(command.dir_fd, NULL, 0, child_exit_7);
			_exit(pid < 0 ? errno : exited(reap(pid, 5000), 7) ? 0 : 97);
		}
		status[i] = reap(pid, 10000);
	}
	ok(exited(status[0], 0), "the owner joins and clones into a command's group");
	ok(exited(status[1], EACCES), "another uid does not");
	pid = spawn(init_fd, tasks, task_count, child_sleep);
	(void)poll(NULL, 0, 50);
	is_int(sbx_cgroup_totals(&cg, &totals), 0, "totals");
	is_int(totals.pids, 1, "one task inside");
	close(init_fd);
	sbx_cgroup_command_release(&command);
	tear_down("enter");
	ok(killed(reap(pid, 1000)), "remove kills what lives");
	is_int(sbx_cgroup_remove(&host, "enter", &err), 0, "remove twice");
	ok(sbx_cgroup_open(&host, "enter", &cg, &err) < 0 && err.code == SBX_E_NOT_FOUND,
		"it is gone");
}

int
main(void)
{
	if (open_test_base() != 0)
		return done();
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* for the process of the dead claimer */
	test_claims();
	test_enter();
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	is_int(drop_bases(&host, base + 1), 0, "nothing is left");
	return done();
}
