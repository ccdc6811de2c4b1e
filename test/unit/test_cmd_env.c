/* data/cmd_env: which names pass from where, and which pass from nowhere. */
#include "data/cmd_env.h"

#include "tap.h"

static const char *
get(const struct sbx_cmd_env *env, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < env->count; i++)
		if (strncmp(env->items[i], name, length) == 0 && env->items[i][length] == '=')
			return env->items[i] + length + 1;
	return NULL;
}

static void
test_names(void)
{
	static const char *const secret[] = { "GITHUB_TOKEN", "npm_token", "MY_SECRET_1",
		"DB_PASSWORD", "PGPASSWORD", "MYSQL_PWD", "X_PASSWD", "GPG_PASSPHRASE",
		"GOOGLE_APPLICATION_CREDENTIALS", "SSH_PRIVATE_KEY", "OPENAI_API_KEY", "APIKEY",
		"AWS_REGION", "AZURE_CLIENT_ID", "GH_HOST", "STRIPE_KEY", "GITLAB_PAT",
		"SSH_AUTH_SOCK", "AUTH", "HTTP_AUTH_HEADER", "OAUTH_CODE", "GPG_AGENT_INFO",
		"KUBECONFIG", "DOCKER_HOST", "DATABASE_URL", "XAUTHORITY", "NETRC", "VAULT_ADDR",
		"SESSION_COOKIE" };
	static const char *const fine[] = { "PATH", "GIT_AUTHOR_NAME", "AUTHORITY", "KEYBOARD",
		"MONKEY", "TOKENIZERS_PARALLELISM", "LD_LIBRARY_PATH", "_", "a1", "PWD", "OLDPWD",
		"HTTP_PROXY", "GHOST", "PATTERN" };
	static const char *const malformed[] = { "", "1A", "A-B", "A B", "A=B", "A\n", "\xc3\x84" };
	char long_name[300];
	struct sbx_err err = { .code = SBX_OK };

	for (size_t i = 0; i < sizeof(secret) / sizeof(secret[0]); i++) {
		memset(&err, 0, sizeof(err));
		is_int(sbx_cmd_env_check_name(secret[i], &err), -1, "%s is refused", secret[i]);
		is_int(err.code, SBX_E_DENIED, "as denied: %s", err.msg);
	}
	is_str(err.msg, "env: SESSION_COOKIE looks like a credential", "by name");
	ok(err.hint[0] != '\0', "with a hint");
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
		is_int(sbx_cmd_env_check_name(fine[i], &err), 0, "%s passes", fine[i]);
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
		is_int(sbx_cmd_env_check_name(malformed[i], &err), -1, "malformed %zu", i);
		is_int(err.code, SBX_E_BAD_REQUEST, "is a bad request");
	}
	memset(long_name, 'A', sizeof(long_name));
	long_name[256] = '\0';
	is_int(sbx_cmd_env_check_name(long_name, &err), 0, "256 bytes pass");
	long_name[256] = 'A';
	long_name[257] = '\0';
	is_int(sbx_cmd_env_check_name(long_name, &err), -1, "257 do not");
	is_int(sbx_cmd_env_check_pass("LD_AUDIT", &err), -1,
		"the loader's are not the caller's to pass");
	is_int(err.code, SBX_E_DENIED, "denied");
}

static void
test_build(void)
{
	char *caller[] = { (char[]){ "PATH=/evil" }, (char[]){ "LANG=de_DE.UTF-8" },
		(char[]){ "LC_TIME=C" }, (char[]){ "LC_EVIL=x" }, (char[]){ "TERM=xterm" },
		(char[]){ "TZ=UTC" }, (char[]){ "HOME=/root" }, (char[]){ "LD_PRELOAD=/evil.so" },
		(char[]){ "AWS_SECRET_ACCESS_KEY=x" }, (char[]){ "EDITOR=vi" },
		(char[]){ "nonsense" }, (char[]){ "EDITORS=no" }, NULL };
	char *spec_env[] = { (char[]){ "A=spec" }, (char[]){ "B=spec" }, (char[]){ "PATH=/bin" },
		NULL };
	char *request_env[] = { (char[]){ "B=request" }, (char[]){ "EMPTY=" }, NULL };
	char *pass_items[] = { (char[]){ "EDITOR" }, (char[]){ "ABSENT" } };
	const struct sbx_yaml_strings pass = { .items = pass_items, .count = 2 };
	struct sbx_cmd_env env;
	struct sbx_err err = { .code = SBX_OK };

	is_int(sbx_cmd_env_build(caller, &pass, spec_env, request_env, &env, &err), 0, "built: %s",
		err.msg);
	is_str(get(&env, "PATH"), "/bin", "the spec beats the base set, the caller does not");
	is_str(get(&env, "HOME"), "/workspace", "HOME is the workspace");
	is_str(get(&env, "USER"), "sbx", "USER");
	is_str(get(&env, "LOGNAME"), "sbx", "LOGNAME");
	is_str(get(&env, "SHELL"), "/bin/sh", "SHELL");
	is_str(get(&env, "TMPDIR"), "/tmp", "TMPDIR");
	is_str(get(&env, "LANG"), "de_DE.UTF-8", "the caller's language");
	is_str(get(&env, "LC_TIME"), "C", "a known category");
	is_str(get(&env, "LC_EVIL"), NULL, "an unknown one does not pass");
	is_str(get(&env, "TERM"), "xterm", "the terminal");
	is_str(get(&env, "TZ"), "UTC", "the time zone");
	is_str(get(&env, "LD_PRELOAD"), NULL, "the loader's variables do not pass");
	is_str(get(&env, "AWS_SECRET_ACCESS_KEY"), NULL, "credentials do not pass");
	is_str(get(&env, "EDITOR"), "vi", "what the operator lists passes");
	is_str(get(&env, "EDITORS"), NULL, "and nothing that begins like it");
	is_str(get(&env, "ABSENT"), NULL, "what is not there is not made up");
	is_str(get(&env, "A"), "spec", "the spec's");
	is_str(get(&env, "B"), "request", "the request's wins");
	is_str(get(&env, "EMPTY"), "", "an empty value is one");
	for (size_t i = 0; i < env.count; i++)
		for (size_t j = 0; j < i; j++)
			if (strncmp(env.items[i], env.items[j], strcspn(env.items[i], "=") + 1) ==
				0)
				ok(0, "twice: %s", env.items[i]);
	ok(env.items[env.count] == NULL, "ends with NULL");
	sbx_cmd_env_done(&env);
	is_int(sbx_cmd_env_build(NULL, NULL, NULL, NULL, &env, &err), 0, "nothing given");
	is_int(env.count, 8, "is the base set");
	is_str(get(&env, "TERM"), "dumb", "with a terminal that can do nothing");
	sbx_cmd_env_done(&env);
	sbx_cmd_env_done(&env);
}

static void
refused(char *item, char *pass_name, enum sbx_code code, const char *message)
{
	char *items[] = { item, NULL }, *names[] = { pass_name };
	const struct sbx_yaml_strings pass = { .items = names, .count = pass_name != NULL };
	struct sbx_cmd_env env;
	struct sbx_err err = { .code = SBX_OK };

	is_int(sbx_cmd_env_build(NULL, &pass, NULL, items, &env, &err), -1, "refused: %s", message);
	is_int(err.code, code, "code of: %s", message);
	is_str(err.msg, message, "by name");
	sbx_cmd_env_done(&env);
}

static void
test_refused(void)
{
	static char huge[131073], many[1024][12];
	char *items[1025];
	struct sbx_cmd_env env;
	struct sbx_err err = { .code = SBX_OK };

	refused((char[]){ "MY_TOKEN=1" }, NULL, SBX_E_DENIED,
		"env: MY_TOKEN looks like a credential");
	refused((char[]){ "=1" }, NULL, SBX_E_BAD_REQUEST,
		"env: \"\" is not a name of 1 to 256 letters, digits and underscores");
	refused((char[]){ "A" }, NULL, SBX_E_BAD_REQUEST,
		"env: \"A\" has no value: write NAME=value");
	refused(NULL, (char[]){ "LD_PRELOAD" }, SBX_E_DENIED,
		"env: LD_PRELOAD of the caller is for its own loader");
	refused(NULL, (char[]){ "MY_TOKEN" }, SBX_E_DENIED,
		"env: MY_TOKEN looks like a credential");
	memset(huge, 'x', sizeof(huge) - 1);
	memcpy(huge, "A=", 2);
	refused(huge, NULL, SBX_E_BAD_REQUEST, "env: A is longer than 131071 bytes");
	for (size_t i = 0; i < 1024; i++) {
		snprintf(many[i], sizeof(many[i]), "V%zu=", i);
		items[i] = many[i];
	}
	items[1024] = NULL;
	is_int(sbx_cmd_env_build(NULL, NULL, NULL, items, &env, &err), -1, "too many");
	is_str(err.msg, "env: more than 1024 variables", "by name");
	sbx_cmd_env_done(&env);
}

int
main(void)
{
	test_names();
	test_build();
	test_refused();
	return done();
}
