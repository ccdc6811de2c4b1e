/* state/workspace_list and state/tree: every name once, page by page, however deep and whatever happens. */
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "workspace_help.h"

#define NAMES_MAX 4096

static char *names[NAMES_MAX];
static size_t names_count;

static void
forget_names(void)
{
	while (names_count > 0)
		free(names[--names_count]);
}

/* The answer's names behind those that are there; -1 if it is not whole entries. */
static int
take_names(void)
{
	struct sbx_files_entry entry;
	size_t at = 0;

	while (at < answer_length) {
		if (answer_length - at < sizeof(entry) || names_count == NAMES_MAX)
			return -1;
		memcpy(&entry, answer + at, sizeof(entry));
		at += sizeof(entry);
		if (entry.name_bytes == 0 || entry.name_bytes > answer_length - at)
			return -1;
		names[names_count++] = strndup(answer + at, entry.name_bytes);
		at += entry.name_bytes;
	}
	return 0;
}

static int
list(const char *path, unsigned flags, uint64_t offset, uint64_t limit)
{
	int rc = serve((struct sbx_files_want){ .op = SBX_FILES_LIST,
		.path = path,
		.flags = flags,
		.offset = offset,
		.limit = limit });

	return take_names() == 0 ? rc : -1;
}

/* 1 + where it stands; 0: nowhere. */
static size_t
where(const char *name)
{
	for (size_t i = 0; i < names_count; i++)
		if (strcmp(names[i], name) == 0)
			return i + 1;
	return 0;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t
distinct(void)
{
	size_t count = names_count > 0;

	qsort(names, names_count, sizeof(names[0]), by_name);
	for (size_t i = 1; i < names_count; i++)
		count += strcmp(names[i - 1], names[i]) != 0;
	return count;
}

static void
test_shape(void)
{
	is_ok("mkdir -p a/b/c d; : >a/b/c/f; : >a/b/g; : >top; ln -s /etc link; ln -s a way; mkfifo d/p");
	is_int(list("", 0, 0, 100), SBX_FILES_OK, "a directory");
	is_int(names_count, 5, "has its own names alone");
	forget_names();
	is_int(list("", SBX_FILES_RECURSIVE, 0, 100), SBX_FILES_OK, "with all below");
	ok(names_count == 10 && where("a/b/c/f") && where("a/b/g") && where("d/p") &&
			where("link") && !where("link/passwd") && !where("way/b"),
		"has paths from the directory on, and nothing behind links");
	ok(where("a") + 1 == where("a/b") && where("a/b/c") + 1 == where("a/b/c/f"),
		"what a directory holds stands right behind it");
	forget_names();
	is_int(list("a", SBX_FILES_RECURSIVE, 0, 100), SBX_FILES_OK, "of one below");
	ok(names_count == 4 && where("b/c/f"), "relative to that");
	forget_names();
	is_int(list("", SBX_FILES_RECURSIVE, 0, 10), SBX_FILES_OK, "as many as there are");
	forget_names();
	is_int(list("", SBX_FILES_RECURSIVE, 0, 9), SBX_FILES_TOO_LARGE, "one less");
	is_int(names_count, 9, "is what was asked for");
	forget_names();
	is_int(list("", SBX_FILES_RECURSIVE, 10, 9), SBX_FILES_OK, "behind the last");
	is_int(names_count, 0, "is nothing");
	is_int(list("way", SBX_FILES_RECURSIVE, 0, 9), SBX_FILES_SYMLINK, "not behind a link");
	is_int(list("top", SBX_FILES_RECURSIVE, 0, 9), SBX_FILES_NOT_A_DIRECTORY, "nor of a file");
}

/* 40 directories in each other, wider than a read of a directory, listed in pages of 7. */
static void
test_pages(void)
{
	size_t offset = 0;
	int rc;

	is_ok("i=0; name=$(printf '%0100d' 0); mkdir pages; cd pages; while [ $i -lt 40 ]; do "
	      "j=0; while [ $j -lt 20 ]; do : >$name.$j; j=$((j + 1)); done; "
	      "mkdir -p x/y z; cd x; i=$((i + 1)); done");
	do {
		rc = list("pages", SBX_FILES_RECURSIVE, offset, 7);
		offset += 7;
	} while (rc == SBX_FILES_TOO_LARGE && offset < NAMES_MAX);
	is_int(rc, SBX_FILES_OK, "page by page");
	is_int(names_count, 40 * 23, "as many names as there are");
	is_int(distinct(), 40 * 23, "each once");
	forget_names();
	is_int(list("pages", 0, 3, 100), SBX_FILES_OK, "from the fourth on");
	is_int(names_count, 19, "of 22");
	forget_names();
}

static void
test_deep(void)
{
	struct rlimit few = { 64, 64 };
	size_t longest = 0;

	is_ok("name=$(printf '%0200d' 0); mkdir far; cd far; i=0; while [ $i -lt 400 ]; do "
	      "mkdir $name; cd -P $name; i=$((i + 1)); done");
	is_ok("mkdir steep; cd steep; i=0; while [ $i -lt 1100 ]; do mkdir d; cd -P d; i=$((i + 1)); done");
	is_int(setrlimit(RLIMIT_NOFILE, &few), 0, "64 descriptors");
	is_int(list("steep", SBX_FILES_RECURSIVE, 0, 2000), SBX_FILES_OK, "1,100 levels");
	is_int(names_count, 1024, "are listed down to 1,024");
	forget_names();
	is_int(list("far", SBX_FILES_RECURSIVE, 300, 2000), SBX_FILES_OK, "paths beyond the limit");
	for (size_t i = 0; i < names_count; i++)
		longest = strlen(names[i]) > longest ? strlen(names[i]) : longest;
	ok(longest < SBX_FILES_PATH_MAX && longest > SBX_FILES_PATH_MAX - 512 &&
			300 + names_count == (longest + 1) / 201,
		"are listed as long as they are within it");
	forget_names();
	is_int(serve((struct sbx_files_want){ .op = SBX_FILES_MEASURE, .path = "steep" }),
		SBX_FILES_OK, "measured");
	is_int(((struct sbx_files_measured *)(void *)answer)->inodes, 1100, "all of it");
}

/* Names come and go: never a failure, and what stays is there. */
static void
test_changing(void)
{
	int bad = 0, missing = 0, foreign = 0;
	pid_t pid;

	is_ok("mkdir -p busy/stays/in; ln -s /etc busy/swap");
	pid = fork();
	if (pid == 0) {
		become_owner();
		for (;;) {
			mkdirat(work_fd, "busy/d", 0777);
			mkdirat(work_fd, "busy/d/e", 0777);
			unlinkat(work_fd, "busy/d/e", AT_REMOVEDIR);
			unlinkat(work_fd, "busy/d", AT_REMOVEDIR);
			renameat(work_fd, "busy/swap", work_fd, "busy/d");
			renameat(work_fd, "busy/d", work_fd, "busy/swap");
		}
	}
	for (int i = 0; i < 300; i++) {
		bad += list("busy", SBX_FILES_RECURSIVE, 0, 100) != SBX_FILES_OK;
		missing += where("stays") == 0 || where("stays/in") == 0;
		foreign += where("d/passwd") != 0;
		forget_names();
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	is_int(bad, 0, "no failure while names come and go");
	is_int(missing, 0, "what stays is listed");
	is_int(foreign, 0, "and nothing behind a link");
}

static void
test_closed(void)
{
	is_ok("mkdir -p part/closed/in; chmod 0 part/closed");
	is_int(list("part", SBX_FILES_RECURSIVE, 0, 100), SBX_FILES_OK, "a closed directory");
	if (may_change_identity())
		is_int(names_count, 2, "is read by root");
	else
		is_int(names_count, 1, "is listed, not what it holds");
	ok(where("closed"), "itself");
	forget_names();
	is_ok("chmod 700 part/closed");
}

int
main(void)
{
	workspace_make();
	test_shape();
	test_pages();
	test_closed();
	test_changing();
	test_deep();
	workspace_remove();
	return done();
}
