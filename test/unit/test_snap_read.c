/* Snapshots that were damaged or forged: every one is refused by its code, and none is read further. */
#include "snap_help.h"

static char path[] = "/tmp/sbx-unit-XXXXXX";
static struct shot whole;
static size_t victim; /* what the tampering is about */

static void
flip(unsigned char *bytes, size_t length)
{
	if (victim < length)
		bytes[victim] ^= 0x55;
}

static struct sbx_snap_entry *
entry_of(unsigned char *bytes, const char *name)
{
	const struct sbx_snap_entry *entry = shot_entry(&whole, name);

	return (void *)(bytes + ((const unsigned char *)entry - whole.snap.bytes));
}

static char *
name_of(unsigned char *bytes, const char *name)
{
	return (char *)(uintptr_t)sbx_snap_name(entry_of(bytes, name));
}

static void
next_version(unsigned char *bytes, size_t length)
{
	(void)length;
	((struct sbx_snap_head *)(void *)bytes)->version++;
}

static void
other_magic(unsigned char *bytes, size_t length)
{
	(void)length;
	bytes[0] = 'S';
}

static void
slash(unsigned char *bytes, size_t length)
{
	(void)length;
	name_of(bytes, "file")[1] = '/';
}

static void
nul(unsigned char *bytes, size_t length)
{
	(void)length;
	name_of(bytes, "file")[1] = '\0';
}

static void
dots(unsigned char *bytes, size_t length)
{
	(void)length;
	memcpy(name_of(bytes, "ab"), "..", 2);
}

static void
no_name(unsigned char *bytes, size_t length)
{
	(void)length;
	entry_of(bytes, "file")->name_bytes = 0;
}

static void
long_name(unsigned char *bytes, size_t length)
{
	(void)length;
	entry_of(bytes, "file")->name_bytes = 250;
}

static void
unknown_digest(unsigned char *bytes, size_t length)
{
	(void)length;
	entry_of(bytes, "empty")->digest = 77;
}

static void
digest_too_many(unsigned char *bytes, size_t length)
{
	(void)length;
	entry_of(bytes, "empty")->digest = SBX_SNAP_SETTLED;
}

static void
no_parent(unsigned char *bytes, size_t length)
{
	(void)length;
	entry_of(bytes, "in")->parent = 12345;
}

static void
parent_is_a_file(unsigned char *bytes, size_t length)
{
	(void)length;
	entry_of(bytes, "in")->parent =
		(uint32_t)(((const unsigned char *)shot_entry(&whole, "file") - whole.snap.bytes) /
			8);
}

static void
foot_early(unsigned char *bytes, size_t length)
{
	(void)length;
	entry_of(bytes, "in")->parent = SBX_SNAP_FOOT;
}

static void
wrong_count(unsigned char *bytes, size_t length)
{
	((struct sbx_snap_foot *)(void *)(bytes + length - sizeof(struct sbx_snap_foot)))
		->entries++;
}

static void
strange_time(unsigned char *bytes, size_t length)
{
	(void)length;
	entry_of(bytes, "file")->mtime_nsec = 1000000000;
}

static void
check_sealed(void)
{
	static const struct {
		const char *name;
		void (*tamper)(unsigned char *bytes, size_t length);
		enum sbx_code want;
	} cases[] = { { "another version", next_version, SBX_E_UNAVAILABLE },
		{ "no snapshot at all", other_magic, SBX_E_CORRUPT },
		{ "a slash in a name", slash, SBX_E_CORRUPT },
		{ "a NUL in a name", nul, SBX_E_CORRUPT }, { "the name ..", dots, SBX_E_CORRUPT },
		{ "no name", no_name, SBX_E_CORRUPT },
		{ "a name beyond its entry", long_name, SBX_E_CORRUPT },
		{ "an unknown kind of digest", unknown_digest, SBX_E_CORRUPT },
		{ "a digest that is not there", digest_too_many, SBX_E_CORRUPT },
		{ "a parent that is nowhere", no_parent, SBX_E_CORRUPT },
		{ "a parent that is a file", parent_is_a_file, SBX_E_CORRUPT },
		{ "an end in the middle", foot_early, SBX_E_CORRUPT },
		{ "another number of entries", wrong_count, SBX_E_CORRUPT },
		{ "a time that cannot be", strange_time, SBX_E_CORRUPT } };
	struct shot forged;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum sbx_code code = shot_tamper(&whole, cases[i].tamper, 1, &forged);

		is_int(code, cases[i].want, "%s", cases[i].name);
		if (code == SBX_OK)
			shot_done(&forged);
	}
}

static void
check_every_byte(void)
{
	struct shot forged;
	size_t accepted = 0;

	for (victim = 0; victim < whole.snap.length; victim++)
		if (shot_tamper(&whole, flip, 0, &forged) == SBX_OK) {
			shot_done(&forged);
			accepted++;
		}
	is_int(accepted, 0, "each of %zu bytes, flipped", whole.snap.length);
}

static void
check_every_length(void)
{
	struct sbx_snap snap;
	struct sbx_err err = { 0 };
	size_t accepted = 0, other = 0;

	for (size_t length = 0; length < whole.snap.length; length++) {
		unsigned char *bytes = sbx_mem_alloc(length + 1, 1);

		memcpy(bytes, whole.snap.bytes, length);
		err = (struct sbx_err){ 0 };
		accepted += sbx_snap_borrow(bytes, length, &snap, &err) == 0;
		other += err.code != SBX_E_CORRUPT;
		free(bytes);
	}
	is_int(accepted, 0, "each shorter length");
	is_int(other, 0, "and each is corrupt");
}

static void
check_files(int dir)
{
	struct sbx_snap snap;
	struct sbx_err err = { 0 };
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ok(sbx_snap_open(fd, &snap, &err) < 0 && err.code == SBX_E_CORRUPT, "a device is none");
	close(fd);
	put_file(dir, "empty", "");
	fd = openat(dir, "empty", O_RDONLY | O_CLOEXEC);
	err = (struct sbx_err){ 0 };
	ok(sbx_snap_open(fd, &snap, &err) < 0 && err.code == SBX_E_CORRUPT,
		"an empty file is none");
	sbx_snap_close(&snap);
	close(fd);
}

int
main(void)
{
	int dir;

	if (mkdtemp(path) == NULL)
		return 1;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put_file(dir, "file", "content");
	put_file(dir, "empty", "");
	put_file(dir, "ab", "content");
	if (mkdirat(dir, "d", 0700) < 0)
		return 1;
	put_file(dir, "d/in", "side");
	whole = shot_take(dir, NULL, 1);
	is_int(whole.foot.entries, 5, "the whole one is read");
	is_int(whole.foot.inodes, 5, "all names are counted");
	check_sealed();
	check_every_byte();
	check_every_length();
	check_files(dir);
	shot_done(&whole);
	close(dir);
	temporary_remove(path);
	return done();
}
