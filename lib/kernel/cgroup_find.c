/*
 * Which control group hierarchies are mounted here, and which group is ours in each, as procfs
 * tells it. Only reads.
 */
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "base/scoped.h"
#include "kernel/cgroup_impl.h"

#define PROC_CAP (4u << 20)
#define FIELD SBX_CGROUP_FIELD

const char *const sbx_cgroup_names[SBX_CGROUP_HIERARCHIES] = { "memory", "pids", "cpu", "cgroup2" };

static int
read_proc(const char *path, struct sbx_buf *buf, struct sbx_err *err)
{
	SBX_AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "open %s", path);
	return sbx_io_read_all(fd, buf, path, err);
}

static int
has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	while (strncmp(list, word, length) != 0 || (list[length] != ',' && list[length] != '\0')) {
		list = strchr(list, ',');
		if (list == NULL)
			return 0;
		list++;
	}
	return 1;
}

/* The kernel writes space, tab, newline and backslash as \ooo (proc_pid_mountinfo(5)). */
static void
unescape(char *text)
{
	char *out = text;

	for (; *text != '\0'; text++) {
		if (text[0] == '\\' && strspn(text + 1, "01234567") >= 3) {
			*out++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 +
				(text[3] - '0'));
			text += 3;
		} else {
			*out++ = *text;
		}
	}
	*out = '\0';
}

static void
note_mount(const char *line, struct sbx_cgroup_hierarchy found[SBX_CGROUP_HIERARCHIES])
{
	struct sbx_cgroup_hierarchy seen = { .name = NULL };
	char type[16], options[FIELD];
	const char *dash = strstr(line, " - ");

	if (dash == NULL || sscanf(line, "%*s %*s %*s %511s %511s", seen.root, seen.mount) != 2 ||
		sscanf(dash, " - %15s %*s %511s", type, options) != 2)
		return;
	if (strlen(seen.root) == FIELD - 1 || strlen(seen.mount) == FIELD - 1)
		return; /* may be cut */
	unescape(seen.root);
	unescape(seen.mount);
	for (int i = 0; i < SBX_CGROUP_HIERARCHIES; i++) {
		int fits = i == SBX_CGROUP_UNIFIED ?
			strcmp(type, "cgroup2") == 0 :
			strcmp(type, "cgroup") == 0 && has_word(options, sbx_cgroup_names[i]);

		/* Of several mounts take the one that shows most: that of the root group. */
		if (fits && (found[i].mount[0] == '\0' || strcmp(seen.root, "/") == 0)) {
			found[i] = seen;
			found[i].name = sbx_cgroup_names[i];
		}
	}
}

/* A line of /proc/self/cgroup: "number:controllers:path"; v2 is "0::path" (cgroups(7)). */
static void
note_own(const char *line, struct sbx_cgroup_hierarchy found[SBX_CGROUP_HIERARCHIES])
{
	const char *list = strchr(line, ':');
	const char *path = list == NULL ? NULL : strchr(list + 1, ':');
	char controllers[FIELD];

	if (path == NULL || strlen(path + 1) >= FIELD || path - list > FIELD)
		return;
	snprintf(controllers, sizeof(controllers), "%.*s", (int)(path - list - 1), list + 1);
	for (int i = 0; i < SBX_CGROUP_HIERARCHIES; i++)
		if (i == SBX_CGROUP_UNIFIED ? strncmp(line, "0::", 3) == 0 :
					      has_word(controllers, sbx_cgroup_names[i]))
			snprintf(found[i].own, FIELD, "%s", path + 1);
}

int
sbx_cgroup_find(struct sbx_cgroup_hierarchy found[SBX_CGROUP_HIERARCHIES], struct sbx_err *err)
{
	SBX_AUTO_BUF mounts = SBX_BUF_INIT(PROC_CAP);
	SBX_AUTO_BUF own = SBX_BUF_INIT(PROC_CAP);
	char *line, *rest;

	if (read_proc("/proc/self/mountinfo", &mounts, err) != 0 ||
		read_proc("/proc/self/cgroup", &own, err) != 0)
		return -1;
	rest = mounts.data;
	while ((line = strsep(&rest, "\n")) != NULL)
		note_mount(line, found);
	rest = own.data;
	while ((line = strsep(&rest, "\n")) != NULL)
		note_own(line, found);
	return 0;
}
