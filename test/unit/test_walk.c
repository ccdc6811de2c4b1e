/* base/walk against hostile trees, each removed with at most 64 descriptors. */
#include "base/walk.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scoped.h"
#include "tap.h"

static char top_path[] = "/tmp/sbx-test-walk.XXXXXX"; /* the trees are made in here */
static int top_fd = -1;

static int
make_file(int dir, const char *name)
{
	int fd = openat(dir, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

/* Another name of one file: many times faster than a new one. */
static int
make_name(int dir, const char *name)
{
	return linkat(top_fd, "seed", dir, name, 0);
}

static int
make_dir(int dir, const char *name)
{
	if (mkdirat(dir, name, 0700) < 0)
		return -1;
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int
is_gone(const char *name)
{
	return faccessat(top_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
}

static void
is_removed(const char *name, const char *what)
{
	struct sbx_err err = { 0 };

	is_int(sbx_walk_remove(top_fd, name, &err), 0, "%s: removed", what);
	is_str(err.msg, "", "%s: without a word", what);
	ok(is_gone(name), "%s: gone", what);
}

static void
test_simple(void)
{
	struct sbx_err err = { 0 };

	is_removed("none", "a missing name");
	is_int(mkfifoat(top_fd, "fifo", 0600), 0, "make a FIFO");
	is_removed("fifo", "a FIFO");
	is_int(sbx_walk_remove(top_fd, "..", &err), -1, "never \"..\"");
	is_str(err.msg, "remove \"..\": not a name in a directory", "and named");
	ok(err.code == SBX_E_BAD_REQUEST && sbx_walk_remove(top_fd, ".", &err) < 0 &&
			sbx_walk_remove(top_fd, "", &err) < 0 &&
			sbx_walk_remove(top_fd, "a/b", &err) < 0 &&
			sbx_walk_remove(top_fd, "/tmp", &err) < 0,
		"only a name");
}

static void
test_links_and_names(void)
{
	static const char *const names[] = { "-rf", "new\nline", "\x1b[31m", "\xff\xfe", " ", "*" };
	SBX_AUTO_FD outside = make_dir(top_fd, "outside");
	SBX_AUTO_FD dir = make_dir(top_fd, "tree");
	SBX_AUTO_FD sub = make_dir(dir, "sub");
	size_t i;

	is_int(make_file(outside, "keep"), 0, "a file outside");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		is_int(make_file(dir, names[i]), 0, "name %zu", i);
	ok(symlinkat("/etc", dir, "etc") == 0 && symlinkat("../../outside", sub, "out") == 0 &&
			symlinkat("..", sub, "up") == 0 && symlinkat("self", sub, "self") == 0 &&
			linkat(outside, "keep", sub, "hard", 0) == 0,
		"links");
	is_removed("tree", "links and names");
	ok(access("/etc/passwd", F_OK) == 0 && faccessat(outside, "keep", F_OK, 0) == 0,
		"what links point to stays");
	ok(symlinkat("outside", top_fd, "link") == 0, "the name itself a link");
	is_removed("link", "a link");
	ok(faccessat(outside, "keep", F_OK, 0) == 0, "is not followed");
	is_removed("outside", "the rest");
}

/* Directories of 255-byte names, `depth` of them, each with a file made before and one after. */
static int
make_deep(int depth)
{
	char name[256];
	int at = make_dir(top_fd, "deep"), next, i;

	memset(name, 'd', 255);
	name[255] = '\0';
	for (i = 0; i < depth && at >= 0; i++) {
		if (make_name(at, "a") < 0)
			return -1;
		next = make_dir(at, name);
		if (make_name(at, "z") < 0)
			return -1;
		close(at);
		at = next;
	}
	close(at);
	return at < 0 ? -1 : 0;
}

/* Side branches deeper than the window at several levels: descriptors are closed and reopened. */
static int
make_bushy(void)
{
	char name[16];
	int trunk = make_dir(top_fd, "bushy"), branch, next, i, j, k;

	for (i = 0; i < 12 && trunk >= 0; i++) {
		for (j = 0; j < 3; j++) {
			snprintf(name, sizeof(name), "b%d", j);
			branch = make_dir(trunk, name);
			for (k = 0; k < 40 && branch >= 0; k++) {
				if (make_name(branch, "f") < 0)
					return -1;
				next = make_dir(branch, "n");
				close(branch);
				branch = next;
			}
			if (branch < 0)
				return -1;
			close(branch);
		}
		next = make_dir(trunk, "t");
		close(trunk);
		trunk = next;
	}
	close(trunk);
	return trunk < 0 ? -1 : 0;
}

static void
test_shapes(void)
{
	SBX_AUTO_FD wide = make_dir(top_fd, "wide");
	char name[32];
	int i, made = 0;

	is_int(make_file(top_fd, "seed"), 0, "a file with many names");
	is_int(make_deep(5000), 0, "5,000 levels");
	is_removed("deep", "5,000 levels of 255-byte names");
	is_int(make_bushy(), 0, "a bush");
	is_removed("bushy", "a bush of deep branches");
	for (i = 0; i < 100000; i++) {
		if (i == 50000 &&
			(unlinkat(top_fd, "seed", 0) < 0 || make_file(top_fd, "seed") < 0))
			break; /* ext4 gives a file 65,000 names */
		snprintf(name, sizeof(name), "entry-%d", i);
		made += i % 500 == 0 ? mkdirat(wide, name, 0) == 0 : make_name(wide, name) == 0;
	}
	is_int(made, 100000, "100,000 entries");
	is_removed("wide", "100,000 entries");
	is_removed("seed", "the file");
}

/* As a user without rights: directories that their owner closed. */
static int
remove_closed(void)
{
	struct sbx_err err = { 0 };
	int dir, sub, made;

	if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		return 10;
	dir = make_dir(top_fd, "closed");
	sub = make_dir(dir, "sub");
	made = make_file(sub, "file") == 0 && mkdirat(sub, "dir", 0) == 0 &&
		mkdirat(sub, "readable", 0700) == 0 && mkdirat(sub, "readable/x", 0) == 0 &&
		fchmodat(sub, "readable", 0500, 0) == 0 && fchmod(sub, 0) == 0 &&
		fchmod(dir, 0) == 0;
	if (!made)
		return 11;
	if (sbx_walk_remove(top_fd, "closed", &err) < 0)
		return 12;
	return is_gone("closed") ? 0 : 13;
}

/* In a mount namespace of our own: a mount in the tree, and one on a file. */
static int
remove_mounted(void)
{
	struct sbx_err err = { 0 };
	int dir, sub;

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 77;
	/* the descriptor that we have is in the old namespace, where we may not mount */
	top_fd = open(top_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = make_dir(top_fd, "mounted");
	sub = make_dir(dir, "sub");
	if (make_dir(sub, "mnt\n") < 0 || fchdir(sub) < 0 ||
		mount("none", "mnt\n", "tmpfs", 0, NULL) < 0 || make_file(sub, "mnt\n/keep") < 0)
		return 11;
	if (sbx_walk_remove(top_fd, "mounted", &err) == 0 || err.code != SBX_E_BUSY ||
		strcmp(err.msg, "remove \"mnt\n\" at depth 2: it is a mount point") != 0)
		return 12;
	if (faccessat(sub, "mnt\n/keep", F_OK, 0) < 0)
		return 13;
	if (sbx_walk_remove(sub, "mnt\n", &err) == 0 || err.code != SBX_E_BUSY)
		return 14;
	if (umount2("mnt\n", MNT_DETACH) < 0 || make_file(sub, "f") < 0 ||
		mount("/etc/passwd", "f", NULL, MS_BIND, NULL) < 0)
		return 15;
	if (sbx_walk_remove(top_fd, "mounted", &err) == 0 || err.code != SBX_E_BUSY)
		return 16;
	if (access("/etc/passwd", F_OK) < 0 || umount2("f", MNT_DETACH) < 0)
		return 17;
	return sbx_walk_remove(top_fd, "mounted", &err) == 0 ? 0 : 18;
}

static int
status_of(int (*fn)(void))
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(fn());
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int
set_immutable(const char *name, int on)
{
	SBX_AUTO_FD fd = openat(top_fd, name, O_RDONLY | O_CLOEXEC);
	int flags = on ? FS_IMMUTABLE_FL : 0;

	return ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

static void
test_immutable(void)
{
	struct sbx_err err = { 0 };
	SBX_AUTO_FD dir = make_dir(top_fd, "tree");

	if (make_file(dir, "fixed") < 0 || set_immutable("tree/fixed", 1) < 0) {
		skip(4, "no immutable flag here");
	} else {
		is_int(sbx_walk_remove(top_fd, "tree", &err), -1,
			"an immutable file stops the walk");
		is_int(err.code, SBX_E_DENIED, "as denied");
		is_str(err.msg, "remove \"fixed\" at depth 1: immutable, append-only, or not ours",
			"by name");
		is_int(set_immutable("tree/fixed", 0), 0, "mutable again");
	}
	is_removed("tree", "then the tree");
}

int
main(void)
{
	struct rlimit few = { 64, 64 };
	int status;

	if (mkdtemp(top_path) == NULL || chmod(top_path, 01777) < 0)
		return 1;
	top_fd = open(top_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	is_int(setrlimit(RLIMIT_NOFILE, &few), 0, "64 descriptors");
	test_simple();
	test_links_and_names();
	test_shapes();
	is_int(status_of(remove_closed), 0, "directories of mode 000, as a user");
	status = status_of(remove_mounted);
	if (status == 77)
		skip(1, "no mount namespace");
	else
		is_int(status, 0, "mounts stop the walk and keep their content");
	test_immutable();
	is_int(rmdir(top_path), 0, "nothing else was left");
	return done();
}
