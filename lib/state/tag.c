/*
 * The state's tag: random, made once, kept in a file, since what carries it in its name may outlive
 * the boot, and device and inode numbers may not. Of two that make it at once one wins.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/id.h"
#include "base/io.h"
#include "state/root.h"

#define LENGTH (SBX_STATE_TAG_SIZE - 1)

static int
make(int root_fd, struct sbx_err *err)
{
	char name[40], random[27], text[SBX_STATE_TAG_SIZE + 1];
	int rc;

	sbx_id_random(random);
	snprintf(name, sizeof(name), "tag.%s", random);
	sbx_id_random(random);
	snprintf(text, sizeof(text), "%.*s\n", LENGTH, random);
	if (sbx_io_replace_file(root_fd, name, text, strlen(text), 0600, 1, err) < 0)
		return -1;
	rc = linkat(root_fd, name, root_fd, "tag", 0);
	if (rc < 0 && errno != EEXIST)
		rc = sbx_fail_sys(err, SBX_E_IO, "name the state's tag");
	else
		rc = 0;
	unlinkat(root_fd, name, 0);
	if (rc == 0 && fsync(root_fd) < 0)
		rc = sbx_fail_sys(err, SBX_E_IO, "sync the state directory");
	return rc;
}

int
sbx_state_tag(int root_fd, char out[SBX_STATE_TAG_SIZE], struct sbx_err *err)
{
	SBX_AUTO_BUF text = SBX_BUF_INIT(SBX_STATE_TAG_SIZE);
	struct sbx_err why = { 0 };
	int rc = sbx_io_read_file(root_fd, "tag", &text, &why);

	if (rc < 0 && why.code == SBX_E_NOT_FOUND) {
		if (make(root_fd, err) < 0)
			return -1;
		rc = sbx_io_read_file(root_fd, "tag", &text, &why);
	}
	/* One that is too long is damaged like others. */
	if (rc < 0 && why.code != SBX_E_TOO_LARGE) {
		if (err != NULL)
			*err = why;
		return sbx_fail_wrap(err, "the state's tag");
	}
	if (text.length != LENGTH + 1 ||
		strspn(sbx_buf_str(&text), "abcdefghijklmnopqrstuvwxyz234567") != LENGTH)
		return sbx_fail(err, SBX_E_CORRUPT, "the state's file \"tag\" is damaged");
	snprintf(out, SBX_STATE_TAG_SIZE, "%.*s", LENGTH, sbx_buf_str(&text));
	return 0;
}
