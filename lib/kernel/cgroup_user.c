/*
 * The bases of a plain user: the groups that the maker of an environment was in, if they are its to
 * use. Another tool may run in other groups, so the text that names the bases goes into the record
 * and finds exactly those again. Never makes a base.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernel/cgroup_impl.h"

/* As bytes in the buffers of struct sbx_cgroup_hierarchy; the text comes from a record. */
static int
take_line(const char *line, size_t length, struct sbx_cgroup_hierarchy *found)
{
	for (int i = 0; i < SBX_CGROUP_HIERARCHIES; i++) {
		size_t name = strlen(sbx_cgroup_names[i]);

		if (length <= name + 1 || strncmp(line, sbx_cgroup_names[i], name) != 0 ||
			line[name] != ' ' || line[name + 1] != '/')
			continue;
		if (length - name - 1 >= sizeof(found[i].own) || found[i].own[0] != '\0')
			return -1;
		memcpy(found[i].own, line + name + 1, length - name - 1);
		found[i].own[length - name - 1] = '\0';
		return 0;
	}
	return -1;
}

int
sbx_cgroup_user_recorded(const char *parent)
{
	return parent != NULL && parent[0] != '\0' && parent[0] != '/';
}

int
sbx_cgroup_user_read(const char *parent, struct sbx_cgroup_hierarchy *found, struct sbx_err *err)
{
	for (int i = 0; i < SBX_CGROUP_HIERARCHIES; i++)
		found[i].own[0] = '\0';
	while (*parent != '\0') {
		size_t length = strcspn(parent, "\n");

		if (take_line(parent, length, found) != 0)
			return sbx_fail(err, SBX_E_CORRUPT, "cgroup: \"%.*s\" names no base",
				(int)(length < 80 ? length : 80), parent);
		parent += length + (parent[length] == '\n');
	}
	return 0;
}

void
sbx_cgroup_user_note(const struct sbx_cgroup_hierarchy *h, struct sbx_cgroup_host *host)
{
	size_t length = strlen(host->parent);

	/* Each hierarchy comes once, so there is room for all. */
	snprintf(host->parent + length, sizeof(host->parent) - length, "%s%s %s",
		length > 0 ? "\n" : "", h->name, h->own);
}

const char *
sbx_cgroup_below_mount(const struct sbx_cgroup_hierarchy *h)
{
	size_t length = strcmp(h->root, "/") == 0 ? 0 : strlen(h->root);

	if (strncmp(h->own, h->root, length) != 0 ||
		(h->own[length] != '/' && h->own[length] != '\0') || strstr(h->own, "/..") != NULL)
		return NULL;
	return h->own + length;
}

static int
is_delegated(int base_fd, const char *mount, const char *below, struct sbx_err *err)
{
	if (faccessat(base_fd, ".", W_OK, AT_EACCESS) == 0 &&
		faccessat(base_fd, "cgroup.procs", W_OK, AT_EACCESS) == 0)
		return 1;
	sbx_fail(err, SBX_E_UNAVAILABLE, "own cgroup %s%s is not delegated to uid %u", mount, below,
		(unsigned)geteuid());
	sbx_fail_hint(err, SBX_CGROUP_HINT);
	return 0;
}

int
sbx_cgroup_user_open(int top_fd, struct sbx_cgroup_hierarchy *h, int recorded, int controllers,
	struct sbx_err *err)
{
	SBX_AUTO_FD base = -1;
	char *tools = strrchr(h->own, '/');
	const char *below;

	/* Processes that an earlier call moved have their base one up. */
	if (controllers && tools != NULL && strcmp(tools + 1, SBX_CGROUP_TOOLS) == 0)
		tools[tools == h->own] = '\0';
	below = sbx_cgroup_below_mount(h);
	if (below == NULL || h->own[0] == '\0') {
		sbx_fail(err, SBX_E_UNAVAILABLE, "own %s cgroup \"%s\" is not below %s", h->name,
			h->own, h->mount);
		return sbx_fail_hint(err, SBX_CGROUP_HINT);
	}
	base = openat(top_fd, below[0] == '/' && below[1] != '\0' ? below + 1 : ".",
		SBX_CGROUP_DIR);
	if (base < 0 && recorded && (errno == ENOENT || errno == ENODEV))
		return sbx_fail(err, SBX_E_NOT_FOUND, "cgroup %s%s is gone", h->mount, below);
	if (base < 0)
		return sbx_cgroup_open_failed("open", h->own, err);
	if (!is_delegated(base, h->mount, below, err))
		return -1;
	if (controllers && !recorded &&
		(sbx_cgroup_v2_evacuate(base, below, err) != 0 ||
			sbx_cgroup_v2_enable(base, below, err) != 0))
		return -1;
	return sbx_take_fd(&base);
}
