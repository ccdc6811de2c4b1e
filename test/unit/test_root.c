/* state/root: where the state is, who may write it, and the same for the configuration. */
#include "state/root.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "data/config.h"
#include "state_help.h"
#include "tap.h"

static char dir[64];

static const char *
under(const char *name)
{
	static char path[4][256];
	static int next;

	next = (next + 1) % 4;
	snprintf(path[next], sizeof(path[next]), "%s/%s", dir, name);
	return path[next];
}

static void
put(const char *name, const char *text, mode_t mode)
{
	struct sbx_err err = { .code = SBX_OK };
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (sbx_io_replace_file(fd, name, text, strlen(text), mode, 0, &err) < 0)
		ok(0, "set-up: %s", err.msg);
	close(fd);
}

static void
test_places(void)
{
	struct sbx_state state;
	struct sbx_err err = { .code = SBX_OK };
	struct stat st;

	setenv("SBX_STATE", under("from-env"), 1);
	is_int(sbx_state_open(under("a/b/option"), under("configured"), &state, &err), 0,
		"option: %s", err.msg);
	is_str(state.path, under("a/b/option"), "the option is first, and made with its parents");
	is_int(fstat(state.env_fd, &st), 0, "env/");
	is_int(st.st_mode & 07777, 0700, "is ours alone");
	sbx_state_close(&state);
	sbx_state_close(&state);
	is_int(sbx_state_open(NULL, under("configured"), &state, &err), 0, "environment");
	is_str(state.path, under("from-env"), "$SBX_STATE is next");
	sbx_state_close(&state);
	setenv("SBX_STATE", "", 1);
	is_int(sbx_state_open(NULL, under("configured"), &state, &err), 0, "configured");
	is_str(state.path, under("configured"),
		"then the configuration, an empty variable is none");
	sbx_state_close(&state);
	is_int(chdir(dir), 0, "from another directory");
	is_int(sbx_state_open("relative", NULL, &state, &err), 0, "a relative one");
	is_str(state.path, under("relative"), "is made absolute");
	sbx_state_close(&state);
	is_int(sbx_state_open("", NULL, &state, &err), -1, "an empty one is refused");
	is_int(err.code, SBX_E_CONFIG, "by code");
	is_int(state.root_fd, -1, "and nothing is held");
}

static void
test_tag(void)
{
	struct sbx_state state;
	struct sbx_err err = { .code = SBX_OK };
	char first[SBX_STATE_TAG_SIZE];
	int fd;

	is_int(sbx_state_open(under("tagged"), NULL, &state, &err), 0, "a state: %s", err.msg);
	is_int(strlen(state.tag), 13, "has a tag");
	ok(strspn(state.tag, "abcdefghijklmnopqrstuvwxyz234567") == 13, "of base32");
	memcpy(first, state.tag, sizeof(first));
	is_int(faccessat(state.root_fd, "tag", F_OK, 0), 0, "in a file");
	sbx_state_close(&state);
	is_int(sbx_state_open(under("tagged"), NULL, &state, &err), 0, "opened again");
	is_str(state.tag, first, "it is the same");
	sbx_state_close(&state);
	is_int(sbx_state_open(under("other"), NULL, &state, &err), 0, "another state");
	ok(strcmp(state.tag, first) != 0, "has another one");
	sbx_state_close(&state);
	fd = open(under("tagged/tag"), O_WRONLY | O_TRUNC | O_CLOEXEC);
	ok(write(fd, "UPPER\n", 6) == 6, "damage");
	close(fd);
	is_int(sbx_state_open(under("tagged"), NULL, &state, &err), -1, "a damaged one");
	is_int(err.code, SBX_E_CORRUPT, "code");
	is_str(err.msg, "the state's file \"tag\" is damaged", "message");
}

static void
test_denied(void)
{
	struct sbx_state state;
	struct sbx_err err = { .code = SBX_OK };

	ok(mkdir(under("open"), 0700) == 0 && chmod(under("open"), 0777) == 0, "others may write");
	is_int(sbx_state_open(under("open"), NULL, &state, &err), -1, "refused");
	is_int(err.code, SBX_E_DENIED, "denied");
	ok(strstr(err.msg, "others may write to it (mode 0777)") != NULL, "by name: %s", err.msg);
	ok(mkdir(under("half"), 0700) == 0 && mkdir(under("half/env"), 0755) == 0,
		"env/ that others see");
	is_int(sbx_state_open(under("half"), NULL, &state, &err), -1, "refused");
	is_int(err.code, SBX_E_DENIED, "denied");
	ok(strstr(err.msg, "half/env: must be ours with mode 0700") != NULL, "by name: %s",
		err.msg);
	ok(mkdir(under("link"), 0700) == 0 && symlink("/tmp", under("link/env")) == 0,
		"env is a link");
	is_int(sbx_state_open(under("link"), NULL, &state, &err), -1, "refused: %s", err.msg);
	put("file", "", 0600);
	is_int(sbx_state_open(under("file"), NULL, &state, &err), -1, "a file: %s", err.msg);
	is_int(sbx_state_open(under("file/x"), NULL, &state, &err), -1, "below a file: %s",
		err.msg);
	if (geteuid() != 0) {
		skip(2, "needs root");
		return;
	}
	ok(mkdir(under("foreign"), 0700) == 0 && chown(under("foreign"), 1234, 1234) == 0,
		"another's");
	is_int(sbx_state_open(under("foreign"), NULL, &state, &err), -1, "refused: %s", err.msg);
}

static enum sbx_code
load(const char *path, struct sbx_config *config, struct sbx_err *err)
{
	memset(err, 0, sizeof(*err));
	return sbx_state_load_config(path, config, err) < 0 ? err->code : SBX_OK;
}

static void
test_config(void)
{
	struct sbx_config config;
	struct sbx_err err;
	char text[256];

	is_int(load(under("none.yaml"), &config, &err), SBX_E_CONFIG, "an option must exist");
	ok(strstr(err.msg, "none.yaml") != NULL, "by name: %s", err.msg);
	sbx_config_done(&config);
	put("sbx.yaml", "lease: 5m\n", 0644);
	is_int(load(under("sbx.yaml"), &config, &err), SBX_OK, "alone: %s", err.msg);
	is_int(config.lease_ms, 300000, "is read");
	is_int(config.profile.defaults.pids, 128, "limits are built in");
	sbx_config_done(&config);
	put("limits.yaml", "pids: {default: 7}\n", 0644);
	is_int(load(under("sbx.yaml"), &config, &err), SBX_OK, "with limits beside it");
	is_int(config.profile.defaults.pids, 7, "they are read");
	sbx_config_done(&config);
	snprintf(text, sizeof(text), "limits: %s\n", under("elsewhere.yaml"));
	put("sbx.yaml", text, 0644);
	is_int(load(under("sbx.yaml"), &config, &err), SBX_E_CONFIG,
		"limits that are named must exist");
	ok(strstr(err.msg, "elsewhere.yaml") != NULL, "by name: %s", err.msg);
	sbx_config_done(&config);
	put("elsewhere.yaml", "pids: {default: 9}\n", 0644);
	is_int(load(under("sbx.yaml"), &config, &err), SBX_OK, "now they do");
	is_int(config.profile.defaults.pids, 9, "and win over those beside");
	sbx_config_done(&config);
	put("elsewhere.yaml", "pids: {default: 9}\n", 0664);
	is_int(load(under("sbx.yaml"), &config, &err), SBX_E_CONFIG,
		"limits that the group may write");
	ok(strstr(err.msg, "elsewhere.yaml: others may write to it (mode 0664)") != NULL,
		"by name: %s", err.msg);
	sbx_config_done(&config);
	put("sbx.yaml", "lease: 5m\n", 0646);
	is_int(load(under("sbx.yaml"), &config, &err), SBX_E_CONFIG,
		"a file that others may write");
	ok(strstr(err.msg, "sbx.yaml: others may write to it (mode 0646)") != NULL, "by name: %s",
		err.msg);
	sbx_config_done(&config);
	is_int(load(dir, &config, &err), SBX_E_CONFIG, "a directory");
	ok(strstr(err.msg, "not a regular file") != NULL, "by name: %s", err.msg);
	sbx_config_done(&config);
	put("bad.yaml", "\n\nlease: never\n", 0600);
	is_int(load(under("bad.yaml"), &config, &err), SBX_E_CONFIG, "a wrong value");
	ok(strstr(err.msg, "bad.yaml:3: ") != NULL, "with its line: %s", err.msg);
	sbx_config_done(&config);
}

int
main(void)
{
	snprintf(dir, sizeof(dir), "/tmp/sbx-unit-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return 1;
	test_places();
	test_tag();
	test_denied();
	test_config();
	is_int(chdir("/"), 0, "out of it");
	temporary_remove(dir);
	return done();
}
