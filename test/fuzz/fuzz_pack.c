/* lib/workspace: a stream of files on its way into a workspace; whatever it says, it makes nothing outside. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/walk.h"
#include "workspace/workspace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char directory[] = "/tmp/fuzz-pack.XXXXXX";

static void
tidy(void)
{
	rmdir(directory);
}

static int
make_base(void)
{
	if (mkdtemp(directory) == NULL)
		abort();
	atexit(tidy);
	return open(directory, O_DIRECTORY);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int base = -1;
	const struct sbx_files_want want = {
		.op = SBX_FILES_IMPORT, .path = "", .to = "", .limit = 65536, .uid = -1, .gid = -1
	};
	int in, dir, out;

	if (base < 0)
		base = make_base();
	in = memfd_create("in", 0);
	out = open("/dev/null", O_WRONLY);
	if (mkdirat(base, "w", 0700) != 0 || (dir = openat(base, "w", O_DIRECTORY)) < 0 ||
		write(in, data, size) != (ssize_t)size || lseek(in, 0, SEEK_SET) != 0)
		abort();
	sbx_workspace_serve(dir, &want, in, out);
	close(dir);
	close(in);
	close(out);
	if (sbx_walk_remove(base, "w", NULL) != 0 || faccessat(base, "../escaped", F_OK, 0) == 0)
		abort();
	return 0;
}
