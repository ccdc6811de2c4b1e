/* A state directory of its own for each test. Header only, like tap.h. */
#ifndef SBX_TEST_STATE_HELP_H
#define SBX_TEST_STATE_HELP_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/walk.h"
#include "state/root.h"

static char state_help_dir_[64];

/* "/tmp/sbx-unit-XXXXXX" with all that it holds. */
__attribute__((unused)) static void
temporary_remove(const char *path)
{
	struct sbx_err err = { .code = SBX_OK };
	int fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || sbx_walk_remove(fd, path + sizeof("/tmp/") - 1, &err) < 0)
		printf("# %s is left: %s\n", path, err.msg);
	if (fd >= 0)
		close(fd);
}

__attribute__((unused)) static struct sbx_state
state_make(void)
{
	struct sbx_state state;
	struct sbx_err err;

	snprintf(state_help_dir_, sizeof(state_help_dir_), "/tmp/sbx-unit-XXXXXX");
	if (mkdtemp(state_help_dir_) == NULL ||
		sbx_state_open(state_help_dir_, NULL, &state, &err) < 0) {
		printf("Bail out! no state directory\n");
		exit(1);
	}
	return state;
}

__attribute__((unused)) static void
state_remove(struct sbx_state *state)
{
	sbx_state_close(state);
	temporary_remove(state_help_dir_);
}

#endif
