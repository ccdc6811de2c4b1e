/*
 * Which control group hierarchies this host has, and the base directory of ours in each.
 *
 * A controller lives in one hierarchy only: on a v1 one, alone or mounted together with others, or
 * on v2. We want memory, pids and cpu all on v1 or all on v2, and a v2 tree in any case, for the
 * groups of commands. Root gets a base of its own from the top of each hierarchy; a plain user has
 * only the group that it was delegated, and stays in it.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/scoped.h"
#include "kernel/cgroup_impl.h"

#define FIELD SBX_CGROUP_FIELD

int
sbx_cgroup_open_failed(const char *verb, const char *path, struct sbx_err *err)
{
	sbx_fail_sys(err, SBX_E_UNAVAILABLE, "%s cgroup %s", verb, path);
	return sbx_fail_hint(err, SBX_CGROUP_HINT);
}

/*
 * Root's base: every component of `parent` below the top, made where missing. On v2 each has to
 * turn the controllers on for the next.
 */
static int
open_base_of_root(int top_fd, const char *mount, const char *parent, int controllers,
	struct sbx_err *err)
{
	SBX_AUTO_FD at = openat(top_fd, ".", SBX_CGROUP_DIR);
	char shown[2 * FIELD], name[256];
	const char *rest = parent;

	if (at < 0)
		return sbx_cgroup_open_failed("open", mount, err);
	snprintf(shown, sizeof(shown), "%s", mount);
	while (*rest == '/') {
		size_t length = strcspn(++rest, "/");
		int next;

		if (length == 0 || length >= sizeof(name) ||
			strlen(shown) + length + 2 > sizeof(shown))
			return sbx_fail(err, SBX_E_CONFIG, "cgroup parent %s is too long", parent);
		if (controllers && sbx_cgroup_v2_enable(at, shown, err) != 0)
			return -1;
		snprintf(name, sizeof(name), "%.*s", (int)length, rest);
		snprintf(shown, sizeof(shown), "%s%.*s", mount, (int)(rest + length - parent),
			parent);
		if (mkdirat(at, name, 0755) != 0 && errno != EEXIST)
			return sbx_cgroup_open_failed("make", shown, err);
		next = openat(at, name, SBX_CGROUP_DIR);
		if (next < 0)
			return sbx_cgroup_open_failed("open", shown, err);
		sbx_scoped_close(&at);
		at = next;
		rest += length;
	}
	if (controllers && sbx_cgroup_v2_enable(at, shown, err) != 0)
		return -1;
	return sbx_take_fd(&at);
}

/* The same where it is there already; nothing is made. */
static int
find_base_of_root(int top_fd, const char *mount, const char *parent, struct sbx_err *err)
{
	int fd = openat(top_fd, parent + 1, SBX_CGROUP_DIR);

	if (fd < 0 && (errno == ENOENT || errno == ENODEV))
		return sbx_fail(err, SBX_E_NOT_FOUND, "cgroup %s%s is gone", mount, parent);
	return fd < 0 ? sbx_cgroup_open_failed("open", parent, err) : fd;
}

/* What is wanted: bases to make environments below, or those of an environment that is there. */
struct wish {
	const char *parent;
	int make;
};

static int
open_base(int top_fd, struct sbx_cgroup_hierarchy *h, const struct wish *wish, int controllers,
	struct sbx_cgroup_host *host, struct sbx_err *err)
{
	const char *parent = wish->parent;
	int fd;

	if (geteuid() == 0 && !wish->make)
		return find_base_of_root(top_fd, h->mount, parent, err);
	if (geteuid() == 0)
		return open_base_of_root(top_fd, h->mount, parent, controllers, err);
	fd = sbx_cgroup_user_open(top_fd, h, sbx_cgroup_user_recorded(parent), controllers, err);
	if (fd >= 0)
		sbx_cgroup_user_note(h, host);
	return fd;
}

/* Controllers on v1, all of them, or on the v2 tree whose top is open, if there is one. */
static enum sbx_cgroup_layout
choose_layout(const struct sbx_cgroup_hierarchy found[SBX_CGROUP_HIERARCHIES], int unified_fd,
	struct sbx_err *err)
{
	const char *missing = "memory";
	int on_v1 = 0;

	for (int i = 0; i < SBX_CGROUP_V1_COUNT; i++) {
		if (found[i].mount[0] != '\0')
			on_v1++;
		else
			missing = sbx_cgroup_names[i];
	}
	if (on_v1 == SBX_CGROUP_V1_COUNT)
		return unified_fd < 0 ? SBX_CGROUP_V1 : SBX_CGROUP_HYBRID;
	if (on_v1 == 0 && unified_fd >= 0)
		missing = sbx_cgroup_v2_missing(unified_fd);
	if (missing == NULL)
		return SBX_CGROUP_V2;
	if (on_v1 == 0 && unified_fd < 0)
		sbx_fail(err, SBX_E_UNAVAILABLE, "no cgroup file system is mounted");
	else
		sbx_fail(err, SBX_E_UNAVAILABLE, "no cgroup hierarchy here has the %s controller%s",
			missing, on_v1 > 0 ? " beside the others" : "");
	sbx_fail_hint(err,
		"mount cgroup2 on /sys/fs/cgroup, or boot with cgroup_enable=memory if it is "
		"off, or configure `cgroup: best-effort`");
	return SBX_CGROUP_NONE;
}

static int
open_v1_bases(struct sbx_cgroup_hierarchy found[SBX_CGROUP_HIERARCHIES], const struct wish *wish,
	struct sbx_cgroup_host *host, struct sbx_err *err)
{
	int *const bases[SBX_CGROUP_V1_COUNT] = { &host->memory_fd, &host->pids_fd, &host->cpu_fd };

	for (int i = 0; i < SBX_CGROUP_V1_COUNT; i++) {
		SBX_AUTO_FD top = open(found[i].mount, SBX_CGROUP_DIR);

		if (top < 0)
			return sbx_cgroup_open_failed("open", found[i].mount, err);
		*bases[i] = open_base(top, &found[i], wish, 0, host, err);
		if (*bases[i] < 0)
			return -1;
	}
	return 0;
}

static int
open_bases(const struct wish *wish, struct sbx_cgroup_host *host, struct sbx_err *err)
{
	const char *parent = wish->parent;
	struct sbx_cgroup_hierarchy found[SBX_CGROUP_HIERARCHIES] = { 0 };
	struct sbx_cgroup_hierarchy *unified = &found[SBX_CGROUP_UNIFIED];
	SBX_AUTO_FD top = -1;
	const char *below;
	int length;

	if (sbx_cgroup_find(found, err) != 0)
		return -1;
	if (geteuid() != 0 && sbx_cgroup_user_recorded(parent) &&
		sbx_cgroup_user_read(parent, found, err) != 0)
		return -1;
	if (unified->mount[0] != '\0') {
		top = open(unified->mount, SBX_CGROUP_DIR);
		if (top < 0)
			return sbx_cgroup_open_failed("open", unified->mount, err);
	} else if (geteuid() == 0) {
		top = sbx_cgroup_v2_mount();
		snprintf(unified->mount, FIELD, "(detached)");
	}
	host->layout = choose_layout(found, top, err);
	if (host->layout == SBX_CGROUP_NONE)
		return -1;
	if (host->layout != SBX_CGROUP_V2 && open_v1_bases(found, wish, host, err) != 0)
		return -1;
	if (top < 0)
		return 0;
	host->unified_fd = open_base(top, unified, wish, host->layout == SBX_CGROUP_V2, host, err);
	if (host->unified_fd < 0)
		return -1;
	below = geteuid() == 0 ? parent : sbx_cgroup_below_mount(unified);
	length = below == NULL ? -1 :
				 snprintf(host->unified_path, sizeof(host->unified_path), "%s%s",
					 unified->mount, below);
	if (length < 0 || (size_t)length >= sizeof(host->unified_path))
		return sbx_fail(err, SBX_E_UNAVAILABLE, "cgroup %s: path too long", unified->own);
	return 0;
}

static int
open_host(const struct wish *wish, struct sbx_cgroup_host *host, struct sbx_err *err)
{
	const char *parent = wish->parent;

	*host = (struct sbx_cgroup_host){
		.memory_fd = -1, .pids_fd = -1, .cpu_fd = -1, .unified_fd = -1
	};
	if (geteuid() == 0) {
		if (!sbx_path_is_clean_absolute(parent) || strcmp(parent, "/") == 0 ||
			strlen(parent) >= sizeof(host->parent))
			return sbx_fail(err, SBX_E_CONFIG,
				"cgroup parent %s is not a clean absolute path", parent);
		snprintf(host->parent, sizeof(host->parent), "%s", parent);
	}
	if (open_bases(wish, host, err) == 0)
		return 0;
	sbx_cgroup_host_close(host);
	return -1;
}

int
sbx_cgroup_host_open(const char *parent, struct sbx_cgroup_host *host, struct sbx_err *err)
{
	return open_host(&(struct wish){ parent, 1 }, host, err);
}

int
sbx_cgroup_host_find(const char *parent, struct sbx_cgroup_host *host, struct sbx_err *err)
{
	return open_host(&(struct wish){ parent, 0 }, host, err);
}

void
sbx_cgroup_host_close(struct sbx_cgroup_host *host)
{
	if (host == NULL)
		return;
	sbx_cgroup_close_fd(&host->memory_fd);
	sbx_cgroup_close_fd(&host->pids_fd);
	sbx_cgroup_close_fd(&host->cpu_fd);
	sbx_cgroup_close_fd(&host->unified_fd);
	host->layout = SBX_CGROUP_NONE;
}
