/*
 * What may bound a workspace on this host, each tried: a small image made and mounted nowhere, a
 * tmpfs, a project whose limit is met. Leaves nothing but a template of the smallest size.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "base/walk.h"
#include "kernel/loopdev.h"
#include "kernel/mount.h"
#include "mech/native/storage.h"

#define PROBE_BYTES 65536

static int
try_image(const struct sbx_mech_host *host, struct sbx_err *err)
{
	static const struct sbx_ext4_room room = { PROBE_BYTES / SBX_EXT4_BLOCK, 16 };
	SBX_AUTO_FD file = openat(host->state->root_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	SBX_AUTO_FD mount = -1;
	struct sbx_native_template template;
	struct sbx_loopdev loop;
	int rc;

	if (file < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "make a nameless file");
	if (sbx_native_template_open(host->state, &room, &template, err) < 0)
		return -1;
	rc = fallocate(file, 0, 0, (off_t)(template.blocks * SBX_EXT4_BLOCK));
	if (rc == 0)
		rc = sbx_native_template_write(&template, file);
	if (rc < 0)
		sbx_fail_sys(err, SBX_E_UNAVAILABLE, "allocate an image");
	sbx_native_template_done(&template);
	if (rc < 0 || sbx_loopdev_attach(file, "sbx probe", &loop, err) < 0)
		return -1;
	mount = sbx_ext4_mount(&loop, err);
	sbx_loopdev_done(&loop);
	return mount < 0 ? -1 : 0;
}

static int
try_tmpfs(const struct sbx_mech_host *host, struct sbx_err *err)
{
	static const char *const options[] = { "size=64k", "nr_inodes=16", NULL };
	SBX_AUTO_FD fd = sbx_mount_new("tmpfs", options, SBX_MOUNT_NODEV, err);

	(void)host;
	return fd < 0 ? sbx_fail_hint(err, "it takes CAP_SYS_ADMIN") : 0;
}

/* In a directory that stands for an environment's. */
static int
try_project(const struct sbx_mech_host *host, struct sbx_err *err)
{
	struct sbx_env_record record = { .limits = { .workspace_bytes = PROBE_BYTES,
						 .workspace_inodes = 16 } };
	struct sbx_err stays = { 0 };
	struct sbx_env env = { .dir_fd = -1, .lock_fd = -1 };
	char name[40];
	int rc = -1;

	snprintf(name, sizeof(name), ".probe-%d", (int)getpid());
	snprintf(env.id, sizeof(env.id), "probe-%d", (int)getpid());
	if (mkdirat(host->state->root_fd, name, 0700) < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "make a directory");
	env.dir_fd = openat(host->state->root_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (env.dir_fd < 0 || mkdirat(env.dir_fd, "workspace", 0700) < 0)
		sbx_fail_sys(err, SBX_E_UNAVAILABLE, "make a directory");
	else
		rc = sbx_native_project_make(host, &env, &record, err);
	if (env.dir_fd >= 0 && sbx_native_project_drop(&env, &stays) < 0 && rc == 0) {
		*err = stays;
		rc = -1;
	}
	sbx_env_close(&env);
	if (sbx_walk_remove(host->state->root_fd, name, &stays) < 0 && rc == 0) {
		*err = stays;
		rc = -1;
	}
	return rc;
}

void
sbx_native_storage_probe(const struct sbx_mech_host *host, struct sbx_probe *probe)
{
	static const struct {
		int kind;
		int (*try)(const struct sbx_mech_host *host, struct sbx_err *err);
		const char *seen;
	} kinds[] = {
		{ SBX_QUOTA_PROJECT, try_project, "a limit was set, and met" },
		{ SBX_QUOTA_IMAGE, try_image, "an ext4 was made, attached and mounted" },
		{ SBX_QUOTA_TMPFS, try_tmpfs, "one of 64 KiB was mounted" },
	};
	char name[40];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct sbx_err err = { 0 };
		int rc = geteuid() == 0 ? kinds[i].try(host, &err) :
					  sbx_fail(&err, SBX_E_UNAVAILABLE, "it takes root");

		if (rc < 0 && err.hint[0] == '\0')
			sbx_fail_hint(&err, "run the tools as root, or configure `quota: monitor`");
		snprintf(name, sizeof(name), "workspace:%s", sbx_quota_names[kinds[i].kind]);
		sbx_probe_add(probe, name, rc == 0, host->config->quota == kinds[i].kind,
			rc == 0 ? kinds[i].seen : err.msg, err.hint);
	}
	sbx_probe_add(probe, "workspace:monitor", 1, host->config->quota == SBX_QUOTA_MONITOR,
		"each single file is bounded, their sum is not", "");
}
