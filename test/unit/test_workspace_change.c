/*
 * state/workspace_change: what is made, renamed and removed, and what must not be; then again on a
 * kernel without openat2 and renameat2.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "workspace_help.h"

static int
make(const char *path, unsigned flags, uint32_t mode)
{
	return serve((struct sbx_files_want){
		.op = SBX_FILES_MKDIR, .path = path, .flags = flags, .mode = mode });
}

static int
move(const char *path, const char *to, unsigned flags)
{
	return serve((struct sbx_files_want){
		.op = SBX_FILES_RENAME, .path = path, .to = to, .flags = flags });
}

static int
take_away(const char *path, unsigned flags)
{
	return serve((struct sbx_files_want){
		.op = SBX_FILES_REMOVE, .path = path, .flags = flags });
}

/* Each test begins with an empty workspace. */
static void
fresh(const char *script)
{
	if (!is_ok("chmod -R u+rwx .; rm -rf ./* ./.[!.]*") || !is_ok(script)) {
		printf("Bail out! %s\n", script);
		exit(1);
	}
}

static void
test_make(void)
{
	fresh("echo f >file; mkdir d; ln -s d way");
	is_int(make("new", 0, SBX_FILES_MODE_KEPT), SBX_FILES_OK, "a new directory");
	is_int(make("mode", 0, 07710), SBX_FILES_OK, "with a mode");
	ok(is_ok("[ \"$(stat -c %a new)\" = 755 ] && [ \"$(stat -c %a mode)\" = 710 ] && [ -O new ]"),
		"0755, or the permissions of that, the owner's");
	is_int(make("new", 0, 0700), SBX_FILES_EXISTS, "once");
	is_int(make("way", 0, 0700), SBX_FILES_EXISTS, "not where a link is");
	is_int(make("new/", SBX_FILES_PARENTS, 0700), SBX_FILES_OK, "with parents it may be there");
	ok(is_ok("[ \"$(stat -c %a new)\" = 755 ]"), "as it is");
	is_int(make("file", SBX_FILES_PARENTS, 0700), SBX_FILES_NOT_A_DIRECTORY, "no file");
	is_int(make("way", SBX_FILES_PARENTS, 0700), SBX_FILES_SYMLINK, "no link");
	is_int(make("way/x", SBX_FILES_PARENTS, 0700), SBX_FILES_SYMLINK, "none above either");
	is_int(make("a/b", 0, 0700), SBX_FILES_NOT_FOUND, "nothing above");
	is_int(make("a/b/c", SBX_FILES_PARENTS, 0700), SBX_FILES_OK, "is made");
	ok(is_ok("[ \"$(stat -c %a a a/b a/b/c | tr '\\n' ' ')\" = '755 755 700 ' ]"),
		"of which the last has the mode");
	is_int(make("", 0, 0700), SBX_FILES_OUTSIDE, "not the workspace");
	is_int(make(".", 0, 0700), SBX_FILES_OUTSIDE, "by no name");
	is_int(make("./", SBX_FILES_PARENTS, 0700), SBX_FILES_OK, "but it is there");
	is_int(make("z/../../x", SBX_FILES_PARENTS, 0700), SBX_FILES_OUTSIDE, "nothing outside");
	is_int(make("/tmp/x", SBX_FILES_PARENTS, 0700), SBX_FILES_OUTSIDE, "nothing absolute");
	ok(is_ok("[ ! -e z ] && [ -z \"$(ls d)\" ]"), "and nothing on the way");
}

static void
test_rename(void)
{
	fresh("mkdir -p d/sub e full; echo a >a; echo b >b; : >full/f; ln -s a link; mkfifo pipe");
	is_int(move("a", "d/a2", 0), SBX_FILES_OK, "a file to another directory");
	ok(is_ok("[ ! -e a ] && [ \"$(cat d/a2)\" = a ]"), "is there");
	is_int(move("d/a2", "b", SBX_FILES_NEW), SBX_FILES_EXISTS, "not over another");
	ok(is_ok("[ \"$(cat b)\" = b ] && [ \"$(cat d/a2)\" = a ]"), "both stay");
	is_int(move("d/a2", "b", 0), SBX_FILES_OK, "unless so asked");
	ok(is_ok("[ \"$(cat b)\" = a ] && [ ! -e d/a2 ]"), "the other is gone");
	is_int(move("b", "c", SBX_FILES_NEW), SBX_FILES_OK, "to a new name");
	is_int(move("link", "link2", SBX_FILES_NEW), SBX_FILES_OK, "a link itself");
	is_int(move("pipe", "pipe2", SBX_FILES_NEW), SBX_FILES_OK, "a special file");
	is_int(move("d", "d2", SBX_FILES_NEW), SBX_FILES_OK, "a directory");
	ok(is_ok("[ -f c ] && [ ! -e b ] && [ -L link2 ] && [ ! -L link ] && [ -p pipe2 ] && "
		 "[ ! -e pipe ] && [ -d d2/sub ] && [ ! -e d ]"),
		"all have their new names alone");
	is_int(move("d2", "e", SBX_FILES_NEW), SBX_FILES_EXISTS, "not over an empty directory");
	is_int(move("d2", "e", 0), SBX_FILES_OK, "unless so asked");
	is_int(move("e", "full", 0), SBX_FILES_NOT_EMPTY, "never over a full one");
	is_int(move("e", "c", 0), SBX_FILES_NOT_A_DIRECTORY, "a directory over a file");
	is_int(move("c", "e", 0), SBX_FILES_IS_A_DIRECTORY, "a file over a directory");
	is_int(move("e", "e/sub/x", 0), SBX_FILES_OUTSIDE, "a directory below itself");
	is_int(move("e", "e/sub/x", SBX_FILES_NEW), SBX_FILES_OUTSIDE, "as a new name too");
	ok(is_ok("[ -d e/sub ] && [ ! -e e/sub/x ]"), "stays where it is");
	is_int(move("e", "", 0), SBX_FILES_OUTSIDE, "not to the workspace");
	is_int(move(".", "x", 0), SBX_FILES_OUTSIDE, "nor the workspace");
	is_int(move("c", "../x", 0), SBX_FILES_OUTSIDE, "not out of it");
	is_int(move("../x", "c", 0), SBX_FILES_OUTSIDE, "nothing into it");
	is_int(move("none", "x", 0), SBX_FILES_NOT_FOUND, "what is not there");
	is_int(move("c", "none/x", 0), SBX_FILES_NOT_FOUND, "to where nothing is");
	is_int(move("link2/x", "x", 0), SBX_FILES_SYMLINK, "from behind a link");
	is_int(move("c", "link2/x", 0), SBX_FILES_SYMLINK, "to behind a link");
}

static void
test_remove(void)
{
	fresh("mkdir -p d full/sub out; : >f; : >full/f; : >out/keep; mkfifo pipe; ln -s out link; "
	      "ln -s ../../out full/sub/up; ln -s /etc full/etc");
	is_int(take_away("f", 0), SBX_FILES_OK, "a file");
	is_int(take_away("pipe", 0), SBX_FILES_OK, "a special file");
	is_int(take_away("d", 0), SBX_FILES_OK, "an empty directory");
	is_int(take_away("link", SBX_FILES_RECURSIVE), SBX_FILES_OK, "a link itself");
	is_int(take_away("full", 0), SBX_FILES_NOT_EMPTY, "not a full one");
	is_int(take_away("full", SBX_FILES_RECURSIVE), SBX_FILES_OK, "unless so asked");
	ok(is_ok("[ \"$(ls -A)\" = out ] && [ -f out/keep ] && [ -f /etc/passwd ]"),
		"what links point to stays");
	is_int(take_away("f", 0), SBX_FILES_NOT_FOUND, "what is not there");
	is_int(take_away("f", SBX_FILES_RECURSIVE), SBX_FILES_NOT_FOUND, "is told");
	is_int(take_away("", SBX_FILES_RECURSIVE), SBX_FILES_OUTSIDE, "not the workspace");
	is_int(take_away("./", SBX_FILES_RECURSIVE), SBX_FILES_OUTSIDE, "by no name");
	is_int(take_away("out/..", SBX_FILES_RECURSIVE), SBX_FILES_OUTSIDE, "nor from below");
	is_int(take_away("out/keep/x", 0), SBX_FILES_NOT_A_DIRECTORY, "nothing below a file");
	fresh("mkdir -p c/in/d; : >c/in/f; chmod 0 c/in/d c/in; chmod 500 c");
	is_int(take_away("c", SBX_FILES_RECURSIVE), SBX_FILES_OK, "directories that are closed");
	ok(is_ok("[ -z \"$(ls -A)\" ]"), "are gone");
	fresh("mkdir -p p/d; : >p/f; chmod 500 p");
	is_int(take_away("p/f", 0), SBX_FILES_DENIED, "but the one above must be writable");
	is_int(take_away("p/d", SBX_FILES_RECURSIVE), SBX_FILES_DENIED, "in either way");
	if (!may_change_identity()) {
		skip(2, "needs root");
		return;
	}
	fresh("mkdir t");
	ok(mkdirat(work_fd, "t/roots", 0755) == 0 && mkdirat(work_fd, "t/roots/x", 0777) == 0,
		"a directory of root");
	is_int(take_away("t", SBX_FILES_RECURSIVE), SBX_FILES_DENIED,
		"is not the owner's to empty");
	unlinkat(work_fd, "t/roots/x", AT_REMOVEDIR);
	unlinkat(work_fd, "t/roots", AT_REMOVEDIR);
}

/* 600 levels of 200 bytes: the path is 30 times PATH_MAX. Few descriptors. */
static void
test_deep(void)
{
	struct rlimit before, few = { 64, 64 };

	fresh("name=$(printf '%0200d' 0); mkdir deep; cd deep; i=0; while [ $i -lt 600 ]; do "
	      "mkdir $name; : >file; cd -P $name; i=$((i + 1)); done");
	is_int(getrlimit(RLIMIT_NOFILE, &before), 0, "the limit of descriptors");
	few.rlim_max = before.rlim_max;
	is_int(setrlimit(RLIMIT_NOFILE, &few), 0, "is 64");
	is_int(take_away("deep", SBX_FILES_RECURSIVE), SBX_FILES_OK, "a deep tree");
	is_int(setrlimit(RLIMIT_NOFILE, &before), 0, "as before");
	ok(is_ok("[ -z \"$(ls -A)\" ]"), "is gone");
}

/* A directory of the tree turns into a link to a foreign one and back, as fast as can be. */
static void
test_swapped(void)
{
	int other = 0, rc;
	pid_t pid;

	fresh(":");
	if (mkdirat(top_fd, "foreign", 0777) < 0 || fchmodat(top_fd, "foreign", 0777, 0) < 0 ||
		!is_ok("mkdir ../foreign/keep"))
		exit(1);
	pid = fork();
	if (pid == 0) {
		become_owner();
		for (;;) {
			mkdirat(work_fd, "t", 0777);
			mkdirat(work_fd, "t/d", 0777);
			mkdirat(work_fd, "t/d/keep", 0777);
			unlinkat(work_fd, "t/d/keep", AT_REMOVEDIR);
			unlinkat(work_fd, "t/d", AT_REMOVEDIR);
			if (symlinkat("../../foreign", work_fd, "t/d") == 0)
				unlinkat(work_fd, "t/d", 0);
		}
	}
	for (int i = 0; i < 300; i++) {
		rc = take_away(i % 2 == 0 ? "t" : "t/d/keep", SBX_FILES_RECURSIVE);
		other += rc != SBX_FILES_OK && rc != SBX_FILES_NOT_FOUND && rc != SBX_FILES_IO &&
			rc != SBX_FILES_SYMLINK && rc != SBX_FILES_NOT_A_DIRECTORY;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	is_int(other, 0, "a tree that changes: removed, or refused");
	ok(faccessat(top_fd, "foreign/keep", F_OK, 0) == 0, "never another");
	is_int(take_away("t", SBX_FILES_RECURSIVE) == SBX_FILES_IO, 0,
		"and whole when it is quiet");
	unlinkat(top_fd, "foreign/keep", AT_REMOVEDIR);
	unlinkat(top_fd, "foreign", AT_REMOVEDIR);
}

/* In a mount namespace of our own. */
static void
test_mounts(void)
{
	pid_t pid;
	int rc;

	fresh("mkdir -p t/mnt; : >t/z");
	rc = by_child(&pid);
	if (pid != 0) {
		if (rc == 77)
			skip(1, "no mount namespace");
		else
			is_int(rc, 0, "a mount is neither removed, renamed nor entered");
		return;
	}
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		_exit(77);
	if (chdir(top_path) < 0 || mount("none", "workspace/t/mnt", "tmpfs", 0, "mode=0777") < 0 ||
		mkdir("workspace/t/mnt/keep", 0777) < 0)
		_exit(1);
	work_fd = open("workspace", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (take_away("t/mnt", 0) != SBX_FILES_OUTSIDE ||
		take_away("t/mnt", SBX_FILES_RECURSIVE) != SBX_FILES_OUTSIDE ||
		move("t/mnt", "x", 0) != SBX_FILES_OUTSIDE ||
		move("t/z", "t/mnt", 0) != SBX_FILES_OUTSIDE ||
		move("t/z", "t/mnt/z", 0) != SBX_FILES_OUTSIDE ||
		make("t/mnt/d", SBX_FILES_PARENTS, 0700) != SBX_FILES_OUTSIDE ||
		make("t/mnt", SBX_FILES_PARENTS, 0700) != SBX_FILES_OUTSIDE)
		_exit(2);
	if (take_away("t", SBX_FILES_RECURSIVE) != SBX_FILES_OUTSIDE)
		_exit(3);
	_exit(access("workspace/t/mnt/keep", F_OK) == 0 ? 0 : 4);
}

/* As gVisor of 2022, from here on. */
static int
age_kernel(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void
test_all(void)
{
	test_make();
	test_rename();
	test_remove();
	test_deep();
	test_swapped();
	test_mounts();
}

int
main(void)
{
	workspace_make();
	test_all();
	if (age_kernel())
		test_all();
	else
		skip(1, "no seccomp");
	workspace_remove();
	return done();
}
