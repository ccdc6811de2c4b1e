/*
 * Tries to take more of the disk than the workspace's limit of bytes, its argument, by the ways that a
 * size or a walk does not see. It must fail by ENOSPC or EDQUOT, and all it took must be free again.
 */
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>

#include "guest.h"

static unsigned long long limit;

/* Free bytes of the file system of the workspace, which is its own where the kernel bounds it. */
static unsigned long long
room(void)
{
	struct statfs fs;

	return statfs(".", &fs) < 0 ? 0 : (unsigned long long)fs.f_bavail * (unsigned)fs.f_bsize;
}

static int
is_full(int error)
{
	return error == ENOSPC || error == EDQUOT;
}

static int
make(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0) {
		perror(name);
		exit(1);
	}
	return fd;
}

/* Twice the limit in one call, also beyond the end of the file, where no size shows it. */
static void
allocate(const char *name, int mode)
{
	unsigned long long before = room();
	int fd = make("f");
	int rc = fallocate(fd, mode, 0, (off_t)(2 * limit)), error = errno;

	guest_must(rc < 0 && is_full(error), name, "%d %s", rc, strerror(error));
	/* ext4 keeps what it got so far; unlinked and open it is still held to the limit. */
	unlink("f");
	close(fd);
	guest_must(room() + 65536 >= before, "space.back", "%llu of %llu", room(), before);
}

/* Filled, unlinked and held open: what is gone by name is not free. */
static void
unlinked(void)
{
	static char bytes[65536];
	unsigned long long taken = 0, before = room();
	int fds[3], full = 0;

	for (int i = 0; i < 3; i++) {
		ssize_t n;

		fds[i] = make("u");
		unlink("u");
		while ((n = write(fds[i], bytes, sizeof(bytes))) > 0)
			taken += (unsigned long long)n;
		full += n < 0 && is_full(errno);
	}
	guest_must(full == 3 && taken <= limit, "unlinked", "%llu bytes, %d full", taken, full);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	guest_must(room() + 65536 >= before, "space.back", "%llu of %llu", room(), before);
}

/* A hole of an exbibyte is nothing; what is written into it counts. */
static void
sparse(void)
{
	unsigned long long before = room();
	int fd = make("s");

	for (int bit = 60; bit > 30 && ftruncate(fd, (off_t)1 << bit) < 0; bit--)
		continue;
	guest_must(room() + 65536 >= before, "sparse", "%llu of %llu", room(), before);
	close(fd);
	unlink("s");
}

static void
links(void)
{
	unsigned long long before = room();
	char name[16];
	int i;

	close(make("l"));
	for (i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "l%d", i);
		if (link("l", name) < 0)
			break;
	}
	guest_must(room() + 65536 >= before, "links", "%llu of %llu", room(), before);
	while (i-- > 0) {
		snprintf(name, sizeof(name), "l%d", i);
		unlink(name);
	}
	unlink("l");
}

/* As many attributes as it takes: each of them is paid for. */
static void
attributes(void)
{
	static char value[3000];
	unsigned long long before = room(), set = 0;
	char name[32];
	int error = 0, files = 0;

	for (; files < 900 && error == 0; files++) {
		snprintf(name, sizeof(name), "x%d", files);
		close(make(name));
		/* ext4 keeps one block for values that are the same. */
		memcpy(value, name, sizeof(name));
		if (setxattr(name, "user.a", value, sizeof(value), 0) < 0)
			error = errno;
		else
			set += sizeof(value);
	}
	guest_must(set <= before - room() + 65536 || error == EOPNOTSUPP, "attributes",
		"%llu bytes in %llu", set, before - room());
	while (files-- > 0) {
		snprintf(name, sizeof(name), "x%d", files);
		unlink(name);
	}
}

int
main(int argc, char **argv)
{
	limit = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	allocate("fallocate", 0);
	allocate("fallocate.keep_size", FALLOC_FL_KEEP_SIZE);
	unlinked();
	sparse();
	links();
	attributes();
	return guest_end();
}
