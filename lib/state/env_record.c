/*
 * state.json and spec.json, in and out. One table of members serves both ways. Keys that it does not
 * have are passed over here, unlike in requests: a later version may have written them.
 */
#include <string.h>

#include "base/io.h"
#include "base/scoped.h"
#include "data/json.h"
#include "data/json_out.h"
#include "data/names.h"
#include "state/env.h"

#define RECORD_BYTES_MAX (64 * 1024)

const char *const sbx_env_state_names[] = { "provisioning", "ready", "releasing", "failed", NULL };
_Static_assert(sizeof(sbx_env_state_names) / sizeof(char *) == SBX_ENV_FAILED + 2,
	"a name for every state");

/* Earlier versions did not write what is new: empty then. */
enum kind { TEXT, NEW_TEXT, INT64, UINT64 };

#define MEMBER(member) #member, offsetof(struct sbx_env_record, member)
#define SIZE(member) sizeof(((struct sbx_env_record *)NULL)->member)

static const struct {
	const char *key;
	size_t offset;
	enum kind kind;
	size_t size; /* of TEXT, with its NUL */
	int64_t min; /* of INT64 */
} members[] = {
	{ MEMBER(id), TEXT, SIZE(id), 0 },
	{ MEMBER(tenant), TEXT, SIZE(tenant), 0 },
	{ MEMBER(run), TEXT, SIZE(run), 0 },
	{ MEMBER(epoch), INT64, 0, 0 },
	{ MEMBER(mechanism), TEXT, SIZE(mechanism), 0 },
	{ MEMBER(image), TEXT, SIZE(image), 0 },
	{ MEMBER(quota), NEW_TEXT, SIZE(quota), 0 },
	{ MEMBER(created_wall_ms), INT64, 0, INT64_MIN },
	{ MEMBER(expires_wall_ms), INT64, 0, INT64_MIN },
	{ MEMBER(created_boot_ms), INT64, 0, 0 },
	{ MEMBER(expires_boot_ms), INT64, 0, 0 },
	{ MEMBER(boot_id), TEXT, SIZE(boot_id), 0 },
	{ MEMBER(tmp_bytes), UINT64, 0, 0 },
	{ MEMBER(cgroup_parent), TEXT, SIZE(cgroup_parent), 0 },
	{ MEMBER(slot), INT64, 0, -1 },
	{ MEMBER(storage_memory), INT64, 0, 0 },
	{ MEMBER(uid), INT64, 0, -1 },
	{ MEMBER(gid), INT64, 0, -1 },
	{ MEMBER(init_pid), INT64, 0, 0 },
	{ MEMBER(init_start), INT64, 0, 0 },
};
#define MEMBER_COUNT (sizeof(members) / sizeof(members[0]))

int
sbx_env_read_spec(const struct sbx_env *env, struct sbx_buf *out, struct sbx_err *err)
{
	if (sbx_io_read_file(env->dir_fd, "spec.json", out, err) < 0)
		return sbx_fail_wrap(err, "environment %s", env->id);
	return 0;
}

int
sbx_env_write_spec(const struct sbx_env *env, const char *canonical, struct sbx_err *err)
{
	return sbx_io_replace_file(env->dir_fd, "spec.json", canonical, strlen(canonical), 0600, 0,
		err);
}

static int
text_in(struct sbx_json v, const char *what, char *out, size_t size, struct sbx_err *err)
{
	SBX_AUTO_FREE char *text = NULL;

	if (sbx_json_string(v, what, size - 1, &text, err) < 0)
		return -1;
	memcpy(out, text, strlen(text) + 1);
	return 0;
}

static int
layers_in(struct sbx_json array, struct sbx_env_record *record, struct sbx_err *err)
{
	struct sbx_json value;
	size_t cursor = 0, count = sbx_json_count(array);

	if (sbx_json_type(array) != SBX_JSON_ARRAY || count > SBX_ENV_LAYERS_MAX)
		return sbx_fail(err, SBX_E_CORRUPT, "enforced: must be an array of at most %d",
			SBX_ENV_LAYERS_MAX);
	while (sbx_json_each(array, &cursor, NULL, &value)) {
		if (text_in(value, "enforced", record->enforced[record->enforced_count],
			    sizeof(record->enforced[0]), err) < 0)
			return -1;
		record->enforced_count++;
	}
	return 0;
}

static int
members_in(struct sbx_json root, struct sbx_env_record *record, struct sbx_err *err)
{
	for (size_t i = 0; i < MEMBER_COUNT; i++) {
		const char *key = members[i].key;
		struct sbx_json v = sbx_json_get(root, key);
		void *to = (char *)record + members[i].offset;
		int failed = 0;

		switch (members[i].kind) {
		case NEW_TEXT:
			if (sbx_json_type(v) == SBX_JSON_ABSENT)
				break;
			/* fall through */
		case TEXT:
			failed = text_in(v, key, to, members[i].size, err);
			break;
		case INT64:
			failed = sbx_json_i64(v, key, members[i].min, INT64_MAX, to, err);
			break;
		case UINT64:
			failed = sbx_json_u64(v, key, 0, UINT64_MAX, to, err);
			break;
		}
		if (failed)
			return -1;
	}
	return 0;
}

static int
record_in(struct sbx_json root, struct sbx_env_record *record, struct sbx_err *err)
{
	char state[16];
	int64_t version, layout;

	if (sbx_json_i64(sbx_json_get(root, "version"), "version", 1, INT64_MAX, &version, err) < 0)
		return -1;
	if (version > SBX_ENV_VERSION)
		return sbx_fail(err, SBX_E_UNAVAILABLE,
			"version %lld is newer than this program's %d", (long long)version,
			SBX_ENV_VERSION);
	if (text_in(sbx_json_get(root, "state"), "state", state, sizeof(state), err) < 0 ||
		sbx_names_parse(state, sbx_env_state_names, "state", &record->state, err) < 0 ||
		members_in(root, record, err) < 0 ||
		sbx_json_i64(sbx_json_get(root, "cgroup_layout"), "cgroup_layout", 0, 15, &layout,
			err) < 0 ||
		sbx_limits_in(sbx_json_get(root, "limits"), &record->limits, err) < 0 ||
		layers_in(sbx_json_get(root, "enforced"), record, err) < 0)
		return -1;
	record->cgroup_layout = (int)layout;
	return 0;
}

int
sbx_env_read(const struct sbx_env *env, struct sbx_env_record *record, struct sbx_err *err)
{
	SBX_AUTO_BUF text = SBX_BUF_INIT(RECORD_BYTES_MAX);
	SBX_AUTO_JSON doc = NULL;

	memset(record, 0, sizeof(*record));
	if (sbx_io_read_file(env->dir_fd, "state.json", &text, err) < 0)
		return sbx_fail_wrap(err, "environment %s", env->id);
	doc = sbx_json_parse(sbx_buf_str(&text), text.length, err);
	if (doc != NULL && record_in(sbx_json_root(doc), record, err) == 0) {
		if (strcmp(record->id, env->id) == 0)
			return 0;
		sbx_fail(err, SBX_E_CORRUPT, "is of environment %s", record->id);
	}
	/* Ours wrote it, so it is not a bad request, whatever the reader of JSON says. */
	if (err != NULL && err->code != SBX_E_UNAVAILABLE)
		err->code = SBX_E_CORRUPT;
	return sbx_fail_wrap(err, "environment %s: state.json", env->id);
}

/* Containers and loop images outlive the boot, and so must the record that finds them again. */
static int
outlives_boot(const struct sbx_env_record *record)
{
	return strcmp(record->mechanism, "docker") == 0 ||
		strcmp(record->mechanism, "gvisor") == 0 ||
		strcmp(record->mechanism, "microvm") == 0;
}

int
sbx_env_write(const struct sbx_env *env, const struct sbx_env_record *record, struct sbx_err *err)
{
	SBX_AUTO_BUF text = SBX_BUF_INIT(RECORD_BYTES_MAX);
	struct sbx_json_out out;

	sbx_json_out_init(&out, &text);
	sbx_json_out_object(&out, NULL);
	sbx_json_out_i64(&out, "version", SBX_ENV_VERSION);
	sbx_json_out_string(&out, "state", sbx_env_state_names[record->state]);
	for (size_t i = 0; i < MEMBER_COUNT; i++) {
		const void *from = (const char *)record + members[i].offset;

		switch (members[i].kind) {
		case TEXT:
		case NEW_TEXT:
			sbx_json_out_string(&out, members[i].key, from);
			break;
		case INT64:
			sbx_json_out_i64(&out, members[i].key, *(const int64_t *)from);
			break;
		case UINT64:
			sbx_json_out_u64(&out, members[i].key, *(const uint64_t *)from);
			break;
		}
	}
	sbx_json_out_i64(&out, "cgroup_layout", record->cgroup_layout);
	sbx_limits_out(&record->limits, &out, "limits");
	sbx_json_out_array(&out, "enforced");
	for (size_t i = 0; i < record->enforced_count; i++)
		sbx_json_out_string(&out, NULL, record->enforced[i]);
	sbx_json_out_end(&out);
	sbx_json_out_end(&out);
	if (sbx_json_out_line(&out, "state.json", err) < 0)
		return -1;
	return sbx_io_replace_file(env->dir_fd, "state.json", text.data, text.length, 0600,
		outlives_boot(record), err);
}
