/* data/spec and data/canonical: what a spec may say, what it is refused for, ids, one form. */
#include "data/spec.h"

#include "base/mem.h"
#include "base/scoped.h"
#include "tap.h"

#define DIGEST "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static enum sbx_code
read_spec(const char *json, struct sbx_spec *spec, struct sbx_err *err)
{
	struct sbx_config config;
	int failed;

	memset(err, 0, sizeof(*err));
	sbx_config_init(&config);
	failed = sbx_spec_read(json, strlen(json), &config, spec, err);
	sbx_config_done(&config);
	return failed ? err->code : SBX_OK;
}

static void
test_least(void)
{
	struct sbx_spec spec;
	struct sbx_err err;

	is_int(read_spec("{\"run\":\"r1\"}", &spec, &err), SBX_OK, "a run is enough");
	is_str(spec.tenant, "default", "the tenant is default");
	is_str(spec.run, "r1", "the run");
	is_int(spec.epoch, 0, "epoch 0");
	is_str(spec.mechanism, NULL, "the configured mechanism");
	is_str(spec.image, NULL, "the host surface");
	is_int(spec.storage_memory, 0, "on disk");
	is_int(spec.expires_ms, 0, "the configured lease");
	is_int(spec.tmp_bytes, 0, "the configured /tmp");
	is_int(spec.limits.pids, 128, "limits are resolved");
	ok(spec.env != NULL && spec.env[0] == NULL, "no variables");
	is_str(spec.canonical, "{\"run\":\"r1\"}", "canonical as given, before defaults");
	sbx_spec_done(&spec);
	sbx_spec_done(&spec);
	ok(1, "done twice is done");
}

static void
test_most(void)
{
	struct sbx_spec spec;
	struct sbx_err err;

	is_int(read_spec(
		       "{\"tenant\":\"acme\",\"run\":\"a.b:c-d_e\",\"epoch\":9223372036854775807,"
		       "\"mechanism\":\"fake\",\"image\":\"" DIGEST "\",\"storage\":\"memory\","
		       "\"proc\":\"pid\",\"debug\":true,\"expires_after\":\"2h\",\"tmp_bytes\":\"1MiB\","
		       "\"env\":{\"A\":\"1\",\"B\":\"x=y\"},\"fake_script\":\"/x\","
		       "\"limits\":{\"pids\":7},\"egress\":\"allowlist\"}",
		       &spec, &err),
		SBX_OK, "every key: %s", err.msg);
	is_str(spec.tenant, "acme", "tenant");
	ok(spec.epoch == INT64_MAX, "the last epoch");
	is_str(spec.mechanism, "fake", "mechanism");
	is_str(spec.image, DIGEST, "image");
	is_int(spec.storage_memory, 1, "storage");
	is_int(spec.proc_view, SBX_PROC_PID, "proc");
	is_int(spec.debug, 1, "debug");
	is_int(spec.expires_ms, 7200000, "expires_after");
	is_int(spec.tmp_bytes, 1 << 20, "tmp_bytes");
	is_int(spec.env_count, 2, "two variables");
	is_str(spec.env[1], "B=x=y", "as NAME=value");
	is_str(spec.env[2], NULL, "and an end");
	is_str(spec.fake_script, "/x", "fake_script");
	is_int(spec.limits.pids, 7, "limits");
	is_int(spec.egress, SBX_EGRESS_ALLOWLIST, "egress");
	is_int(spec.limits.egress, SBX_EGRESS_ALLOWLIST, "egress among the limits");
	sbx_spec_done(&spec);
}

static void
test_refused(void)
{
	static const struct {
		const char *json;
		enum sbx_code code;
		const char *message; /* begins so */
	} rows[] = {
		{ "", SBX_E_BAD_REQUEST, "spec: " },
		{ "{", SBX_E_BAD_REQUEST, "spec: " },
		{ "[]", SBX_E_BAD_REQUEST, "spec: must be an object" },
		{ "{}", SBX_E_BAD_REQUEST, "spec.run: missing" },
		{ "{\"run\":\"\"}", SBX_E_BAD_REQUEST, "spec.run: must be 1 to 128 characters" },
		{ "{\"run\":\"a/b\"}", SBX_E_BAD_REQUEST, "spec.run: must be 1 to 128 characters" },
		{ "{\"run\":\"a\\u0000b\"}", SBX_E_BAD_REQUEST, "spec.run" },
		{ "{\"run\":1}", SBX_E_BAD_REQUEST, "spec.run: must be a string" },
		{ "{\"run\":\"r\",\"run\":\"s\"}", SBX_E_BAD_REQUEST, "spec: " },
		{ "{\"run\":\"r\",\"x\":1}", SBX_E_BAD_REQUEST, "spec: unknown key \"x\"" },
		{ "{\"run\":\"r\",\"tenant\":\"\xc3\xa9\"}", SBX_E_BAD_REQUEST,
			"spec.tenant: must be" },
		{ "{\"run\":\"r\",\"epoch\":-1}", SBX_E_BAD_REQUEST, "spec.epoch" },
		{ "{\"run\":\"r\",\"epoch\":9223372036854775808}", SBX_E_BAD_REQUEST,
			"spec.epoch" },
		{ "{\"run\":\"r\",\"epoch\":1.0}", SBX_E_BAD_REQUEST, "spec.epoch" },
		{ "{\"run\":\"r\",\"mechanism\":\"chroot\"}", SBX_E_BAD_REQUEST, "spec.mechanism" },
		{ "{\"run\":\"r\",\"image\":\"debian:12\"}", SBX_E_BAD_REQUEST,
			"spec.image: \"debian:12\" is not sha256: and 64 hexadecimal digits" },
		{ "{\"run\":\"r\",\"storage\":\"tape\"}", SBX_E_BAD_REQUEST, "spec.storage" },
		{ "{\"run\":\"r\",\"debug\":1}", SBX_E_BAD_REQUEST, "spec.debug" },
		{ "{\"run\":\"r\",\"expires_after\":0}", SBX_E_BAD_REQUEST, "spec.expires_after" },
		{ "{\"run\":\"r\",\"tmp_bytes\":1}", SBX_E_BAD_REQUEST, "spec.tmp_bytes" },
		{ "{\"run\":\"r\",\"limits\":{\"pids\":0}}", SBX_E_BAD_REQUEST,
			"spec.limits.pids: \"0\" is not a number from 1 to 4096" },
		{ "{\"run\":\"r\",\"limits\":{\"memory\":18446744073709551616}}", SBX_E_BAD_REQUEST,
			"spec.limits.memory: \"18446744073709551616\"" },
		{ "{\"run\":\"r\",\"egress\":\"open\"}", SBX_E_BAD_REQUEST,
			"spec.egress: \"open\" is over the maximum \"allowlist\"" },
		{ "{\"run\":\"r\",\"env\":[]}", SBX_E_BAD_REQUEST, "spec.env: must be an object" },
		{ "{\"run\":\"r\",\"env\":{\"A\":1}}", SBX_E_BAD_REQUEST,
			"spec.env.A: must be a string" },
		{ "{\"run\":\"r\",\"env\":{\"A\":\"\\u0000\"}}", SBX_E_BAD_REQUEST, "spec.env.A" },
		{ "{\"run\":\"r\",\"env\":{\"A=B\":\"1\"}}", SBX_E_BAD_REQUEST,
			"spec: env: \"A=B\" is not a name" },
		{ "{\"run\":\"r\",\"env\":{\"MY_API_KEY\":\"1\"}}", SBX_E_DENIED,
			"spec: env: MY_API_KEY looks like a credential" },
		{ "{\"run\":\"r\",\"fake_script\":\"/x\"}", SBX_E_BAD_REQUEST,
			"spec.fake_script: is for the mechanism fake, not for native" },
	};
	struct sbx_spec spec;
	struct sbx_err err;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		is_int(read_spec(rows[i].json, &spec, &err), rows[i].code, "refused: %s",
			rows[i].json);
		ok(strncmp(err.msg, rows[i].message, strlen(rows[i].message)) == 0, "by name: %s",
			err.msg);
		sbx_spec_done(&spec);
	}
}

static void
test_large(void)
{
	size_t size = SBX_SPEC_MAX + 1;
	SBX_AUTO_FREE char *text = sbx_mem_alloc(size + 1, 1);
	struct sbx_spec spec;
	struct sbx_err err;

	memset(text, ' ', size);
	memcpy(text, "{\"run\":\"r\"}", 11);
	is_int(read_spec(text, &spec, &err), SBX_E_TOO_LARGE, "a byte over the cap");
	is_str(err.msg, "spec: has 1048577 bytes, at most 1048576", "by name");
	sbx_spec_done(&spec);
	text[size - 1] = '\0';
	is_int(read_spec(text, &spec, &err), SBX_OK, "exactly the cap");
	sbx_spec_done(&spec);
	/* An item as long as execve takes, then one byte more. */
	memset(text, 'v', size - 1);
	memcpy(text, "{\"run\":\"r\",\"env\":{\"A\":\"", 23);
	memcpy(text + 23 + 131069, "\"}}", 4);
	is_int(read_spec(text, &spec, &err), SBX_OK, "131,071 bytes of NAME=value: %s", err.msg);
	is_int(strlen(spec.env[0]), 131071, "are kept");
	sbx_spec_done(&spec);
	memcpy(text + 23 + 131069, "v\"}}", 5);
	is_int(read_spec(text, &spec, &err), SBX_E_BAD_REQUEST, "131,072 are refused");
	ok(strstr(err.msg, "spec.env.A") != NULL, "by name: %s", err.msg);
	sbx_spec_done(&spec);
}

static void
test_ids(void)
{
	char a[SBX_ENV_ID_SIZE], b[SBX_ENV_ID_SIZE];

	sbx_spec_env_id("default", "r1", 1, a);
	is_str(a, "ew3kqs4mquva5665r7tghmera5u", "the id of a tuple is stable over versions");
	ok(sbx_spec_is_env_id(a), "and is an id");
	sbx_spec_env_id("default", "r1", 2, b);
	ok(strcmp(a, b) != 0, "another epoch is another environment");
	sbx_spec_env_id("defaultr", "1", 1, b);
	ok(strcmp(a, b) != 0, "lengths keep tenant and run apart");
	ok(!sbx_spec_is_env_id(""), "nothing is no id");
	ok(!sbx_spec_is_env_id("../../../../../../../../../"), "a path is no id");
	a[1] = 'A';
	ok(!sbx_spec_is_env_id(a), "upper case is none");
	a[1] = '1';
	ok(!sbx_spec_is_env_id(a), "1 is not of the alphabet");
}

static void
is_canonical(const char *json, const char *want)
{
	SBX_AUTO_BUF out = SBX_BUF_INIT(4096);
	struct sbx_err err = { .code = SBX_OK };
	SBX_AUTO_JSON doc = sbx_json_parse(json, strlen(json), &err);

	if (doc == NULL || sbx_json_canonical(sbx_json_root(doc), &out, &err) < 0)
		is_str(err.msg, want, "refused: %s", json);
	else
		is_str(sbx_buf_str(&out), want, "canonical: %s", json);
}

static void
test_canonical(void)
{
	SBX_AUTO_BUF small = SBX_BUF_INIT(3);
	struct sbx_err err = { .code = SBX_OK };
	SBX_AUTO_JSON doc = sbx_json_parse("[1,2]", 5, &err);

	is_canonical(" { \"b\" : 1 , \"a\" : [ true , null , 1.0 ] } ",
		"{\"a\":[true,null,1.0],\"b\":1}");
	is_canonical("{\"\\u0062\":1,\"ab\":2,\"a\":3}", "{\"a\":3,\"ab\":2,\"b\":1}");
	is_canonical("\"\\u00e9\\/\\u000a\\u0001\"", "\"\xc3\xa9/\\n\\u0001\"");
	is_canonical("{}", "{}");
	is_canonical("[[],{}]", "[[],{}]");
	is_canonical("{\"z\":{\"y\":1,\"x\":2},\"\xc3\xa9\":0}",
		"{\"z\":{\"x\":2,\"y\":1},\"\xc3\xa9\":0}");
	is_int(sbx_json_canonical(sbx_json_root(doc), &small, &err), -1,
		"more than the buffer takes");
	is_int(err.code, SBX_E_TOO_LARGE, "is too large");
}

int
main(void)
{
	test_least();
	test_most();
	test_refused();
	test_large();
	test_ids();
	test_canonical();
	return done();
}
