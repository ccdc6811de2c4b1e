/*
 * Control groups on hosts that are not as wished: a plain user without and with a delegated group,
 * no v2 tree, controllers that are missing.
 */
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "cgroup_help.h"

static const struct sbx_cgroup_limits limits = { 1000, 64u << 20, 20 };
static char base[64];
static enum sbx_cgroup_layout layout;
static char unified[256]; /* mount point of v2 */
static int is_mounted;

/* What a child found, sent as one message. */
struct finding {
	int step; /* of the first failure, 0 if there is none */
	enum sbx_cgroup_layout layout;
	char path[256];
	struct sbx_err err;
};

static int
live_steps(const struct sbx_cgroup_host *host, uid_t owner, struct sbx_err *err)
{
	struct sbx_cgroup_command command;
	struct sbx_cgroup_usage usage;
	struct sbx_cgroup cg;
	int tasks[3], count;
	pid_t pid;

	if (sbx_cgroup_make(host, "life", &limits, owner, &cg, err) != 0)
		return 2;
	count = sbx_cgroup_join_files(&cg, tasks, err);
	if (count < 0 || sbx_cgroup_claim(&cg, owner, &command, err) != 0)
		return 3;
	if (!exited(reap(spawn(command.dir_fd, tasks, count, child_exit_7), 5000), 7))
		return 4;
	pid = spawn(command.dir_fd, tasks, count, child_sleep);
	if (sbx_cgroup_kill(&command) != 0 || !killed(reap(pid, 5000)))
		return 5;
	if (sbx_cgroup_usage(&cg, &command, &usage, err) != 0 || !usage.exact || usage.cpu_us == 0)
		return 6;
	sbx_cgroup_command_release(&command);
	sbx_cgroup_close(&cg);
	return 0;
}

/* The whole life of an environment on this host: 0, or the number of the step that failed. */
static int
live(const struct sbx_cgroup_host *host, uid_t owner, struct sbx_err *err)
{
	int failed = live_steps(host, owner, err);

	if (sbx_cgroup_remove(host, "life", failed == 0 ? err : NULL) != 0 && failed == 0)
		failed = 7;
	return failed;
}

static void
look(const char *parent, uid_t owner, struct finding *f)
{
	struct sbx_cgroup_host host;

	if (sbx_cgroup_host_open(parent, &host, &f->err) != 0) {
		f->step = 1;
		return;
	}
	f->layout = host.layout;
	memcpy(f->path, host.unified_path, sizeof(f->path));
	f->step = live(&host, owner, &f->err);
	if (owner == 0)
		(void)drop_bases(&host, base + 1);
	else
		sbx_cgroup_host_close(&host);
}

/* Run `child` in a process of its own and take its finding. */
static struct finding
in_child(void (*child)(struct finding *f))
{
	struct finding f = { .step = -1 };
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return f;
	pid = fork();
	if (pid == 0) {
		struct finding mine = { 0 };

		alarm(CHILD_SECONDS);
		child(&mine);
		_exit(write(ends[1], &mine, sizeof(mine)) == (ssize_t)sizeof(mine) ? 0 : 1);
	}
	close(ends[1]);
	(void)!read(ends[0], &f, sizeof(f));
	close(ends[0]);
	ok(exited(reap(pid, CHILD_SECONDS * 1000), 0), "a child looks");
	return f;
}

static void
drop_to_user(void)
{
	if (setgroups(0, NULL) != 0 || setresgid(TEST_UID, TEST_UID, TEST_UID) != 0 ||
		setresuid(TEST_UID, TEST_UID, TEST_UID) != 0)
		_exit(90);
}

static void
as_user(struct finding *f)
{
	drop_to_user();
	look(NULL, TEST_UID, f);
}

/* What systemd does for Delegate=yes. */
static int
delegate(int dir_fd, const char *name)
{
	static const char *const files[] = { "", "/cgroup.procs", "/tasks",
		"/cgroup.subtree_control", "/cgroup.threads" };
	char path[128];

	if (dir_fd < 0)
		return 0;
	if (mkdirat(dir_fd, name, 0755) != 0 && errno != EEXIST) /* two may be mounted as one */
		return -1;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", name, files[i]);
		if (fchownat(dir_fd, path, TEST_UID, TEST_UID, 0) != 0 && errno != ENOENT)
			return -1;
	}
	snprintf(path, sizeof(path), "%s/cgroup.procs", name);
	dir_fd = openat(dir_fd, path, O_WRONLY | O_CLOEXEC);
	return write(dir_fd, "0", 1) == 1 ? close(dir_fd) : -1;
}

static void
as_delegated_user(struct finding *f)
{
	struct sbx_cgroup_host host;

	if (sbx_cgroup_host_open(base, &host, &f->err) != 0 ||
		delegate(host.memory_fd, "user") != 0 || delegate(host.pids_fd, "user") != 0 ||
		delegate(host.cpu_fd, "user") != 0 || delegate(host.unified_fd, "user") != 0)
		_exit(91);
	sbx_cgroup_host_close(&host);
	drop_to_user();
	look(NULL, TEST_UID, f);
	if (f->step == 0) /* and again, from where the first moved us */
		look(NULL, TEST_UID, f);
}

static void
test_plain_user(void)
{
	struct sbx_cgroup_host host;
	char want[1024];
	struct finding f = in_child(as_user);
	struct sbx_err err = { 0 };

	ok(f.step == 1 && f.err.code == SBX_E_UNAVAILABLE, "a plain user without delegation");
	ok(strstr(f.err.msg, " is not delegated to uid 400000") != NULL, "message: %s", f.err.msg);
	ok(strstr(f.err.hint, "systemd-run --user --scope -p Delegate=yes") != NULL &&
			strstr(f.err.hint, "`cgroup: best-effort`") != NULL,
		"hint: %s", f.err.hint);
	f = in_child(as_delegated_user);
	if (is_mounted) {
		is_int(f.step, 0, "a plain user in a delegated group lives: %s", f.err.msg);
		is_int(f.layout, layout, "same layout");
		snprintf(want, sizeof(want), "%s%s/user", unified, base);
		is_str(f.path, want, "its base is its own group");
	} else {
		is_int(f.layout, SBX_CGROUP_V1, "a plain user finds v1 only");
		ok(f.step == 3 && f.err.code == SBX_E_UNAVAILABLE, "and no groups for commands");
		is_str(f.err.msg, "cgroup: no v2 tree here for groups of commands", "message");
	}
	is_int(sbx_cgroup_host_open(base, &host, &err), 0, "open the base as root");
	is_int(sbx_cgroup_remove(&host, "user", &err), 0, "remove the delegated group");
	is_int(drop_bases(&host, base + 1), 0, "nothing is left");
}

static void
hide(const char *mount_point)
{
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		umount2(mount_point, MNT_DETACH) != 0)
		_exit(92);
}

static void
without_unified(struct finding *f)
{
	hide(unified);
	look(base, 0, f);
}

static void
without_v1_pids(struct finding *f)
{
	hide("/sys/fs/cgroup/pids");
	look(base, 0, f);
}

static void
without_any(struct finding *f)
{
	hide("/sys/fs/cgroup");
	look(base, 0, f);
}

static void
without_any_as_user(struct finding *f)
{
	hide("/sys/fs/cgroup");
	as_user(f);
}

static void
test_missing(void)
{
	struct finding f;
	char want[128];

	if (is_mounted) {
		f = in_child(without_unified);
		is_int(f.step, 0, "without a v2 mount root makes one: %s", f.err.msg);
		snprintf(want, sizeof(want), "(detached)%s", base);
		is_str(f.path, want, "which is said");
		is_int(f.layout, layout, "same layout");
	}
	f = in_child(without_any_as_user);
	ok(f.step == 1 && f.err.code == SBX_E_UNAVAILABLE, "a user without any cgroup mount");
	is_str(f.err.msg, "no cgroup file system is mounted", "message");
	ok(strstr(f.err.hint, "mount cgroup2 on /sys/fs/cgroup") != NULL, "hint: %s", f.err.hint);
	if (layout != SBX_CGROUP_HYBRID || access("/sys/fs/cgroup/pids", F_OK) != 0)
		return;
	f = in_child(without_v1_pids);
	ok(f.step == 1 && f.err.code == SBX_E_UNAVAILABLE, "without one controller");
	is_str(f.err.msg, "no cgroup hierarchy here has the pids controller beside the others",
		"message");
	f = in_child(without_any);
	ok(f.step == 1 && f.err.code == SBX_E_UNAVAILABLE, "v2 without controllers");
	is_str(f.err.msg, "no cgroup hierarchy here has the memory controller", "message");
}

int
main(void)
{
	struct sbx_cgroup_host host;
	struct sbx_err err = { 0 };

	alarm(120);
	if (geteuid() != 0) {
		skip(1, "needs root");
		return done();
	}
	snprintf(base, sizeof(base), "/sbx-test-%d", (int)getpid());
	if (!ok(sbx_cgroup_host_open(base, &host, &err) == 0, "open: %s (%s)", err.msg, err.hint))
		return done();
	layout = host.layout;
	memcpy(unified, host.unified_path, strlen(host.unified_path) - strlen(base));
	is_mounted = unified[0] == '/';
	is_int(drop_bases(&host, base + 1), 0, "nothing is left");
	test_plain_user();
	test_missing();
	return done();
}
