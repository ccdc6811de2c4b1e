/*
 * Our sbx-init as an image of one file: read, named by its digest, packed as a tar archive by hand
 * (three entries, as POSIX ustar has them) and imported. It goes over the engine's stdin, so that
 * no path of the host is ever named to the engine.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/id.h"
#include "base/io.h"
#include "base/scoped.h"
#include "mech/channel.h"
#include "mech/docker/docker.h"

#define BLOCK 512
#define BINARY_MAX ((size_t)16 * 1024 * 1024)
#define DIGITS 16 /* of the digest, in names */

/* A header of the archive; unused bytes are NUL. */
struct entry {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type;
	char link[100], magic[6], version[2], rest[247];
};
_Static_assert(sizeof(struct entry) == BLOCK, "a header is one block");

static void
add_entry(struct sbx_buf *tar, const char *name, char type, unsigned mode, size_t size)
{
	struct entry entry;
	const unsigned char *bytes;
	unsigned sum = 0;

	memset(&entry, 0, sizeof(entry));
	snprintf(entry.name, sizeof(entry.name), "%s", name);
	snprintf(entry.mode, sizeof(entry.mode), "%07o", mode);
	snprintf(entry.uid, sizeof(entry.uid), "%07o", 0U);
	snprintf(entry.gid, sizeof(entry.gid), "%07o", 0U);
	snprintf(entry.size, sizeof(entry.size), "%011zo", size);
	snprintf(entry.mtime, sizeof(entry.mtime), "%011o", 0U);
	entry.type = type;
	memcpy(entry.magic, "ustar", sizeof(entry.magic));
	memcpy(entry.version, "00", sizeof(entry.version));
	memset(entry.checksum, ' ', sizeof(entry.checksum));
	bytes = (const unsigned char *)&entry;
	for (size_t i = 0; i < sizeof(entry); i++)
		sum += bytes[i];
	snprintf(entry.checksum, sizeof(entry.checksum), "%06o", sum);
	sbx_buf_add(tar, &entry, sizeof(entry));
}

static int
pack(const struct sbx_buf *binary, struct sbx_buf *tar, struct sbx_err *err)
{
	static const char zeros[2 * BLOCK];

	add_entry(tar, ".sbx/", '5', 0755, 0);
	add_entry(tar, ".sbx/bin/", '5', 0755, 0);
	/*
	 * As a path in the archive, so without the first '/'. For uid 0 inside and nobody else; it may
	 * be read, since gVisor (2022-12) executes only what it may read.
	 */
	add_entry(tar, &SBX_CHAN_INIT[1], '0', 0500, binary->length);
	sbx_buf_add(tar, sbx_buf_str(binary), binary->length);
	sbx_buf_add(tar, zeros, (BLOCK - binary->length % BLOCK) % BLOCK);
	sbx_buf_add(tar, zeros, sizeof(zeros));
	return sbx_buf_check(tar, "the helper image", err);
}

int
sbx_docker_helper_read(const struct sbx_mech_host *host, struct sbx_docker_helper *helper,
	struct sbx_err *err)
{
	char path[4352], hex[65];
	SBX_AUTO_FD fd = -1;

	*helper = (struct sbx_docker_helper){ .binary = SBX_BUF_INIT(BINARY_MAX),
		.tar = SBX_BUF_INIT(BINARY_MAX + (size_t)16 * BLOCK) };
	snprintf(path, sizeof(path), "%s/sbx-init", host->libexec);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0) {
		sbx_fail_sys(err, SBX_E_UNAVAILABLE, "open the helper %s", path);
		if (err != NULL && err->sys == EACCES)
			sbx_fail_hint(err,
				"it can be executed by all and read by root alone: run as "
				"root, who engines mostly belong to");
		return -1;
	}
	if (sbx_io_read_all(fd, &helper->binary, path, err) < 0 ||
		pack(&helper->binary, &helper->tar, err) < 0)
		return -1;
	sbx_id_sha256(sbx_buf_str(&helper->tar), helper->tar.length, hex);
	snprintf(helper->image, sizeof(helper->image), "sbx-helper:%.*s", DIGITS, hex);
	snprintf(helper->volume, sizeof(helper->volume), "sbx-helper-%.*s", DIGITS, hex);
	return 0;
}

void
sbx_docker_helper_done(struct sbx_docker_helper *helper)
{
	sbx_buf_done(&helper->binary);
	sbx_buf_done(&helper->tar);
}

int
sbx_docker_helper_names(const struct sbx_mech_host *host, char image[SBX_DOCKER_HELPER_SIZE],
	char volume[SBX_DOCKER_HELPER_SIZE], struct sbx_err *err)
{
	struct sbx_docker_helper helper;
	int rc = sbx_docker_helper_read(host, &helper, err);

	memcpy(image, helper.image, SBX_DOCKER_HELPER_SIZE);
	memcpy(volume, helper.volume, SBX_DOCKER_HELPER_SIZE);
	sbx_docker_helper_done(&helper);
	return rc;
}

int
sbx_docker_helper_image(const struct sbx_docker *docker, const struct sbx_docker_helper *helper,
	struct sbx_err *err)
{
	SBX_AUTO_DOCKER_ARGS look = { .count = 0 };
	SBX_AUTO_DOCKER_ARGS import = { .count = 0 };
	SBX_AUTO_BUF out = SBX_BUF_INIT(4096);
	struct sbx_err why = { 0 };

	sbx_docker_args_image(docker, helper->image, &look);
	if (sbx_docker_call(docker, &look, NULL, 0, &out, &why) == 0)
		return 0;
	if (why.code != SBX_E_NOT_FOUND) {
		*err = why;
		return -1;
	}
	sbx_docker_args_add(&import, "%s", docker->engine);
	sbx_docker_args_add(&import, "import");
	sbx_docker_args_add(&import, "--change=LABEL sbx.helper=image");
	sbx_docker_args_add(&import, "-");
	sbx_docker_args_add(&import, "%s", helper->image);
	return sbx_docker_call(docker, &import, sbx_buf_str(&helper->tar), helper->tar.length, NULL,
		err);
}
