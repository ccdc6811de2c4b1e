/*
 * An environment for the tests of its groups: one host, one base, one environment at a time.
 */
#ifndef SBX_TEST_CGROUP_ENV_H
#define SBX_TEST_CGROUP_ENV_H

#include "cgroup_help.h"

#define MIB (1024u * 1024u)

static struct sbx_cgroup_host host;
static struct sbx_cgroup cg;
static struct sbx_err err;
static char base[64];
static int tasks[3], task_count;

static int
v2(void)
{
	return host.layout == SBX_CGROUP_V2;
}

static void
set_up(const char *id, const struct sbx_cgroup_limits *limits)
{
	err = (struct sbx_err){ 0 };
	ok(sbx_cgroup_make(&host, id, limits, TEST_UID, &cg, &err) == 0, "make %s: %s", id,
		err.msg);
	task_count = sbx_cgroup_join_files(&cg, tasks, &err);
	is_int(task_count, v2() ? 0 : 3, "join files");
}

static void
tear_down(const char *id)
{
	for (int i = 0; i < task_count; i++)
		close(tasks[i]);
	sbx_cgroup_close(&cg);
	is_int(sbx_cgroup_remove(&host, id, &err), 0, "remove %s", id);
}

/* Open a base of this test's own; 0 if there is one. */
static int
open_test_base(void)
{
	alarm(120);
	if (geteuid() != 0) {
		skip(1, "needs root");
		return -1;
	}
	snprintf(base, sizeof(base), "/sbx-test-%d", (int)getpid());
	if (!ok(sbx_cgroup_host_open(base, &host, &err) == 0, "open: %s (%s)", err.msg, err.hint))
		return -1;
	printf("# layout %d, %s\n", (int)host.layout, host.unified_path);
	return 0;
}

#endif
