/* data/limits and data/profile: the nine fields from YAML, from a spec, from options, from records. */
#include "data/limits.h"

#include "tap.h"

#define MIB ((uint64_t)1024 * 1024)

/* Resolve `json` against the profile: the code, and the message in *err. */
static enum sbx_code
resolve(const char *json, const struct sbx_profile *profile, struct sbx_limits *out,
	struct sbx_err *err)
{
	SBX_AUTO_JSON doc = sbx_json_parse(json, strlen(json), err);

	memset(err, 0, sizeof(*err));
	if (doc == NULL || sbx_limits_resolve(sbx_json_root(doc), profile, out, err) < 0)
		return err->code;
	return SBX_OK;
}

static void
test_builtin(void)
{
	struct sbx_profile profile;
	struct sbx_limits got;
	struct sbx_err err;

	sbx_profile_init(&profile);
	is_int(sbx_limits_resolve((struct sbx_json){ .token = -1 }, &profile, &got, &err), 0,
		"no limits object");
	is_int(got.cpu_milli, 1000, "cpu 1");
	is_int(got.memory_bytes, 512 * MIB, "memory 512 MiB");
	is_int(got.pids, 128, "128 pids");
	is_int(got.wall_ms, 60000, "60 s");
	is_int(got.workspace_bytes, 1024 * MIB, "1 GiB");
	is_int(got.workspace_inodes, 100000, "100,000 inodes");
	is_int(got.egress, SBX_EGRESS_NONE, "no egress");
	is_int(got.retention_ms, 7LL * 86400000, "7 days");
	is_int(got.artifact_max_bytes, 256 * MIB, "256 MiB");
	is_int(profile.maximum.egress, SBX_EGRESS_ALLOWLIST, "an allowlist at most");
}

static void
test_resolve(void)
{
	struct sbx_profile profile;
	struct sbx_limits got;
	struct sbx_err err;

	sbx_profile_init(&profile);
	is_int(resolve("{\"cpu\":0.5,\"memory\":67108864,\"pids\":1,\"wall_time\":250,"
		       "\"workspace_bytes\":\"64KiB\",\"workspace_inodes\":16}",
		       &profile, &got, &err),
		SBX_OK, "numbers and units");
	is_int(got.cpu_milli, 500, "half a processor");
	is_int(got.memory_bytes, 64 * MIB, "bytes");
	is_int(got.pids, 1, "one task");
	is_int(got.wall_ms, 250, "a number of milliseconds");
	is_int(got.workspace_bytes, 65536, "a string with a unit");
	is_int(got.workspace_inodes, 16, "inodes");
	is_int(resolve("{\"cpu\":\"2.125\",\"wall_time\":\"2m\",\"memory\":\"8GiB\"}", &profile,
		       &got, &err),
		SBX_OK, "strings, and exactly the maximum");
	is_int(got.cpu_milli, 2125, "three digits behind the point");
	is_int(got.wall_ms, 120000, "minutes");
	is_int(got.pids, 128, "the rest is the default");
}

static void
test_absurd(void)
{
	static const struct {
		const char *json, *message;
	} rows[] = {
		{ "{\"memory\":0}", "spec.limits.memory: \"0\" is not a size from 4MiB to 8GiB" },
		{ "{\"memory\":-1}", "spec.limits.memory: \"-1\" is not a size from 4MiB to 8GiB" },
		{ "{\"memory\":1e9}",
			"spec.limits.memory: \"1e9\" is not a size from 4MiB to 8GiB" },
		{ "{\"memory\":67108864.5}",
			"spec.limits.memory: \"67108864.5\" is not a size from 4MiB to 8GiB" },
		{ "{\"memory\":\"9GiB\"}",
			"spec.limits.memory: \"9GiB\" is not a size from 4MiB to 8GiB" },
		{ "{\"memory\":18446744073709551616}",
			"spec.limits.memory: \"18446744073709551616\" is not a size from 4MiB to 8GiB" },
		{ "{\"pids\":0}", "spec.limits.pids: \"0\" is not a number from 1 to 4096" },
		{ "{\"pids\":4097}", "spec.limits.pids: \"4097\" is not a number from 1 to 4096" },
		{ "{\"pids\":1.5}", "spec.limits.pids: \"1.5\" is not a number from 1 to 4096" },
		{ "{\"wall_time\":0}",
			"spec.limits.wall_time: \"0\" is not a number from 1 to 3600000" },
		{ "{\"wall_time\":\"60\"}",
			"spec.limits.wall_time: \"60\" has no unit (ms, s, m, h, d)" },
		{ "{\"cpu\":0}",
			"spec.limits.cpu: \"0\" is not a number of processors from 0.01 to 8 in steps of 0.001" },
		{ "{\"cpu\":8.001}",
			"spec.limits.cpu: \"8.001\" is not a number of processors from 0.01 to 8 in steps of 0.001" },
		{ "{\"cpu\":0.0105}",
			"spec.limits.cpu: \"0.0105\" is not a number of processors from 0.01 to 8 in steps of 0.001" },
		{ "{\"cpu\":-1}",
			"spec.limits.cpu: \"-1\" is not a number of processors from 0.01 to 8 in steps of 0.001" },
		{ "{\"cpu\":99999999999999999999999}",
			"spec.limits.cpu: \"99999999999999999999999\" is not a number of processors from 0.01 to 8 in steps of 0.001" },
		{ "{\"cpu\":1.00000000000000000000000000000000000000000000000001}",
			"spec.limits.cpu: \"1.0000000000000000000000000000000000000...\" has too many digits" },
		{ "{\"cpu\":true}", "spec.limits.cpu: must be a number or a string" },
		{ "{\"pids\":null}", "spec.limits.pids: must be a number or a string" },
		{ "{\"swap\":1}", "spec.limits: unknown key \"swap\"" },
		{ "{\"egress\":\"open\"}", "spec.limits: unknown key \"egress\"" },
		{ "[]", "spec.limits: must be an object" },
	};
	struct sbx_profile profile;
	struct sbx_limits got;
	struct sbx_err err;

	sbx_profile_init(&profile);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		is_int(resolve(rows[i].json, &profile, &got, &err), SBX_E_BAD_REQUEST,
			"refused: %s", rows[i].json);
		is_str(err.msg, rows[i].message, "by name: %s", rows[i].json);
	}
}

static enum sbx_code
profile_read(const char *text, struct sbx_profile *profile, struct sbx_err *err)
{
	memset(err, 0, sizeof(*err));
	sbx_profile_init(profile);
	return sbx_profile_read("limits.yaml", text, strlen(text), profile, err) < 0 ? err->code :
										       SBX_OK;
}

static void
test_profile(void)
{
	struct sbx_profile profile;
	struct sbx_err err;

	is_int(profile_read("", &profile, &err), SBX_OK, "an empty file changes nothing");
	is_int(profile_read("memory: {default: 64MiB, max: 64MiB}\ncpu: {max: 1.5}\n"
			    "egress: {max: open}\nwall_time: {max: 24h}\n",
		       &profile, &err),
		SBX_OK, "some fields");
	is_int(profile.defaults.memory_bytes, 64 * MIB, "a default");
	is_int(profile.maximum.cpu_milli, 1500, "a maximum");
	is_int(profile.maximum.egress, SBX_EGRESS_OPEN, "a word");
	is_int(profile.maximum.wall_ms, 86400000, "24 h");
	is_int(profile.defaults.pids, 128, "the others stay");
	is_int(profile_read("cpu: {default: 1}\nmemory: {default: 9GiB}\n", &profile, &err),
		SBX_E_CONFIG, "a default over the maximum");
	is_str(err.msg, "limits.yaml:2: memory: the default 9GiB is over the maximum 8GiB",
		"by name");
	is_int(profile.defaults.memory_bytes, 512 * MIB, "and nothing was taken");
	is_int(profile_read("egress: {default: open}\n", &profile, &err), SBX_E_CONFIG,
		"egress too");
	is_str(err.msg, "limits.yaml:1: egress: the default open is over the maximum allowlist",
		"by name");
	is_int(profile_read("cpu: {default: 0.001}\n", &profile, &err), SBX_E_CONFIG,
		"under the range");
	ok(strstr(err.msg, "limits.yaml:1: ") != NULL, "with its line: %s", err.msg);
	is_int(profile_read("\nswap: {default: 1}\n", &profile, &err), SBX_E_CONFIG,
		"an unknown field");
	ok(strstr(err.msg, "limits.yaml:2: ") != NULL && strstr(err.msg, "swap") != NULL,
		"with its line: %s", err.msg);
	is_int(profile_read("memory: {deflt: 1MiB}\n", &profile, &err), SBX_E_CONFIG,
		"an unknown key in it");
	is_int(profile_read("memory: 64MiB\n", &profile, &err), SBX_E_CONFIG,
		"a scalar for a pair");
}

static void
test_text(void)
{
	struct sbx_err err = { .code = SBX_OK };

	is_int(sbx_limits_check_text("memory", "64MiB", &err), 0, "a size");
	is_int(sbx_limits_check_text("cpu", "0.25", &err), 0, "a part of a processor");
	is_int(sbx_limits_check_text("wall_time", "90s", &err), 0, "a time");
	is_int(sbx_limits_check_text("egress", "host", &err), 0, "a word");
	is_int(sbx_limits_check_text("egress", "all", &err), -1, "no such word");
	is_str(err.msg, "egress: \"all\" is not one of none to host", "by name");
	is_int(sbx_limits_check_text("cpu", "1.", &err), -1, "nothing behind the point");
	is_int(sbx_limits_check_text("cpu", ".5", &err), -1, "nothing before the point");
	is_int(sbx_limits_check_text("cpu", "", &err), -1, "nothing");
	is_int(sbx_limits_check_text("swap", "1", &err), -1, "no such limit");
	is_int(err.code, SBX_E_BAD_REQUEST, "is a bad request");
	is_str(err.msg, "there is no limit \"swap\"", "by name");
}

static void
test_record(void)
{
	SBX_AUTO_BUF text = SBX_BUF_INIT(4096);
	SBX_AUTO_BUF again = SBX_BUF_INIT(4096);
	struct sbx_limits back;
	struct sbx_profile profile;
	struct sbx_json_out out;
	struct sbx_err err = { .code = SBX_OK };
	SBX_AUTO_JSON doc = NULL;
	SBX_AUTO_JSON short_doc = NULL;
	static const char few[] = "{\"cpu_milli\":1000}";

	sbx_profile_init(&profile);
	sbx_json_out_init(&out, &text);
	sbx_limits_out(&profile.maximum, &out, NULL);
	is_str(sbx_buf_str(&text),
		"{\"cpu_milli\":8000,\"memory_bytes\":8589934592,\"pids\":4096,\"wall_ms\":3600000,"
		"\"workspace_bytes\":17179869184,\"workspace_inodes\":2000000,\"egress\":\"allowlist\","
		"\"artifact_retention_ms\":7776000000,\"artifact_max_bytes\":4294967296}",
		"written with units in the names");
	doc = sbx_json_parse(sbx_buf_str(&text), text.length, &err);
	is_int(sbx_limits_in(sbx_json_root(doc), &back, &err), 0, "read back");
	sbx_json_out_init(&out, &again);
	sbx_limits_out(&back, &out, NULL);
	is_str(sbx_buf_str(&again), sbx_buf_str(&text), "as they were");
	short_doc = sbx_json_parse(few, strlen(few), &err);
	is_int(sbx_limits_in(sbx_json_root(short_doc), &back, &err), -1, "one is missing");
	ok(strstr(err.msg, "limits.memory_bytes") != NULL, "it is named: %s", err.msg);
}

int
main(void)
{
	test_builtin();
	test_resolve();
	test_absurd();
	test_profile();
	test_text();
	test_record();
	return done();
}
