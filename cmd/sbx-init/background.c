/*
 * What runs in the background of a container, where no command has a group: all that is the
 * commands' and of no command that runs. Told by counting, ended by the sweep, which takes
 * everything.
 */
#include "init.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>

#include "mech/channel.h"

static int
count_processes(void)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	struct stat st;
	int count = 0;

	if (proc == NULL)
		return 0;
	while ((entry = readdir(proc)) != NULL)
		count += isdigit((unsigned char)entry->d_name[0]) &&
			fstatat(dirfd(proc), entry->d_name, &st, 0) == 0 &&
			st.st_uid == SBX_CHAN_UID;
	closedir(proc);
	return count;
}

void
init_background(struct init *init, int caller, uint32_t id, int end)
{
	struct sbx_init_reply reply = { .answer = SBX_INIT_BACKGROUND_IS, .id = id };

	if (end && init_busy(init)) {
		reply.error = EBUSY;
	} else if (end) {
		init->background = 0;
		init_sweep(init, -1);
	}
	/* While commands run, theirs are among them. */
	reply.status = init->background ? count_processes() : 0;
	init_answer(init, caller, &reply);
}
