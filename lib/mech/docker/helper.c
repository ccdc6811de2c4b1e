/*
 * sbx-init in a named volume of the engine, so that it gets into any image without a path of the
 * host: imported as an image, copied up from it into the volume (what an engine does with an empty
 * volume that hangs where the image has files), then read back by the image's own sbx-init and
 * compared byte by byte. A volume once found good is remembered in the state directory by a label
 * that is random for each volume, so that later only its label is asked for.
 *
 * Two states on one engine share the volume, and each may find it half filled by the other: so a
 * wrong content is looked at again before it is thrown away.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/io.h"
#include "base/log.h"
#include "base/scoped.h"
#include "mech/channel.h"
#include "mech/docker/docker.h"
#include "state/lock.h"

#define CHECK_DIR "/.sbx/check"
#define LOOKS 3
#define LOOK_NS (300 * 1000 * 1000)
#define STAMP_MAX 256

/* A short container of the helper image, run to its end: sbx-init with these two words. */
static int
run(const struct sbx_docker *docker, const struct sbx_docker_helper *helper, const char *mount,
	const char *const words[2], struct sbx_buf *out, struct sbx_err *err)
{
	SBX_AUTO_DOCKER_ARGS args = { .count = 0 };

	sbx_docker_args_add(&args, "%s", docker->engine);
	sbx_docker_args_add(&args, "run");
	sbx_docker_args_add(&args, "--rm");
	sbx_docker_args_add(&args, "--label=sbx.helper=run");
	sbx_docker_args_confine(docker, &args);
	sbx_docker_args_add(&args, "--volume=%s:%s", helper->volume, mount);
	sbx_docker_args_add(&args, "--entrypoint=" SBX_CHAN_INIT);
	sbx_docker_args_add(&args, "%s", helper->image);
	for (size_t i = 0; i < 2 && words[i] != NULL; i++)
		sbx_docker_args_add(&args, "%s", words[i]);
	return sbx_docker_call(docker, &args, NULL, 0, out, err);
}

void
sbx_docker_args_stamp(const struct sbx_docker *docker, const char *volume,
	struct sbx_docker_args *args)
{
	sbx_docker_args_add(args, "%s", docker->engine);
	sbx_docker_args_add(args, "volume");
	sbx_docker_args_add(args, "inspect");
	sbx_docker_args_add(args, "--format={{.CreatedAt}} {{index .Labels \"sbx.helper\"}}");
	sbx_docker_args_add(args, "%s", volume);
}

/* 1 and what tells it from another of its name; 0: there is none; -1. */
static int
get_stamp(const struct sbx_docker *docker, const char *volume, struct sbx_buf *stamp,
	struct sbx_err *err)
{
	SBX_AUTO_DOCKER_ARGS args = { .count = 0 };
	struct sbx_err why = { 0 };

	sbx_buf_clear(stamp);
	sbx_docker_args_stamp(docker, volume, &args);
	if (sbx_docker_call(docker, &args, NULL, 0, stamp, &why) == 0)
		return 1;
	if (why.code == SBX_E_NOT_FOUND)
		return 0;
	*err = why;
	return -1;
}

/* Filled by the engine when the container is made; what runs in it matters nothing. */
static int
fill(const struct sbx_docker *docker, const struct sbx_docker_helper *helper, struct sbx_err *err)
{
	static const char *const words[2] = { "describe", NULL };
	SBX_AUTO_DOCKER_ARGS args = { .count = 0 };
	char nonce[27];

	sbx_id_random(nonce);
	sbx_docker_args_add(&args, "%s", docker->engine);
	sbx_docker_args_add(&args, "volume");
	sbx_docker_args_add(&args, "create");
	sbx_docker_args_add(&args, "--label=sbx.helper=%s", nonce);
	sbx_docker_args_add(&args, "%s", helper->volume);
	if (sbx_docker_call(docker, &args, NULL, 0, NULL, err) < 0)
		return -1;
	return run(docker, helper, SBX_CHAN_DIR, words, NULL, err);
}

/* 1: it holds our bytes and they can be executed; 0: it does not; -1. */
static int
look(const struct sbx_docker *docker, const struct sbx_docker_helper *helper, struct sbx_err *err)
{
	static const char *const words[2] = { "show", CHECK_DIR "/sbx-init" };
	const struct sbx_buf *binary = &helper->binary;
	SBX_AUTO_BUF got = SBX_BUF_INIT(binary->length + 1);
	size_t length = binary->length;
	struct sbx_err why = { 0 };

	if (run(docker, helper, CHECK_DIR ":ro,nocopy", words, &got, &why) < 0) {
		/* show's own status, or more bytes than ours */
		if (why.code == SBX_E_INTERNAL || why.code == SBX_E_TOO_LARGE)
			return 0;
		*err = why;
		return -1;
	}
	/* A call drops a last newline. */
	if (length > 0 && binary->data[length - 1] == '\n')
		length--;
	return got.length == length && memcmp(sbx_buf_str(&got), binary->data, length) == 0;
}

static int
verify(const struct sbx_docker *docker, const struct sbx_docker_helper *helper, struct sbx_err *err)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	int good = look(docker, helper, err);

	for (int i = 1; i < LOOKS && good == 0; i++) {
		nanosleep(&pause, NULL);
		good = look(docker, helper, err);
	}
	return good;
}

static int
throw_away(const struct sbx_docker *docker, const struct sbx_docker_helper *helper,
	struct sbx_err *err)
{
	SBX_AUTO_DOCKER_ARGS args = { .count = 0 };

	sbx_log(SBX_LOG_WARN, "volume %s does not hold our sbx-init: it is made again",
		helper->volume);
	sbx_docker_args_remove_volume(docker, helper->volume, &args);
	if (sbx_docker_call(docker, &args, NULL, 0, NULL, err) == 0)
		return 0;
	if (err != NULL && err->code == SBX_E_BUSY)
		err->code = SBX_E_CORRUPT;
	return sbx_fail_wrap(err, "volume %s does not hold our sbx-init", helper->volume);
}

static int
make_good(const struct sbx_docker *docker, const struct sbx_docker_helper *helper, int there,
	struct sbx_err *err)
{
	if (sbx_docker_helper_image(docker, helper, err) < 0)
		return -1;
	for (int tries = 0; tries < 2; tries++) {
		int good;

		if (!there && fill(docker, helper, err) < 0)
			return -1;
		good = verify(docker, helper, err);
		if (good != 0)
			return good < 0 ? -1 : 0;
		if (throw_away(docker, helper, err) < 0)
			return -1;
		there = 0;
	}
	return sbx_fail(err, SBX_E_CORRUPT, "volume %s cannot be made to hold our sbx-init",
		helper->volume);
}

/* The directory, locked by the answered descriptor's file: one of this state at a time. */
static int
lock_dir(const struct sbx_mech_host *host, const struct sbx_docker *docker, int *lock_fd,
	struct sbx_err *err)
{
	int root = host->state->root_fd;
	SBX_AUTO_FD dir = -1;

	if (mkdirat(root, "helper", 0700) < 0 && errno != EEXIST)
		return sbx_fail_sys(err, SBX_E_IO, "make directory helper");
	dir = openat(root, "helper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return sbx_fail_sys(err, SBX_E_IO, "open directory helper");
	*lock_fd = openat(dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*lock_fd < 0)
		return sbx_fail_sys(err, SBX_E_IO, "open helper/lock");
	if (sbx_lock_wait(*lock_fd, sbx_clock_mono_ms() + docker->timeout_ms) < 0)
		return sbx_fail(err, SBX_E_BUSY, "somebody else makes the helper volume");
	return sbx_take_fd(&dir);
}

static int
remembered(int dir_fd, const char *name, const struct sbx_buf *stamp)
{
	SBX_AUTO_BUF known = SBX_BUF_INIT(STAMP_MAX);

	return sbx_io_read_file(dir_fd, name, &known, NULL) == 0 &&
		strcmp(sbx_buf_str(&known), sbx_buf_str(stamp)) == 0;
}

int
sbx_docker_helper_ensure(const struct sbx_mech_host *host, const struct sbx_docker *docker,
	char volume[SBX_DOCKER_HELPER_SIZE], struct sbx_err *err)
{
	__attribute__((cleanup(sbx_docker_helper_done))) struct sbx_docker_helper helper;
	struct sbx_docker plain = *docker;
	SBX_AUTO_BUF stamp = SBX_BUF_INIT(STAMP_MAX);
	SBX_AUTO_FD lock_fd = -1;
	SBX_AUTO_FD dir_fd = -1;
	int there;

	/* Our own bytes need no other kernel. */
	plain.runtime = NULL;
	if (sbx_docker_helper_read(host, &helper, err) < 0)
		return -1;
	memcpy(volume, helper.volume, sizeof(helper.volume));
	dir_fd = lock_dir(host, docker, &lock_fd, err);
	if (dir_fd < 0)
		return -1;
	there = get_stamp(&plain, volume, &stamp, err);
	if (there < 0)
		return -1;
	if (there && remembered(dir_fd, volume, &stamp))
		return 0;
	if (make_good(&plain, &helper, there, err) < 0)
		return sbx_fail_wrap(err, "the helper");
	if (get_stamp(&plain, volume, &stamp, err) < 0)
		return -1;
	return sbx_io_replace_file(dir_fd, volume, sbx_buf_str(&stamp), stamp.length, 0600, 0, err);
}
