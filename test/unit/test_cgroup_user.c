/* The text that finds the bases of a plain user again: written, read, and refused when damaged. */
#include "kernel/cgroup_impl.h"

#include "tap.h"

static struct sbx_cgroup_hierarchy found[SBX_CGROUP_HIERARCHIES];
static struct sbx_err err;

static int
reads(const char *text)
{
	err = (struct sbx_err){ 0 };
	return sbx_cgroup_user_read(text, found, &err);
}

static void
test_round_trip(void)
{
	struct sbx_cgroup_host host = { .layout = SBX_CGROUP_HYBRID };
	const char *const paths[] = { "/a b/c", "/", "/user.slice", "/x:y" };

	for (int i = 0; i < SBX_CGROUP_HIERARCHIES; i++) {
		found[i].name = sbx_cgroup_names[i];
		snprintf(found[i].own, sizeof(found[i].own), "%s", paths[i]);
		sbx_cgroup_user_note(&found[i], &host);
	}
	is_str(host.parent, "memory /a b/c\npids /\ncpu /user.slice\ncgroup2 /x:y", "written");
	is_int(sbx_cgroup_user_recorded(host.parent), 1, "is known as such");
	is_int(sbx_cgroup_user_recorded("/sbx"), 0, "unlike root's");
	is_int(sbx_cgroup_user_recorded(""), 0, "and none");
	is_int(sbx_cgroup_user_recorded(NULL), 0, "at all");
	for (int i = 0; i < SBX_CGROUP_HIERARCHIES; i++)
		snprintf(found[i].own, sizeof(found[i].own), "/elsewhere");
	is_int(reads(host.parent), 0, "read");
	for (int i = 0; i < SBX_CGROUP_HIERARCHIES; i++)
		is_str(found[i].own, paths[i], "%s", sbx_cgroup_names[i]);
	is_int(reads("cgroup2 /only"), 0, "one hierarchy");
	is_str(found[SBX_CGROUP_UNIFIED].own, "/only", "its group");
	is_str(found[SBX_CGROUP_MEMORY].own, "", "and nobody's for the others");
}

static void
test_longest(void)
{
	struct sbx_cgroup_host host = { .layout = SBX_CGROUP_HYBRID };

	for (int i = 0; i < SBX_CGROUP_HIERARCHIES; i++) {
		memset(found[i].own, 'a', sizeof(found[i].own) - 1);
		found[i].own[0] = '/';
		found[i].own[sizeof(found[i].own) - 1] = '\0';
		sbx_cgroup_user_note(&found[i], &host);
	}
	is_int(reads(host.parent), 0, "the longest paths");
	for (int i = 0; i < SBX_CGROUP_HIERARCHIES; i++)
		is_int(strlen(found[i].own), sizeof(found[i].own) - 1, "%s", sbx_cgroup_names[i]);
}

static void
test_damaged(void)
{
	static const char *const texts[] = { "memory", "memory ", "memory a", "disk /a",
		"memory /a\nmemory /b", "memory /a\n\ncpu /b", "memoryx /a" };
	char text[700] = "cpu /";

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		is_int(reads(texts[i]), -1, "refused: text %zu", i);
		is_int(err.code, SBX_E_CORRUPT, "code");
	}
	reads("disk /a");
	is_str(err.msg, "cgroup: \"disk /a\" names no base", "message");
	memset(text + 5, 'a', sizeof(text) - 6);
	is_int(reads(text), -1, "a path that is too long");
}

static void
test_below(void)
{
	static const struct {
		const char *root, *own, *below;
	} cases[] = { { "/", "/a/b", "/a/b" }, { "/a", "/a/b", "/b" }, { "/a", "/a", "" },
		{ "/a", "/ab", NULL }, { "/a", "/", NULL }, { "/", "/../a", NULL },
		{ "/", "/a/../../b", NULL } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sbx_cgroup_hierarchy h = { .name = "cpu" };
		const char *below;

		snprintf(h.root, sizeof(h.root), "%s", cases[i].root);
		snprintf(h.own, sizeof(h.own), "%s", cases[i].own);
		below = sbx_cgroup_below_mount(&h);
		is_str(below != NULL ? below : "-", cases[i].below != NULL ? cases[i].below : "-",
			"%s where %s is mounted", cases[i].own, cases[i].root);
	}
}

int
main(void)
{
	test_round_trip();
	test_longest();
	test_damaged();
	test_below();
	return done();
}
