/*
 * Where the spec comes from: a file, stdin, or the options, which become the same JSON, so that
 * there is one reader and one set of errors. Checks nothing that the reader checks.
 */
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/num.h"
#include "base/scoped.h"
#include "data/json_out.h"
#include "provision.h"

/* An option and the member of the spec that it becomes. */
struct member {
	const char *option, *key;
	size_t offset;
};

#define MEMBER(option, key, field)                                                                 \
	{                                                                                          \
		option, key, offsetof(struct provision_options, field)                             \
	}
static const struct member members[] = {
	MEMBER("tenant", "tenant", tenant),
	MEMBER("run", "run", run),
	MEMBER("mechanism", "mechanism", mechanism),
	MEMBER("image", "image", image),
	MEMBER("storage", "storage", storage),
	MEMBER("proc", "proc", proc),
	MEMBER("expires", "expires_after", expires),
	MEMBER("tmp-bytes", "tmp_bytes", tmp_bytes),
	MEMBER("fake-script", "fake_script", fake_script),
	{ NULL, NULL, 0 },
};
static const struct member limits[] = {
	MEMBER("memory", "memory", memory),
	MEMBER("cpus", "cpu", cpus),
	MEMBER("pids", "pids", pids),
	MEMBER("timeout", "wall_time", timeout),
	MEMBER("workspace-bytes", "workspace_bytes", workspace_bytes),
	MEMBER("workspace-inodes", "workspace_inodes", workspace_inodes),
	{ NULL, NULL, 0 },
};

static const char *
given(const struct provision_options *options, const struct member *member)
{
	const char *text;

	memcpy(&text, (const char *)options + member->offset, sizeof(text));
	return text;
}

static const char *
first_of(const struct provision_options *options, const struct member *table)
{
	for (; table->key != NULL; table++)
		if (given(options, table) != NULL)
			return table->option;
	return NULL;
}

/* The first option that describes the spec, or NULL. */
static const char *
first_given(const struct provision_options *options)
{
	const char *option = first_of(options, members);

	if (option == NULL)
		option = first_of(options, limits);
	if (option != NULL)
		return option;
	if (options->epoch != NULL)
		return "epoch";
	if (options->debug)
		return "debug";
	return options->env.count > 0 ? "env" : NULL;
}

static void
add_members(const struct provision_options *options, const struct member *table,
	struct sbx_json_out *json)
{
	for (; table->key != NULL; table++)
		if (given(options, table) != NULL)
			sbx_json_out_string(json, table->key, given(options, table));
}

static int
add_env(const struct sbx_opt_list *env, struct sbx_json_out *json, struct sbx_err *err)
{
	char name[256];

	sbx_json_out_object(json, "env");
	for (size_t i = 0; i < env->count; i++) {
		const char *equal = strchr(env->items[i], '=');
		size_t length = equal != NULL ? (size_t)(equal - env->items[i]) : 0;

		if (length == 0 || length >= sizeof(name))
			return sbx_fail(err, SBX_E_USAGE, "--env: \"%.64s\" is not NAME=VALUE",
				env->items[i]);
		memcpy(name, env->items[i], length);
		name[length] = '\0';
		sbx_json_out_string(json, name, equal + 1);
	}
	sbx_json_out_end(json);
	return 0;
}

static int
from_options(const struct provision_options *options, struct sbx_buf *text, struct sbx_err *err)
{
	struct sbx_json_out json;
	int64_t epoch;

	sbx_json_out_init(&json, text);
	sbx_json_out_object(&json, NULL);
	add_members(options, members, &json);
	if (options->epoch != NULL) {
		if (sbx_num_i64(options->epoch, 0, INT64_MAX, "--epoch", &epoch, err) < 0)
			return -1;
		sbx_json_out_i64(&json, "epoch", epoch);
	}
	if (options->debug)
		sbx_json_out_bool(&json, "debug", 1);
	if (options->env.count > 0 && add_env(&options->env, &json, err) < 0)
		return -1;
	/* Not when empty: the same spec as JSON would not say it either. */
	if (first_of(options, limits) != NULL) {
		sbx_json_out_object(&json, "limits");
		add_members(options, limits, &json);
		sbx_json_out_end(&json);
	}
	sbx_json_out_end(&json);
	return sbx_json_out_line(&json, "spec", err);
}

static int
gather(const struct provision_options *options, struct sbx_buf *text, struct sbx_err *err)
{
	const char *option = first_given(options);

	if (options->spec != NULL && option != NULL)
		return sbx_fail(err, SBX_E_USAGE, "--spec and --%s: a spec is given in one way",
			option);
	if (option != NULL && options->run == NULL)
		return sbx_fail(err, SBX_E_USAGE, "--%s needs --run", option);
	if (option != NULL)
		return from_options(options, text, err);
	if (options->spec == NULL && isatty(STDIN_FILENO)) {
		sbx_fail(err, SBX_E_USAGE, "no spec: --run NAME, --spec FILE, or JSON on stdin");
		return sbx_fail_hint(err, "see --help");
	}
	return sbx_io_read_all(STDIN_FILENO, text, "spec", err);
}

int
provision_input(const struct provision_options *options, const struct sbx_config *config,
	struct sbx_spec *spec, struct sbx_err *err)
{
	SBX_AUTO_BUF text = SBX_BUF_INIT(SBX_SPEC_MAX);

	*spec = (struct sbx_spec){ 0 };
	if (options->spec != NULL && strcmp(options->spec, "-") != 0 &&
		first_given(options) == NULL)
		return sbx_provision_read_spec(options->spec, config, spec, err);
	if (gather(options, &text, err) < 0)
		return -1;
	return sbx_spec_read(sbx_buf_str(&text), text.length, config, spec, err);
}
