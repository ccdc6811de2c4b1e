/*
 * When a digest of an earlier snapshot is believed. It is seen by planting a false one: what comes
 * back was not read, and what does not was. The other way round, every way to write without a trace
 * in a name or a restored stamp is told as modified.
 */
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "snap_help.h"

static char path[] = "/tmp/sbx-unit-XXXXXX";
static int dir;

/* A digest that no file has. */
static void
plant(unsigned char *bytes, size_t length)
{
	const struct sbx_snap snap = { .bytes = bytes, .length = length };
	const struct sbx_snap_entry *entry;
	uint32_t place = SBX_SNAP_FIRST;

	while ((entry = sbx_snap_next(&snap, &place)) != NULL)
		if (entry->digest == SBX_SNAP_SETTLED)
			memset((unsigned char *)(uintptr_t)(entry + 1), 0xee,
				SBX_SNAP_DIGEST_BYTES);
}

static void
plant_and_reboot(unsigned char *bytes, size_t length)
{
	plant(bytes, length);
	((struct sbx_snap_head *)(void *)bytes)->boot_id[3] ^= 1;
}

static void
plant_and_step(unsigned char *bytes, size_t length)
{
	plant(bytes, length);
	((struct sbx_snap_head *)(void *)bytes)->wall_less_boot_ns += 3600 * INT64_C(1000000000);
}

static void
plant_and_move(unsigned char *bytes, size_t length)
{
	plant(bytes, length);
	((struct sbx_snap_head *)(void *)bytes)->dev ^= 1;
}

static int
is_planted(const struct shot *shot, const char *name)
{
	const struct sbx_snap_entry *entry = shot_entry(shot, name);
	const unsigned char *digest = entry == NULL ? NULL : sbx_snap_digest(entry);

	return digest != NULL && digest[0] == 0xee && digest[31] == 0xee;
}

static int
believed(const struct shot *from, void (*tamper)(unsigned char *bytes, size_t length),
	const char *name)
{
	struct shot planted, now;
	int answer;

	if (shot_tamper(from, tamper, 1, &planted) != SBX_OK)
		return -1;
	now = shot_take(dir, &planted, 1);
	answer = is_planted(&now, name);
	shot_done(&planted);
	shot_done(&now);
	return answer;
}

static void
test_reuse(void)
{
	struct shot fresh, settled, loud;

	put_file(dir, "file", "content");
	put_file(dir, "empty", "");
	if (symlinkat("target", dir, "link") < 0)
		exit(1);
	fresh = shot_take(dir, NULL, 1);
	is_int(shot_entry(&fresh, "file")->digest, SBX_SNAP_FRESH, "just written: fresh");
	is_int(shot_entry(&fresh, "empty")->digest, SBX_SNAP_NONE, "an empty file needs none");
	is_int(believed(&fresh, plant, "file"), 0, "fresh: read again");
	let_settle();
	settled = shot_take(dir, &fresh, 1);
	is_int(shot_entry(&settled, "file")->digest, SBX_SNAP_SETTLED, "some ticks later: settled");
	is_int(shot_entry(&settled, "link")->digest, SBX_SNAP_SETTLED, "the link, too");
	is_int(believed(&settled, plant, "file"), 1, "settled and untouched: not read again");
	is_int(believed(&settled, plant, "link"), 1, "the link: not read again");
	is_int(believed(&settled, plant_and_reboot, "file"), 0, "another boot: read again");
	is_int(believed(&settled, plant_and_step, "file"), 0, "the clock was set: read again");
	is_int(believed(&settled, plant_and_move, "file"), 0, "another file system: read again");
	loud = shot_take(dir, NULL, 0);
	is_int(shot_entry(&loud, "file")->digest, SBX_SNAP_FRESH,
		"somebody may write: never settled");
	shot_done(&loud);
	/* Moved with its directory, it is the same file all the same. */
	if (mkdirat(dir, "d", 0700) < 0 || renameat(dir, "file", dir, "d/other") < 0)
		exit(1);
	is_int(believed(&settled, plant, "other"), 0, "rename moves ctime: read again");
	shot_done(&settled);
	shot_done(&fresh);
	let_settle();
	settled = shot_take(dir, NULL, 1);
	if (renameat(dir, "d", dir, "e") < 0)
		exit(1);
	is_int(believed(&settled, plant, "other"), 1, "its directory renamed: not read again");
	shot_done(&settled);
}

static void
set_time(const char *name, const struct stat *st)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };

	if (utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		exit(1);
}

/* `write` changes "victim", which has 8 bytes, and is told. */
static void
check_told(const char *what, void (*change)(void), const char *want)
{
	struct shot before, now;

	put_file(dir, "victim", "12345678");
	put_file(dir, "second", "abcdefgh");
	let_settle();
	before = shot_take(dir, NULL, 1);
	change();
	now = shot_take(dir, &before, 1);
	is_str(differences(&before, &now), want, "%s", what);
	shot_done(&before);
	shot_done(&now);
}

static void
rewrite(void)
{
	struct stat st;

	if (fstatat(dir, "victim", &st, 0) < 0)
		exit(1);
	put_file(dir, "victim", "87654321");
	set_time("victim", &st);
}

static void
exchange(void)
{
	if (renameat2(dir, "victim", dir, "second", RENAME_EXCHANGE) < 0)
		exit(1);
}

static void
replace(void)
{
	struct stat st;

	if (fstatat(dir, "victim", &st, 0) < 0 || unlinkat(dir, "victim", 0) < 0)
		exit(1);
	put_file(dir, "victim", "87654321");
	set_time("victim", &st);
}

static void
store(void)
{
	int fd = openat(dir, "victim", O_RDWR | O_CLOEXEC);
	char *map = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	volatile char sink;

	if (map == MAP_FAILED)
		exit(1);
	sink = map[0]; /* the page is there before it is stored to */
	(void)sink;
	map[0] = 'X';
	munmap(map, 8);
	close(fd);
}

static void
store_in_a_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		store();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void
permit(void)
{
	if (fchmodat(dir, "victim", 0640, 0) < 0)
		exit(1);
}

static void
name_again(void)
{
	if (linkat(dir, "victim", dir, "third", 0) < 0)
		exit(1);
}

static void
there_and_back(void)
{
	if (unlinkat(dir, "victim", 0) < 0 || mkdirat(dir, "victim", 0700) < 0 ||
		unlinkat(dir, "victim", AT_REMOVEDIR) < 0)
		exit(1);
	put_file(dir, "victim", "12345678");
}

static void
write_by_other_name(void)
{
	put_file(dir, "third", "ABCDEFGH");
}

static void
test_told(void)
{
	check_told("rewritten, time restored", rewrite, "modified victim\n");
	check_told("exchanged with another of its size", exchange,
		"modified victim\nmodified second\n");
	check_told("replaced, time restored", replace, "modified victim\n");
	check_told("stored to through a mapping", store, "modified victim\n");
	check_told("the same by a process that has ended", store_in_a_child, "modified victim\n");
	check_told("permissions alone", permit, "mode_changed victim\n");
	check_told("gone and back", there_and_back, "mode_changed victim\n"); /* 0600 again */
	check_told("a second name", name_again, "created third\n");
	check_told("written by another name", write_by_other_name,
		"modified victim\nmodified third\n");
}

/* Where no stamp tells of a store, nothing is believed. */
static void
test_memory(void)
{
	char shm[] = "/dev/shm/sbx-unit-XXXXXX";
	struct shot before, now;
	int disk = dir;

	if (mkdtemp(shm) == NULL) {
		ok(1, "tmpfs # SKIP /dev/shm cannot be written");
		return;
	}
	dir = open(shm, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put_file(dir, "victim", "12345678");
	let_settle();
	before = shot_take(dir, NULL, 1);
	is_int(shot_entry(&before, "victim")->digest, SBX_SNAP_FRESH, "tmpfs: never settled");
	store();
	now = shot_take(dir, &before, 1);
	is_str(differences(&before, &now), "modified victim\n",
		"tmpfs: a store without a trace is told");
	shot_done(&before);
	shot_done(&now);
	unlinkat(dir, "victim", 0);
	close(dir);
	rmdir(shm);
	dir = disk;
}

int
main(void)
{
	struct statfs fs;

	if (mkdtemp(path) == NULL)
		return 1;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fstatfs(dir, &fs) == 0 && fs.f_type != TMPFS_MAGIC && fs.f_type != 0x794c7630)
		test_reuse();
	test_told();
	test_memory();
	close(dir);
	temporary_remove(path);
	return done();
}
