/*
 * The processes of an environment, from /proc of the host: pid 1 inside is the father of whoever
 * lost his. A list of those who fork while it is made is never whole. Never touches a process.
 */
#include "mech/native/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/io.h"
#include "base/scoped.h"
#include "workspace/linked.h"

#define LOOKS_MAX 65536

/* What one thread forked. */
static int
add_of_thread(const char *path, int pids[], int most, int count)
{
	char text[65536];
	char *at = text;

	if (sbx_io_read_attr(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return count;
	while (count < most) {
		char *end;
		long child = strtol(at, &end, 10);

		if (end == at || child <= 0)
			break;
		pids[count++] = (int)child;
		at = end;
	}
	return count;
}

/* Every thread's, since a child is listed only under the thread that forked it. */
static int
add_children(int pid, int pids[], int most, int count)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/children", pid, entry->d_name);
		count = add_of_thread(path, pids, most, count);
	}
	if (dir != NULL)
		closedir(dir);
	return count;
}

int
sbx_native_processes(int64_t init_pid, int pids[], int most)
{
	int count = 1;

	pids[0] = (int)init_pid;
	for (int i = 0; i < count; i++)
		count = add_children(pids[i], pids, most, count);
	return count;
}

/* Nameless files that were met. */
struct held {
	uint64_t dev, bytes;
	struct sbx_linked met;
	int looks;
};

/* What the link leads to; it is not opened. */
static void
look(struct held *held, int dir, const char *name)
{
	struct stat st;

	held->looks++;
	if (fstatat(dir, name, &st, 0) == 0 && st.st_dev == held->dev && st.st_nlink == 0 &&
		S_ISREG(st.st_mode) && sbx_linked_is_new(&held->met, st.st_ino))
		held->bytes += (uint64_t)st.st_blocks * 512;
}

static void
look_at_open(struct held *held, int pid)
{
	char path[32];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	while (dir != NULL && held->looks < LOOKS_MAX && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			look(held, dirfd(dir), entry->d_name);
	if (dir != NULL)
		closedir(dir);
}

/* A line of proc_pid_maps(5) that ends in " (deleted)"; the name before it is anybody's choice. */
static void
look_at_mapped(struct held *held, int pid)
{
	static const char deleted[] = " (deleted)\n";
	char path[32], range[40];
	SBX_AUTO_FREE char *line = NULL;
	size_t room = 0;
	ssize_t n;
	FILE *maps;
	int dir;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	snprintf(path, sizeof(path), "/proc/%d/map_files", pid);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (maps != NULL && dir >= 0 && held->looks < LOOKS_MAX &&
		(n = getline(&line, &room, maps)) > 0) {
		size_t length = strcspn(line, " ");

		held->looks++;
		if ((size_t)n < sizeof(deleted) || length >= sizeof(range) ||
			strcmp(line + n - (sizeof(deleted) - 1), deleted) != 0)
			continue;
		memcpy(range, line, length);
		range[length] = '\0';
		look(held, dir, range);
	}
	sbx_scoped_close(&dir);
	if (maps != NULL)
		fclose(maps);
}

uint64_t
sbx_native_held(const int pids[], int count, uint64_t dev)
{
	struct held held = { .dev = dev };

	for (int i = 0; i < count && held.looks < LOOKS_MAX; i++) {
		look_at_open(&held, pids[i]);
		look_at_mapped(&held, pids[i]);
	}
	sbx_linked_done(&held.met);
	return held.bytes;
}
