/*
 * A command's variables, by allow-list: nothing of the caller's passes unless its name was reviewed
 * here or by the operator, and a name that looks like a credential passes from nowhere.
 */
#include "data/cmd_env.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/utf8.h"

#define NAME_MAX_BYTES 256

/* Names with these words anywhere in them, in any case. */
static const char *const secret_parts[] = { "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE",
	"CREDENTIAL", "PRIVATE_KEY", "PRIVATEKEY", "API_KEY", "APIKEY", "ACCESS_KEY", "ACCESSKEY",
	NULL };
/* Whole words between underscores: AUTH is one, the AUTHOR of GIT_AUTHOR_NAME is not. */
static const char *const secret_words[] = { "AUTH", "OAUTH", "OAUTH2", "BEARER", "COOKIE", NULL };
static const char *const secret_heads[] = { "AWS_", "AZURE_", "GOOGLE_APPLICATION", "GH_",
	"GITHUB_TOKEN", "VAULT_", NULL };
static const char *const secret_tails[] = { "_KEY", "_PAT", "_PWD", NULL };
/* What no pattern shows: sockets and files that stand for a credential, and addresses with one. */
static const char *const secret_names[] = { "SSH_AGENT_PID", "GPG_AGENT_INFO", "KUBECONFIG",
	"DOCKER_HOST", "DOCKER_CONFIG", "DATABASE_URL", "REDIS_URL", "MONGODB_URI", "AMQP_URL",
	"PGPASSFILE", "NETRC", "XAUTHORITY", "KRB5CCNAME", "SENTRY_DSN", "BOTO_CONFIG",
	"CLOUDSDK_CONFIG", "DBUS_SESSION_BUS_ADDRESS", NULL };
/* Reviewed: they match a pattern and are none. */
static const char *const harmless[] = { "TOKENIZERS_PARALLELISM", "MAX_TOKENS", "SORT_KEY", NULL };

/* Of the caller's: how people read and where they are. */
static const char *const reviewed[] = { "LANG", "LANGUAGE", "TZ", "TERM", "COLORTERM", "NO_COLOR",
	"LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT",
	"LC_MESSAGES", "LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE",
	"LC_TIME", NULL };

static const char *const base_set[] = {
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/workspace",
	"USER=sbx", "LOGNAME=sbx", "SHELL=/bin/sh", "LANG=C.UTF-8", "TMPDIR=/tmp", "TERM=dumb", NULL
};

static int
listed(const char *const *list, const char *name)
{
	for (; *list != NULL; list++)
		if (strcasecmp(*list, name) == 0)
			return 1;
	return 0;
}

static int
has_word(const char *name, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = name; (at = strcasestr(at, word)) != NULL; at++)
		if ((at == name || at[-1] == '_') && (at[length] == '_' || at[length] == '\0'))
			return 1;
	return 0;
}

static int
is_secret(const char *name)
{
	size_t length = strlen(name);

	if (listed(harmless, name))
		return 0;
	for (const char *const *s = secret_parts; *s != NULL; s++)
		if (strcasestr(name, *s) != NULL)
			return 1;
	for (const char *const *s = secret_words; *s != NULL; s++)
		if (has_word(name, *s))
			return 1;
	for (const char *const *s = secret_heads; *s != NULL; s++)
		if (strncasecmp(name, *s, strlen(*s)) == 0)
			return 1;
	for (const char *const *s = secret_tails; *s != NULL; s++)
		if (length > strlen(*s) && strcasecmp(name + length - strlen(*s), *s) == 0)
			return 1;
	return listed(secret_names, name);
}

static int
is_name(const char *name)
{
	size_t length = strspn(name,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

	return length > 0 && length <= NAME_MAX_BYTES && name[length] == '\0' &&
		!(name[0] >= '0' && name[0] <= '9');
}

int
sbx_cmd_env_check_name(const char *name, struct sbx_err *err)
{
	if (!is_name(name))
		return sbx_fail(err, SBX_E_BAD_REQUEST,
			"env: \"%.*s\" is not a name of 1 to %d letters, digits and underscores",
			(int)sbx_utf8_floor(name, strnlen(name, 64)), name, NAME_MAX_BYTES);
	if (!is_secret(name))
		return 0;
	sbx_fail(err, SBX_E_DENIED, "env: %s looks like a credential", name);
	return sbx_fail_hint(err, "code in an environment is hostile: hand it no secret");
}

int
sbx_cmd_env_check_pass(const char *name, struct sbx_err *err)
{
	if (strncasecmp(name, "LD_", 3) == 0)
		return sbx_fail(err, SBX_E_DENIED, "env: %s of the caller is for its own loader",
			name);
	return sbx_cmd_env_check_name(name, err);
}

/* The bytes before '=', or of all where there is none. */
static size_t
name_length(const char *item)
{
	return strcspn(item, "=");
}

/* Later wins; the place of the first stays. */
static int
set(struct sbx_cmd_env *env, const char *item, struct sbx_err *err)
{
	size_t length = name_length(item);
	size_t i = 0;

	if (strlen(item) > SBX_CMD_ENV_ITEM_MAX)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "env: %.*s is longer than %d bytes",
			(int)length, item, SBX_CMD_ENV_ITEM_MAX);
	while (i < env->count && strncmp(env->items[i], item, length + 1) != 0)
		i++;
	if (i == SBX_CMD_ENV_MAX)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "env: more than %d variables",
			SBX_CMD_ENV_MAX);
	if (i == env->count)
		env->count++;
	else
		free(env->items[i]);
	env->items[i] = sbx_mem_dup(item);
	return 0;
}

/* A list that somebody asked for: every name is checked. */
static int
set_asked(struct sbx_cmd_env *env, char *const *items, struct sbx_err *err)
{
	char name[NAME_MAX_BYTES + 2];

	for (; items != NULL && *items != NULL; items++) {
		size_t length = name_length(*items);

		/* One byte more than a name may have is enough to be refused as too long. */
		if (length >= sizeof(name))
			length = sizeof(name) - 1;
		memcpy(name, *items, length);
		name[length] = '\0';
		if (sbx_cmd_env_check_name(name, err) < 0)
			return -1;
		if (strchr(*items, '=') == NULL)
			return sbx_fail(err, SBX_E_BAD_REQUEST,
				"env: \"%s\" has no value: write NAME=value", name);
		if (set(env, *items, err) < 0)
			return -1;
	}
	return 0;
}

/* Of the caller's variables the one of this name, if it is there and can be passed on. */
static int
set_passed(struct sbx_cmd_env *env, char *const *caller, const char *name, struct sbx_err *err)
{
	size_t length = strlen(name);

	for (; caller != NULL && *caller != NULL; caller++)
		if (strncmp(*caller, name, length) == 0 && (*caller)[length] == '=')
			return set(env, *caller, err);
	return 0;
}

int
sbx_cmd_env_build(char *const *caller, const struct sbx_yaml_strings *pass, char *const *spec_env,
	char *const *request_env, struct sbx_cmd_env *out, struct sbx_err *err)
{
	out->items = sbx_mem_alloc(SBX_CMD_ENV_MAX + 1, sizeof(*out->items));
	out->count = 0;
	for (const char *const *item = base_set; *item != NULL; item++)
		if (set(out, *item, err) < 0)
			return -1;
	for (const char *const *name = reviewed; *name != NULL; name++)
		if (set_passed(out, caller, *name, err) < 0)
			return -1;
	for (size_t i = 0; pass != NULL && i < pass->count; i++)
		if (sbx_cmd_env_check_pass(pass->items[i], err) < 0 ||
			set_passed(out, caller, pass->items[i], err) < 0)
			return -1;
	if (set_asked(out, spec_env, err) < 0)
		return -1;
	return set_asked(out, request_env, err);
}

void
sbx_cmd_env_done(struct sbx_cmd_env *env)
{
	if (env == NULL || env->items == NULL)
		return;
	for (size_t i = 0; i < env->count; i++)
		free(env->items[i]);
	free(env->items);
	env->items = NULL;
	env->count = 0;
}
