/*
 * Landlock domains: writes only where they are allowed, nothing outside to signal or connect to.
 * Each case runs in a child that enters a domain over two directories and a device.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/scoped.h"
#include "child.h"
#include "kernel/landlock.h"
#include "tap.h"

enum { NO_DOMAIN = 254 };

static char in_path[64], out_path[64], out_file[80];
static int abi, ruleset = -1, listener = -1;
static pid_t sibling;
static struct sockaddr_un abstract;
static socklen_t abstract_length;

/* Cases run in a domain and return an errno, 0 for success. */
static int
in_domain(const void *arg)
{
	int (*const *run)(void) = arg;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0 || sbx_landlock_enter(ruleset) != 0)
		return NO_DOMAIN;
	return (*run)() == 0 ? 0 : errno;
}

static int
open_close(const char *path, int flags)
{
	SBX_AUTO_FD fd = open(path, flags | O_CLOEXEC, 0600);

	return fd < 0 ? -1 : 0;
}

static int
work_inside(void)
{
	if (chdir(in_path) != 0 || open_close("a", O_CREAT | O_EXCL | O_RDWR) != 0 ||
		truncate("a", 10) != 0 || mkdir("d", 0700) != 0 || rename("a", "d/a") != 0 ||
		symlink("d/a", "s") != 0 || link("d/a", "l") != 0 || mkfifo("f", 0600) != 0)
		return -1;
	if (unlink("d/a") != 0 || unlink("s") != 0 || unlink("l") != 0 || unlink("f") != 0)
		return -1;
	return rmdir("d");
}

static int
create_outside(void)
{
	return chdir(out_path) != 0 ? 0 : open_close("new", O_CREAT | O_WRONLY);
}

static int
mkdir_outside(void)
{
	return chdir(out_path) != 0 ? 0 : mkdir("new", 0700);
}

static int
write_outside(void)
{
	return open_close(out_file, O_WRONLY);
}

static int
truncate_outside(void)
{
	return truncate(out_file, 0);
}

static int
unlink_outside(void)
{
	return unlink(out_file);
}

static int
move_in(void)
{
	return chdir(in_path) != 0 ? 0 : rename(out_file, "stolen");
}

static int
read_outside(void)
{
	return open_close(out_file, O_RDONLY);
}

static int
write_null(void)
{
	return open_close("/dev/null", O_WRONLY | O_TRUNC);
}

static int
write_zero(void)
{
	return open_close("/dev/zero", O_WRONLY);
}

static int
ask_device(const char *path)
{
	SBX_AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);
	int size;

	return ioctl(fd, TIOCGWINSZ, &size);
}

static int
ask_null(void)
{
	return ask_device("/dev/null");
}

static int
ask_zero(void)
{
	return ask_device("/dev/zero");
}

static int
signal_parent(void)
{
	return kill(getppid(), 0);
}

static int
signal_itself(void)
{
	return kill(getpid(), 0);
}

static int
connect_abstract(void)
{
	SBX_AUTO_FD sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return connect(sock, (const struct sockaddr *)&abstract, abstract_length);
}

/* A second domain of the same ruleset, beside this one. */
static int
signal_sibling(void)
{
	return kill(sibling, 0);
}

struct row {
	const char *name;
	int (*run)(void);
	int min_abi, want;
};

static const struct row rows[] = {
	{ "a tree is open to all kinds of writing", work_inside, 2, 0 },
	{ "no new file elsewhere", create_outside, 2, EACCES },
	{ "no new directory elsewhere", mkdir_outside, 2, EACCES },
	{ "no writing elsewhere", write_outside, 2, EACCES },
	{ "no truncation elsewhere", truncate_outside, 3, EACCES },
	{ "no removal elsewhere", unlink_outside, 2, EACCES },
	{ "nothing is moved in from elsewhere", move_in, 2, EACCES },
	{ "reading is not handled", read_outside, 2, 0 },
	{ "a listed device is written and truncated", write_null, 2, 0 },
	{ "another device is not", write_zero, 2, EACCES },
	{ "an ioctl reaches a listed device", ask_null, 5, ENOTTY },
	{ "an ioctl does not reach another device", ask_zero, 5, EACCES },
	{ "a process signals itself", signal_itself, 2, 0 },
	{ "no signal leaves the domain", signal_parent, 6, EPERM },
	{ "no abstract socket outside is reached", connect_abstract, 6, EPERM },
};

static void
test_rows(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (abi < rows[i].min_abi)
			skip(1, "this kernel's Landlock is older");
		else
			is_int(in_child(in_domain, &rows[i].run), rows[i].want, "%s", rows[i].name);
	}
}

static void
test_siblings(void)
{
	int (*run)(void) = signal_sibling;
	int ready[2];
	char byte;

	if (abi < 6 || pipe2(ready, O_CLOEXEC) != 0) {
		skip(1, "this kernel's Landlock is older");
		return;
	}
	sibling = fork();
	if (sibling == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0 &&
			sbx_landlock_enter(ruleset) == 0 && write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	ok(read(ready[0], &byte, 1) == 1, "a sibling is in its domain");
	close(ready[0]);
	is_int(in_child(in_domain, &run), EPERM, "one command's domain does not signal another's");
	kill(sibling, SIGKILL);
	waitpid(sibling, NULL, 0);
}

static void
test_failures(void)
{
	const int bad = -1;
	struct sbx_err err = { 0 };
	char want[32];

	ok(sbx_landlock_make(&bad, 1, NULL, 0, &err) == -1 && err.code == SBX_E_IO &&
			err.sys == EBADF,
		"a bad tree is an I/O error with its errno");
	is_str(err.msg, "landlock: add descriptor -1: Bad file descriptor", "and says which");
	ok(sbx_landlock_enter(-1) == -1 && errno == EBADF, "entering no ruleset: EBADF");
	ok((fcntl(ruleset, F_GETFD) & FD_CLOEXEC) != 0, "the ruleset is close-on-exec");
	snprintf(want, sizeof(want), "landlock:%d", abi < 7 ? abi : 7);
	is_str(sbx_landlock_name(), want, "the name tells the ABI in use");
}

static int
prepare(const char *dir)
{
	SBX_AUTO_FD tree = -1;
	SBX_AUTO_FD null = open("/dev/null", O_PATH | O_CLOEXEC);

	snprintf(in_path, sizeof(in_path), "%s/in", dir);
	snprintf(out_path, sizeof(out_path), "%s/out", dir);
	snprintf(out_file, sizeof(out_file), "%s/file", out_path);
	if (mkdir(in_path, 0700) != 0 || mkdir(out_path, 0700) != 0 ||
		open_close(out_file, O_CREAT | O_WRONLY) != 0)
		return -1;
	tree = open(in_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ruleset = sbx_landlock_make(&tree, 1, &null, 1, NULL);

	abstract.sun_family = AF_UNIX;
	snprintf(abstract.sun_path + 1, sizeof(abstract.sun_path) - 1, "sbx-test-%d", getpid());
	abstract_length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
		strlen(abstract.sun_path + 1));
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (const struct sockaddr *)&abstract, abstract_length) != 0)
		return -1;
	return listen(listener, 1);
}

int
main(void)
{
	char dir[] = "/tmp/sbx-landlock-XXXXXX";

	abi = sbx_landlock_abi();
	if (abi < 2) {
		skip(1, "no Landlock of ABI 2 in this kernel");
		return done();
	}
	if (mkdtemp(dir) == NULL || prepare(dir) != 0 || !ok(ruleset >= 0, "a ruleset is made"))
		return 1;
	test_rows();
	test_siblings();
	test_failures();
	close(listener);
	close(ruleset);
	unlink(out_file);
	ok(rmdir(out_path) == 0 && rmdir(in_path) == 0 && rmdir(dir) == 0, "nothing is left");
	return done();
}
