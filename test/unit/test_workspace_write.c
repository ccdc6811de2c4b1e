/* state/workspace_write: files made, replaced and appended to, and those that must not be. */
#include <stdio.h>

#include "base/scoped.h"
#include "workspace_help.h"

static void
test_replace(void)
{
	is_int(write_text(file("new", 0), "hello\n"), SBX_FILES_OK, "a new file");
	ok(is_ok("[ \"$(cat new)\" = hello ] && [ \"$(stat -c %a new)\" = 644 ] && [ -O new ]"),
		"has the bytes, mode 0644 and the owner");
	is_int(write_text(file("empty", 0), ""), SBX_FILES_OK, "a file of 0 bytes");
	ok(is_ok("[ -f empty ] && [ ! -s empty ]"), "is one");
	ok(is_ok("chmod 4751 new; ln new second"), "an old file with a mode of its own");
	is_int(write_text(file("new", 0), "again\n"), SBX_FILES_OK, "is replaced");
	ok(is_ok("[ \"$(cat new)\" = again ] && [ \"$(stat -c %a new)\" = 751 ]"),
		"keeps its permissions and loses setuid");
	ok(is_ok("[ \"$(cat second)\" = hello ]"), "by another file: its other name has the old");
	is_int(write_text(with_mode(file("new", 0), 07600), "x"), SBX_FILES_OK, "with a mode");
	ok(is_ok("[ \"$(stat -c %a new)\" = 600 ]"), "of which the permissions are taken");
	ok(is_ok("chmod 0 new"), "a file that nobody may write");
	is_int(write_text(file("./new", 0), "y"), SBX_FILES_OK, "is replaced too");
	ok(is_ok("[ \"$(stat -c %a new)\" = 0 ]"), "and keeps mode 0000");
	ok(nothing_left() && answer_length == 0, "nothing else is left or said");
}

static void
test_big(void)
{
	static char bytes[3 << 20];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 2654435761u >> 13);
	is_int(write_bytes(file("big", 0), bytes, sizeof(bytes), 1 << 20, 1), SBX_FILES_OK,
		"chunks longer than a piece");
	is_int(serve((struct sbx_files_want){
		       .op = SBX_FILES_READ, .path = "big", .limit = sizeof(bytes) }),
		SBX_FILES_OK, "are read");
	ok(answer_length == sizeof(bytes) && memcmp(answer, bytes, sizeof(bytes)) == 0,
		"as they were written");
	is_int(write_bytes(with_limit(file("big", 0), 10), bytes, 10, 7, 1), SBX_FILES_OK,
		"as many bytes as the limit");
	is_int(write_bytes(with_limit(file("big", 0), 10), bytes, 11, 7, 1), SBX_FILES_NO_SPACE,
		"one more");
	is_int(write_bytes(with_limit(file("none", 0), 0), bytes, 1, 7, 1), SBX_FILES_NO_SPACE,
		"one more than none");
	ok(is_ok("[ \"$(stat -c %s big)\" = 10 ] && [ ! -e none ]") && nothing_left(),
		"leaves the old file, or none");
}

/* What comes in ends, lies about a length, or is none. */
static void
test_broken(void)
{
	static const uint32_t lie = UINT32_MAX;
	SBX_AUTO_FD in = memfd_create("in", MFD_CLOEXEC);

	ok(is_ok("echo old >kept"), "an old file");
	is_int(write_bytes(file("kept", 0), "new bytes", 9, 4, 0), SBX_FILES_BROKEN,
		"no end chunk");
	is_int(write_bytes(file("none", 0), "", 0, 1, 0), SBX_FILES_BROKEN, "nothing at all");
	is_int(serve_from(file("kept", 0), -1), SBX_FILES_BROKEN, "no descriptor");
	is_int(sbx_io_write_all(in, "\1\0", 2), 0, "half a length");
	is_int(lseek(in, 0, SEEK_SET), 0, "from its beginning");
	is_int(serve_from(file("kept", 0), in), SBX_FILES_BROKEN, "is broken");
	ok(ftruncate(in, 0) == 0 && pwrite(in, &lie, sizeof(lie), 0) == sizeof(lie) &&
			pwrite(in, "few", 3, sizeof(lie)) == 3 && lseek(in, 0, SEEK_SET) == 0,
		"a length of 4 GiB and 3 bytes");
	is_int(serve_from(file("kept", 0), in), SBX_FILES_BROKEN, "is broken");
	is_int(lseek(in, 0, SEEK_SET), 0, "from its beginning");
	is_int(serve_from(with_limit(file("kept", 0), 100), in), SBX_FILES_NO_SPACE,
		"under a limit it is too much");
	ok(is_ok("[ \"$(cat kept)\" = old ] && [ ! -e none ]") && nothing_left(),
		"the old file is as it was, nothing is left");
}

static void
test_refused(void)
{
	static const struct {
		const char *path;
		uint32_t flags;
		enum sbx_files_failure failure;
	} cases[] = {
		{ "link", 0, SBX_FILES_SYMLINK },
		{ "link", SBX_FILES_APPEND, SBX_FILES_SYMLINK },
		{ "link", SBX_FILES_NEW, SBX_FILES_EXISTS },
		{ "dangling", 0, SBX_FILES_SYMLINK },
		{ "dangling", SBX_FILES_APPEND, SBX_FILES_SYMLINK },
		{ "way/x", 0, SBX_FILES_SYMLINK },
		{ "way/x", SBX_FILES_PARENTS, SBX_FILES_SYMLINK },
		{ "way/sub/x", SBX_FILES_PARENTS, SBX_FILES_SYMLINK },
		{ "dir", 0, SBX_FILES_IS_A_DIRECTORY },
		{ "dir", SBX_FILES_APPEND, SBX_FILES_IS_A_DIRECTORY },
		{ "pipe", 0, SBX_FILES_SPECIAL },
		{ "pipe", SBX_FILES_APPEND, SBX_FILES_SPECIAL },
		{ "file/x", 0, SBX_FILES_NOT_A_DIRECTORY },
		{ "file/x", SBX_FILES_PARENTS, SBX_FILES_NOT_A_DIRECTORY },
		{ "no/x", 0, SBX_FILES_NOT_FOUND },
		{ "file", SBX_FILES_NEW, SBX_FILES_EXISTS },
		{ "file", SBX_FILES_NEW | SBX_FILES_APPEND, SBX_FILES_EXISTS },
		{ "", 0, SBX_FILES_OUTSIDE },
		{ ".", SBX_FILES_PARENTS, SBX_FILES_OUTSIDE },
		{ "../x", 0, SBX_FILES_OUTSIDE },
		{ "/tmp/x", 0, SBX_FILES_OUTSIDE },
		{ "made/../x", SBX_FILES_PARENTS, SBX_FILES_OUTSIDE },
	};

	ok(is_ok("mkdir dir; echo f >file; ln -s file link; ln -s none dangling; ln -s dir way; "
		 "mkfifo pipe"),
		"what no file may be written through");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		is_int(write_text(file(cases[i].path, cases[i].flags), "bad"), cases[i].failure,
			"\"%s\" with flags %u", cases[i].path, cases[i].flags);
	ok(is_ok("[ \"$(cat file)\" = f ] && [ -z \"$(ls dir)\" ] && [ ! -e none ] && [ ! -e made ]"),
		"nothing was written");
	ok(nothing_left() && faccessat(top_fd, "x", F_OK, 0) < 0, "and nothing is left");
}

static void
test_append(void)
{
	is_int(write_text(with_mode(file("log", SBX_FILES_APPEND), 0640), "one\n"), SBX_FILES_OK,
		"what is not there is made");
	is_int(write_text(file("log", SBX_FILES_APPEND), "two\n"), SBX_FILES_OK, "more behind it");
	ok(is_ok("[ \"$(tr '\\n' ' ' <log)\" = 'one two ' ] && [ \"$(stat -c %a log)\" = 640 ]"),
		"in the order, with its mode");
	is_int(write_text(with_limit(file("log", SBX_FILES_APPEND), 10), "abc"), SBX_FILES_NO_SPACE,
		"the limit is of the whole file");
	is_int(write_text(with_limit(file("log", SBX_FILES_APPEND), 7), ""), SBX_FILES_OK,
		"nothing can be added to more than the limit");
	is_int(write_text(with_limit(file("log", SBX_FILES_APPEND), 10), "ab"), SBX_FILES_OK,
		"up to the limit");
	is_int(write_bytes(file("log", SBX_FILES_APPEND), "part", 4, 4, 0), SBX_FILES_BROKEN,
		"broken input");
	ok(is_ok("[ \"$(cat log)\" = \"$(printf 'one\\ntwo\\nabpart')\" ]"), "is not taken back");
	is_int(write_text(file("log2", SBX_FILES_APPEND | SBX_FILES_NEW), "x"), SBX_FILES_OK,
		"only what is not there");
	ok(is_ok("chmod 444 log"), "a file that its owner may not write");
	is_int(write_text(file("log", SBX_FILES_APPEND), "x"), SBX_FILES_DENIED, "is denied");
}

static void
test_parents(void)
{
	is_int(write_text(file("p/q//r/file", SBX_FILES_PARENTS), "x"), SBX_FILES_OK,
		"directories are made");
	ok(is_ok("[ \"$(cat p/q/r/file)\" = x ] && [ \"$(stat -c %a p/q p/q/r | uniq)\" = 755 ] && "
		 "[ -O p/q ]"),
		"as their owner's, 0755");
	is_int(write_text(file("p/q/file", SBX_FILES_PARENTS), "x"), SBX_FILES_OK, "or are there");
	is_int(write_text(file("p/new", SBX_FILES_NEW), "x"), SBX_FILES_OK, "new");
	is_int(write_text(file("p/new", SBX_FILES_NEW), "y"), SBX_FILES_EXISTS, "but once");
	ok(is_ok("[ \"$(cat p/new)\" = x ]") && nothing_left(), "and stays");
}

/* What only another identity makes true. */
static void
test_rights(void)
{
	ok(is_ok("mkdir closed; chmod 500 closed"), "a directory that its owner closed");
	is_int(write_text(file("closed/x", 0), "x"), SBX_FILES_DENIED, "is closed to us");
	is_int(write_text(file("closed/d/x", SBX_FILES_PARENTS), "x"), SBX_FILES_DENIED,
		"for directories too");
	if (!may_change_identity()) {
		skip(3, "needs root");
		return;
	}
	ok(mkdirat(work_fd, "roots", 0755) == 0 && mkdirat(work_fd, "secret", 0700) == 0 &&
			mkdirat(work_fd, "secret/d", 0777) == 0,
		"directories of root");
	is_int(write_text(file("roots/x", 0), "x"), SBX_FILES_DENIED, "are not written to");
	is_int(write_text(file("secret/d/x", 0), "x"), SBX_FILES_DENIED, "nor searched");
	unlinkat(work_fd, "secret/d", AT_REMOVEDIR);
	unlinkat(work_fd, "secret", AT_REMOVEDIR);
}

int
main(void)
{
	workspace_make();
	test_replace();
	test_big();
	test_broken();
	test_refused();
	test_append();
	test_parents();
	test_rights();
	workspace_remove();
	return done();
}
