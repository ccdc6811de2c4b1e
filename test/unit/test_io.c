/* base/io: whole reads and writes, attribute files, replacing a file. */
#include "base/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scoped.h"
#include "tap.h"

/* A pipe that a child fills, or empties, in small bites. Answers our end. */
static int
slow_peer(int reads, size_t total, pid_t *pid)
{
	char bite[777];
	size_t done_bytes = 0;
	int ends[2];
	ssize_t n = 1;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	*pid = fork();
	if (*pid == 0) {
		memset(bite, 'x', sizeof(bite));
		close(ends[reads ? 1 : 0]);
		while (n > 0 && done_bytes < total) {
			n = reads ? read(ends[0], bite, sizeof(bite)) :
				    write(ends[1], bite, sizeof(bite));
			done_bytes += n > 0 ? (size_t)n : 0;
		}
		_exit(done_bytes == total ? 0 : 1);
	}
	close(ends[reads ? 0 : 1]);
	return ends[reads ? 1 : 0];
}

static void
test_streams(void)
{
	static char bytes[300000];
	SBX_AUTO_BUF buf = SBX_BUF_INIT(777000);
	struct sbx_err err = { 0 };
	int fd, status = -1;
	pid_t pid = -1;

	fd = slow_peer(1, sizeof(bytes), &pid);
	is_int(sbx_io_write_all(fd, bytes, sizeof(bytes)), 0, "write more than a pipe holds");
	close(fd);
	waitpid(pid, &status, 0);
	is_int(status, 0, "all of it came");

	fd = slow_peer(0, 777000, &pid);
	is_int(sbx_io_read_all(fd, &buf, "peer", &err), 0, "read exactly the cap");
	close(fd);
	waitpid(pid, &status, 0);
	is_int(buf.length, 777000, "all of it came");

	sbx_buf_clear(&buf);
	fd = slow_peer(0, 777777, &pid);
	is_int(sbx_io_read_all(fd, &buf, "peer", &err), -1, "more than the cap");
	close(fd);
	waitpid(pid, &status, 0);
	is_int(err.code, SBX_E_TOO_LARGE, "is too large");
	is_str(err.msg, "peer: larger than 777000 bytes", "and says so");
	sbx_buf_clear(&buf);
	is_int(sbx_io_read_all(-1, &buf, "nothing", &err), -1, "no descriptor");
	is_int(err.code, SBX_E_IO, "is an I/O error");
	is_str(err.msg, "read nothing: Bad file descriptor", "with errno's text");
	is_int(sbx_io_write_all(-1, "x", 1), -1, "write to no descriptor");
	is_int(errno, EBADF, "errno tells");
}

static void
test_read_file(int dir)
{
	SBX_AUTO_BUF buf = SBX_BUF_INIT(5);
	struct sbx_err err = { 0 };

	is_int(sbx_io_read_file(dir, "missing", &buf, &err), -1, "a missing file");
	is_int(err.code, SBX_E_NOT_FOUND, "is not found");
	is_str(err.msg, "open missing: No such file or directory", "and says so");
	is_int(sbx_io_replace_file(dir, "five", "12345", 5, 0640, 0, &err), 0, "five bytes");
	is_int(sbx_io_read_file(dir, "five", &buf, &err), 0, "are read");
	is_str(sbx_buf_str(&buf), "12345", "as they were");
	sbx_buf_clear(&buf);
	is_int(sbx_io_replace_file(dir, "six", "123456", 6, 0640, 0, &err), 0, "six bytes");
	is_int(sbx_io_read_file(dir, "six", &buf, &err), -1, "are over the cap");
	is_str(err.msg, "six: larger than 5 bytes", "and named");
	sbx_buf_clear(&buf);
	ok(symlinkat("five", dir, "link") == 0 && mkfifoat(dir, "fifo", 0600) == 0 &&
			mkdirat(dir, "dir", 0700) == 0,
		"other things");
	is_int(sbx_io_read_file(dir, "link", &buf, &err), -1, "a link is not followed");
	is_int(err.sys, ELOOP, "and named as one");
	is_int(sbx_io_read_file(dir, "fifo", &buf, &err), -1, "a FIFO does not block");
	is_str(err.msg, "fifo: not a regular file", "and is refused");
	is_int(sbx_io_read_file(dir, "dir", &buf, &err), -1, "nor a directory");
}

static void
test_attr(int dir)
{
	char out[6];

	is_int(sbx_io_write_attr(dir, "attr", "x"), -1, "an attribute is never created");
	is_int(errno, ENOENT, "it is missing");
	ok(sbx_io_replace_file(dir, "attr", "max\n", 4, 0600, 0, NULL) == 0, "make one");
	is_int(sbx_io_read_attr(dir, "attr", out, sizeof(out)), 3, "read without its newline");
	is_str(out, "max", "the text");
	is_int(sbx_io_write_attr(dir, "attr", "1234567"), 0, "write");
	is_int(sbx_io_read_attr(dir, "attr", out, sizeof(out)), 5, "read what fits");
	is_str(out, "12345", "terminated");
	is_int(sbx_io_read_attr(dir, "no", out, sizeof(out)), -1, "missing");
	is_int(sbx_io_read_attr(dir, "attr", out, 0), -1, "no room");
	is_int(errno, EINVAL, "is a mistake");
	if (access("/dev/full", W_OK) == 0) {
		is_int(sbx_io_write_attr(AT_FDCWD, "/dev/full", "x"), -1, "a refused write");
		is_int(errno, ENOSPC, "tells why");
	}
}

static int
count_entries(int dir)
{
	DIR *list = fdopendir(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	int count = -2;

	while (list != NULL && readdir(list) != NULL)
		count++;
	closedir(list);
	return count;
}

static void
test_replace(int dir)
{
	SBX_AUTO_BUF buf = SBX_BUF_INIT(100);
	SBX_AUTO_FD path_fd = openat(dir, ".", O_PATH | O_CLOEXEC);
	struct sbx_err err = { 0 };
	char name[300];
	struct stat st;
	int before;

	umask(077);
	is_int(sbx_io_replace_file(dir, "file", "one", 3, 0644, 1, &err), 0, "make, durable");
	is_int(sbx_io_replace_file(path_fd, "file", "second", 6, 0604, 1, &err), 0,
		"replace, by an O_PATH directory");
	ok(fstatat(dir, "file", &st, 0) == 0 && (st.st_mode & 07777) == 0604,
		"the mode is the one asked for, whatever the umask");
	is_int(sbx_io_read_file(dir, "file", &buf, &err), 0, "read");
	is_str(sbx_buf_str(&buf), "second", "the new bytes");
	memset(name, 'n', sizeof(name));
	name[255] = '\0';
	is_int(sbx_io_replace_file(dir, name, "x", 1, 0600, 0, &err), 0, "a name of 255 bytes");
	before = count_entries(dir);
	is_int(sbx_io_replace_file(dir, "dir", "x", 1, 0600, 0, &err), -1, "not over a directory");
	is_str(err.msg, "write dir: Is a directory", "it says why");
	is_int(err.code, SBX_E_IO, "as an I/O error");
	is_int(count_entries(dir), before, "and leaves nothing behind");
	is_int(sbx_io_replace_file(dir, "a/b", "x", 1, 0600, 0, &err), -1,
		"not in another directory");
	is_int(err.code, SBX_E_INTERNAL, "that is a mistake of ours");
	is_int(unlinkat(dir, name, 0), 0, "cleared");
}

int
main(void)
{
	static const char *const names[] = { "five", "six", "link", "fifo", "attr", "file" };
	char template[] = "/tmp/sbx-test-io.XXXXXX";
	SBX_AUTO_FD dir = -1;
	size_t i;

	if (mkdtemp(template) == NULL)
		return 1;
	dir = open(template, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_streams();
	test_read_file(dir);
	test_attr(dir);
	test_replace(dir);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlinkat(dir, names[i], 0);
	unlinkat(dir, "dir", AT_REMOVEDIR);
	is_int(rmdir(template), 0, "nothing else was left");
	return done();
}
