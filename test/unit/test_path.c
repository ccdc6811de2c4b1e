/* base/path: nothing leaves the directory, nothing follows a link, nothing blocks. */
#include "base/path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "base/walk.h"
#include "tap.h"

static int
errno_of(int fd)
{
	int sys = fd < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return sys;
}

static void
make_tree(int dir)
{
	int made = mkdirat(dir, "a", 0755) == 0 && mkdirat(dir, "a/b", 0755) == 0 &&
		errno_of(openat(dir, "a/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0644)) == 0 &&
		symlinkat("/etc", dir, "a/etc") == 0 && symlinkat("..", dir, "a/up") == 0 &&
		symlinkat("file", dir, "a/link") == 0 && mkfifoat(dir, "a/fifo", 0600) == 0;

	ok(made, "a tree");
}

static void
test_beneath(int dir)
{
	SBX_AUTO_FD fd = sbx_path_open_beneath(dir, "a/file", O_RDONLY, 0);

	ok(fd >= 0, "a file beneath");
	is_int(fcntl(fd, F_GETFD), FD_CLOEXEC, "close-on-exec");
	ok((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0, "non-blocking");
	is_int(errno_of(sbx_path_open_beneath(dir, "a/../a/b/../file", O_RDONLY, 0)), 0,
		"\"..\" that stays beneath");
	is_int(errno_of(sbx_path_open_beneath(dir, "a/../..", O_RDONLY, 0)), EXDEV, "that leaves");
	is_int(errno_of(sbx_path_open_beneath(dir, "/etc", O_RDONLY, 0)), EXDEV, "absolute");
	is_int(errno_of(sbx_path_open_beneath(dir, "a/etc/passwd", O_RDONLY, 0)), ELOOP,
		"a link on the way");
	is_int(errno_of(sbx_path_open_beneath(dir, "a/link", O_RDONLY, 0)), ELOOP,
		"a link at the end");
	is_int(errno_of(sbx_path_open_beneath(dir, "a/none", O_RDONLY, 0)), ENOENT, "missing");
	is_int(errno_of(sbx_path_open_beneath(dir, "a/fifo", O_RDONLY, 0)), 0,
		"a FIFO without a writer");
	is_int(errno_of(sbx_path_open_beneath(dir, "a/b", O_PATH | O_DIRECTORY, 0755)), 0,
		"O_PATH");
	is_int(errno_of(sbx_path_open_beneath(dir, "a/new", O_CREAT | O_EXCL | O_WRONLY, 0600)), 0,
		"create");
	is_int(errno_of(sbx_path_open_beneath(dir, "a/b", O_TMPFILE | O_RDWR, 0600)), 0,
		"O_TMPFILE");
}

static void
test_in_root(int dir)
{
	struct stat st, want;
	SBX_AUTO_FD fd = sbx_path_open_in_root(dir, "/../../a/up/../a/up/a/b", O_PATH);

	ok(fd >= 0 && fstat(fd, &st) == 0 && fstatat(dir, "a/b", &want, 0) == 0 &&
			st.st_ino == want.st_ino,
		"links and \"..\" end at the root");
	is_int(errno_of(sbx_path_open_in_root(dir, "a/etc", O_PATH)), ENOENT,
		"an absolute link points into the root");
	is_int(errno_of(sbx_path_open_in_root(dir, "/a/link", O_RDONLY)), 0, "a link inside");
}

static void
test_mkdirs(int dir)
{
	char name[300];
	struct stat st;
	SBX_AUTO_FD fd = sbx_path_mkdirs(dir, "x/y//z/", 0750);

	ok(fd >= 0 && fstatat(dir, "x/y/z", &st, 0) == 0 && S_ISDIR(st.st_mode), "three made");
	ok((fcntl(fd, F_GETFL) & O_PATH) != 0, "the last is answered, O_PATH");
	is_int(errno_of(sbx_path_mkdirs(dir, "x/y/w", 0750)), 0, "one more");
	is_int(errno_of(sbx_path_mkdirs(dir, "x/y/w", 0750)), 0, "there already");
	is_int(errno_of(sbx_path_mkdirs(dir, "a/up/evil", 0750)), ELOOP, "not through a link");
	is_int(errno_of(sbx_path_mkdirs(dir, "a/etc/evil", 0750)), ELOOP, "whatever it points to");
	is_int(errno_of(sbx_path_mkdirs(dir, "x/../../evil", 0750)), EXDEV, "not by \"..\"");
	is_int(errno_of(sbx_path_mkdirs(dir, "/tmp/evil", 0750)), EXDEV, "not absolute");
	is_int(errno_of(sbx_path_mkdirs(dir, "", 0750)), ENOENT, "not nothing");
	is_int(errno_of(sbx_path_mkdirs(dir, "a/file/x", 0750)), ENOTDIR, "not through a file");
	memset(name, 'n', sizeof(name));
	name[256] = '\0';
	is_int(errno_of(sbx_path_mkdirs(dir, name, 0750)), ENAMETOOLONG, "a long name");
}

static void
test_private(const char *top, int dir)
{
	struct sbx_err err = { 0 };
	char path[128], want[256];

	snprintf(path, sizeof(path), "%s/state", top);
	is_int(sbx_path_open_private(path, 0700, 0, &err), -1, "missing, not to be made");
	is_int(err.code, SBX_E_NOT_FOUND, "is not found");
	is_int(errno_of(sbx_path_open_private(path, 0700, 1, &err)), 0, "made");
	is_int(errno_of(sbx_path_open_private(path, 0700, 1, &err)), 0, "there already");
	is_int(fchmodat(dir, "state", 0770, 0), 0, "open to the group");
	is_int(sbx_path_open_private(path, 0700, 1, &err), -1, "the group may write");
	is_int(err.code, SBX_E_DENIED, "is denied");
	snprintf(want, sizeof(want), "%s: others may write to it (mode 0770)", path);
	is_str(err.msg, want, "by name");
	is_int(fchmodat(dir, "state", 0755, 0), 0, "readable by all is fine");
	snprintf(path, sizeof(path), "%s/a/up", top);
	is_int(sbx_path_open_private(path, 0700, 1, &err), -1, "a link");
	is_int(err.code, SBX_E_DENIED, "is denied");
	snprintf(path, sizeof(path), "%s/a/file", top);
	is_int(sbx_path_open_private(path, 0700, 0, &err), -1, "a file");
	is_int(err.code, SBX_E_DENIED, "is denied");
	if (geteuid() != 0) {
		skip(3, "only root can give a directory away");
		return;
	}
	snprintf(path, sizeof(path), "%s/state", top);
	snprintf(want, sizeof(want), "%s: belongs to user 12345, not to us or root", path);
	is_int(fchownat(dir, "state", 12345, 0, 0), 0, "given away");
	is_int(sbx_path_open_private(path, 0700, 0, &err), -1, "is denied");
	is_str(err.msg, want, "by name");
}

static void
test_clean(void)
{
	static const char *const clean[] = { "/", "/a", "/a/b", "/...", "/.a", "/a.", "/..a/b",
		"/\xc3\xa9" };
	static const char *const unclean[] = { "", "a", "//", "/a//b", "/a/", "/.", "/..", "/a/./b",
		"/a/../b", "/a/..", "./a", "/a\n", "/\x7f", "/a\tb" };
	char path[5000];
	size_t i;

	for (i = 0; i < sizeof(clean) / sizeof(clean[0]); i++)
		ok(sbx_path_is_clean_absolute(clean[i]), "clean: %s", clean[i]);
	for (i = 0; i < sizeof(unclean) / sizeof(unclean[0]); i++)
		ok(!sbx_path_is_clean_absolute(unclean[i]), "not clean: case %zu", i);
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[4096] = '\0';
	ok(!sbx_path_is_clean_absolute(path), "4,096 bytes are too many");
	path[4095] = '\0';
	ok(sbx_path_is_clean_absolute(path), "4,095 are not");
}

int
main(void)
{
	char template[] = "/tmp/sbx-test-path.XXXXXX";
	struct sbx_err err = { 0 };
	SBX_AUTO_FD dir = -1;

	umask(022);
	if (mkdtemp(template) == NULL)
		return 1;
	dir = open(template, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_tree(dir);
	test_beneath(dir);
	test_in_root(dir);
	test_mkdirs(dir);
	test_private(template, dir);
	test_clean();
	is_int(chdir("/tmp"), 0, "up");
	is_int(sbx_walk_remove(AT_FDCWD, template + strlen("/tmp/"), &err), 0, "all is removed");
	return done();
}
