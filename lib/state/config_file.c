/*
 * The files of configuration: found, checked that nobody else may write them, read, and handed to
 * data/config and data/profile. What decides how hostile code is held must be the operator's word.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/scoped.h"
#include "data/config.h"
#include "state/root.h"

#ifndef SBX_SYSCONFDIR
#define SBX_SYSCONFDIR "/etc/sbx"
#endif
#define DEFAULT_PATH SBX_SYSCONFDIR "/sbx.yaml"

/*
 * The file's text: 1, or 0 if it is not there and need not be. A link is followed, since what counts
 * is who may write the file behind it.
 */
static int
read_text(const char *path, int must_exist, struct sbx_buf *text, struct sbx_err *err)
{
	SBX_AUTO_FD fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ENOENT && !must_exist)
		return 0;
	if (fd < 0)
		return sbx_fail_sys(err, SBX_E_CONFIG, "open %s", path);
	if (fstat(fd, &st) < 0)
		return sbx_fail_sys(err, SBX_E_CONFIG, "stat %s", path);
	if (!S_ISREG(st.st_mode))
		return sbx_fail(err, SBX_E_CONFIG, "%s: not a regular file", path);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return sbx_fail(err, SBX_E_CONFIG, "%s: belongs to user %u, not to us or root",
			path, st.st_uid);
	if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return sbx_fail(err, SBX_E_CONFIG, "%s: others may write to it (mode %04o)", path,
			st.st_mode & 07777);
	if (sbx_io_read_all(fd, text, path, err) < 0) {
		if (err != NULL)
			err->code = SBX_E_CONFIG;
		return -1;
	}
	return 1;
}

/* limits.yaml where the configuration says (then it must exist), or beside it. */
static int
load_limits(const char *config_path, struct sbx_config *config, struct sbx_err *err)
{
	SBX_AUTO_BUF text = SBX_BUF_INIT(SBX_YAML_TEXT_MAX);
	const char *slash = strrchr(config_path, '/');
	int dir_length = slash != NULL ? (int)(slash - config_path) + 1 : 0;
	char path[PATH_MAX];
	int found;

	if (config->limits != NULL)
		snprintf(path, sizeof(path), "%s", config->limits);
	else if (snprintf(path, sizeof(path), "%.*slimits.yaml", dir_length, config_path) >=
		(int)sizeof(path))
		return sbx_fail(err, SBX_E_CONFIG, "%.80s...: path too long", config_path);
	found = read_text(path, config->limits != NULL, &text, err);
	if (found <= 0)
		return found;
	return sbx_profile_read(path, sbx_buf_str(&text), text.length, &config->profile, err);
}

int
sbx_state_load_config(const char *option, struct sbx_config *config, struct sbx_err *err)
{
	SBX_AUTO_BUF text = SBX_BUF_INIT(SBX_YAML_TEXT_MAX);
	const char *path = option != NULL ? option : DEFAULT_PATH;
	int found;

	sbx_config_init(config);
	found = read_text(path, option != NULL, &text, err);
	if (found < 0)
		return -1;
	if (found && sbx_config_read(path, sbx_buf_str(&text), text.length, config, err) < 0)
		return -1;
	return load_limits(path, config, err);
}
