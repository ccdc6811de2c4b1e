/* Snapshots of trees that somebody hostile made: deep, wide, sparse, moving; all of it or a flag. */
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "snap_help.h"
#include "workspace/measure.h"

#define DEEP 5000
#define WIDE 20000

static char path[] = "/tmp/sbx-unit-XXXXXX";
static int dir;

static void
test_shapes(void)
{
	static const char *const names[] = { "line\nfeed", "\xff\xfe", "-rf", "\x1b[31m", "\\",
		"é" };
	struct shot before, now;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		put_file(dir, names[i], names[i]);
	if (mkfifoat(dir, "fifo", 0600) < 0 || mkdirat(dir, "d", 0700) < 0 ||
		symlinkat("/etc/shadow", dir, "d/link") < 0 || mkdirat(dir, ".sbx", 0700) < 0)
		exit(1);
	put_file(dir, ".sbx/reserved", "1");
	put_file(dir, "d/file", "2");
	before = shot_take(dir, NULL, 1);
	is_int(before.foot.entries, 10, "entries: names of any bytes, each kind, none reserved");
	is_int(before.foot.inodes, 12, "all names are counted");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ok(shot_entry(&before, names[i]) != NULL, "name %zu is there", i);
	ok(shot_entry(&before, "reserved") == NULL, "what is reserved is not");
	if (unlinkat(dir, "d/link", 0) < 0 || symlinkat("/etc/passwd", dir, "d/link") < 0 ||
		unlinkat(dir, "fifo", 0) < 0 || mkdirat(dir, "fifo", 0700) < 0 ||
		linkat(dir, "-rf", dir, "fifo/in", 0) < 0 || unlinkat(dir, "line\nfeed", 0) < 0)
		exit(1);
	now = shot_take(dir, &before, 1);
	ok(strstr(differences(&before, &now), "type_changed fifo\n") != NULL &&
			strstr(differences_text, "created fifo/in\n") != NULL &&
			strstr(differences_text, "modified d/link\n") != NULL &&
			strstr(differences_text, "deleted line\nfeed\n") != NULL,
		"four changes: %s", differences_text);
	is_int(now.foot.flags, 0, "whole and still");
	is_str(differences(&now, &now), "", "nothing beside itself");
	shot_done(&before);
	shot_done(&now);
}

static void
test_sparse(void)
{
	struct shot shot;
	char name[16];
	int fd, refused = 0;

	fd = openat(dir, "huge", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || (ftruncate(fd, INT64_C(1) << 43) < 0 && ftruncate(fd, INT64_C(1) << 40) < 0))
		exit(1);
	close(fd);
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "hole%d", i);
		fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0 || ftruncate(fd, 200 << 20) < 0 || pwrite(fd, "x", 1, 100 << 20) != 1)
			exit(1);
		close(fd);
	}
	shot = shot_take(dir, NULL, 1);
	is_int(shot_entry(&shot, "huge")->digest, SBX_SNAP_TOO_LARGE, "terabytes of a hole");
	ok(sbx_snap_digest(shot_entry(&shot, "huge")) == NULL, "have no digest");
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "hole%d", i);
		refused += shot_entry(&shot, name)->digest == SBX_SNAP_TOO_LARGE;
	}
	is_int(refused, 3, "holes of 1 GiB together are hashed, and no more");
	ok(shot.foot.bytes < 10 << 20, "holes take nothing up");
	shot_done(&shot);
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "hole%d", i);
		unlinkat(dir, name, 0);
	}
	unlinkat(dir, "huge", 0);
}

static void
test_hole_or_zeros(void)
{
	struct shot shot;
	char zeros[65536] = { 0 };
	int hole = openat(dir, "hole", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	int full = openat(dir, "full", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	for (int i = 0; i < 64; i++)
		if (write(full, zeros, sizeof(zeros)) != sizeof(zeros))
			exit(1);
	if (pwrite(full, "end", 3, 3 << 20) != 3 || ftruncate(hole, 4 << 20) < 0 ||
		pwrite(hole, "end", 3, 3 << 20) != 3)
		exit(1);
	close(hole);
	close(full);
	shot = shot_take(dir, NULL, 1);
	ok(memcmp(sbx_snap_digest(shot_entry(&shot, "hole")),
		   sbx_snap_digest(shot_entry(&shot, "full")), SBX_SNAP_DIGEST_BYTES) == 0,
		"a hole reads as zeros");
	shot_done(&shot);
	unlinkat(dir, "hole", 0);
	unlinkat(dir, "full", 0);
}

static void
dig(void)
{
	char name[256];
	int at = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	memset(name, 'n', 255);
	name[255] = '\0';
	for (int i = 0; i < DEEP; i++) {
		int next;

		if (mkdirat(at, name, 0700) < 0)
			exit(1);
		next = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = next;
	}
	put_file(at, "bottom", "x");
	close(at);
}

static void
test_deep_and_wide(void)
{
	const struct rlimit few = { 64, 64 };
	struct shot before, now;
	struct sbx_err err = { 0 };
	struct sbx_measure *measure;
	char name[16];
	struct rlimit was;
	int steps = 0, wide;

	getrlimit(RLIMIT_NOFILE, &was);
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){ few.rlim_cur, was.rlim_max });
	dig();
	if (mkdirat(dir, "wide", 0700) < 0)
		exit(1);
	wide = openat(dir, "wide", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	before = shot_take(dir, NULL, 1);
	ok(shot_entry(&before, "bottom") != NULL, "%d directories deep", DEEP);
	for (int i = 0; i < WIDE; i++) {
		snprintf(name, sizeof(name), "%d", i);
		put_file(wide, name, i % 2 ? name : "");
	}
	now = shot_take(dir, &before, 1);
	is_int(now.foot.entries, before.foot.entries + WIDE, "%d names in one directory", WIDE);
	is_int(now.foot.flags, 0, "whole and still");
	shot_done(&before);
	for (int i = 0; i < WIDE; i += 2) {
		snprintf(name, sizeof(name), "%d", i);
		unlinkat(wide, name, 0);
	}
	before = now;
	now = shot_take(dir, &before, 1);
	(void)differences(&before, &now);
	is_int(before.foot.entries - now.foot.entries, WIDE / 2, "half of them gone");
	ok(strstr(differences_text, "deleted wide/0\n") != NULL &&
			strstr(differences_text, "wide/1\n") == NULL,
		"and told");
	measure = sbx_measure_begin(dir, &err);
	while (measure != NULL && sbx_measure_step(measure, 0, &err) > 0)
		steps++;
	ok(steps > 10, "a count in %d steps", steps);
	is_int(sbx_measure_total(measure)->inodes, now.foot.inodes, "counts the same names");
	is_int(sbx_measure_total(measure)->bytes, now.foot.bytes, "and bytes");
	sbx_measure_end(measure);
	shot_done(&before);
	shot_done(&now);
	close(wide);
	setrlimit(RLIMIT_NOFILE, &was);
}

/* Directories go up and down, names come and go, a file is written without an end. */
__attribute__((noreturn)) static void
disturb(void)
{
	int fd = openat(dir, "busy", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (ftruncate(fd, 8 << 20) < 0 || mkdirat(dir, "m", 0700) < 0 ||
		mkdirat(dir, "m/n", 0700) < 0)
		_exit(1);
	for (unsigned i = 0;; i++) {
		char name[32];

		snprintf(name, sizeof(name), "m/n/%u", i % 50);
		put_file(dir, name, "x");
		if (i % 3 == 0)
			unlinkat(dir, name, 0);
		(void)!renameat(dir, "m/n", dir, "n");
		(void)!pwrite(fd, &i, sizeof(i), (off_t)(i % 2000) * 4096);
		(void)!renameat(dir, "n", dir, "m/n");
	}
}

static void
test_moving(void)
{
	pid_t pid = fork();
	int foreign = 0;

	if (pid == 0)
		disturb();
	usleep(20000);
	for (int i = 0; i < 30; i++) {
		struct sbx_err err = { 0 };
		int sink_fd = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
		const struct sbx_snap_sink sink = { .put = shot_put, .arg = &sink_fd };
		struct sbx_snap_take *take = sbx_snap_begin(dir, NULL, 0, &sink, &err);
		struct shot shot = { .fd = sink_fd };
		int rc;

		while ((rc = sbx_snap_step(take, 1000, &err)) > 0)
			continue;
		sbx_snap_end(take);
		/* A tree that is moved away under the walk is an error; else what came is sound. */
		if (rc == 0 && sbx_snap_open(sink_fd, &shot.snap, &err) != 0)
			foreign++;
		else if (rc == 0 && shot_entry(&shot, "passwd") != NULL)
			foreign++;
		shot_done(&shot);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	is_int(foreign, 0, "30 of a tree that moves: an end, and nothing foreign");
}

static void
test_closed(void)
{
	struct shot shot;
	pid_t pid;
	int status;

	if (mkdirat(dir, "closed", 0700) < 0)
		exit(1);
	put_file(dir, "closed/in", "x");
	put_file(dir, "secret", "x");
	if (fchmodat(dir, "closed", 0, 0) < 0 || fchmodat(dir, "secret", 0, 0) < 0)
		exit(1);
	if (geteuid() == 0) {
		shot = shot_take(dir, NULL, 1);
		ok(shot_entry(&shot, "in") != NULL && shot.foot.flags == 0, "root sees all");
		shot_done(&shot);
	}
	pid = fork();
	if (pid == 0) {
		if (geteuid() == 0 && (fchown(dir, 65534, 65534) < 0 || setuid(65534) < 0))
			_exit(2);
		shot = shot_take(dir, NULL, 1);
		_exit(shot_entry(&shot, "closed") != NULL && shot_entry(&shot, "in") == NULL &&
					shot.foot.flags & SBX_SNAP_PARTIAL &&
					shot_entry(&shot, "secret")->digest == SBX_SNAP_DENIED ?
				0 :
				1);
	}
	waitpid(pid, &status, 0);
	is_int(status, 0, "a plain user is told what it cannot see");
}

int
main(void)
{
	if (mkdtemp(path) == NULL || chmod(path, 0755) < 0)
		return 1;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_shapes();
	test_sparse();
	test_hole_or_zeros();
	test_deep_and_wide();
	test_closed();
	test_moving();
	close(dir);
	temporary_remove(path);
	return done();
}
