/*
 * What kind of kernel serves us, as seen from inside, and the bytes of a file for whoever verifies
 * a helper volume. Reads, writes to stdout, and does nothing else.
 */
#include "init.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/scoped.h"
#include "kernel/landlock.h"
#include "mech/channel.h"

#define READ_LOG 3 /* syslog(2): SYSLOG_ACTION_READ_ALL */
#define CHUNK 65536

/* gVisor's log opens with "Starting gVisor..."; Linux keeps its own from a container. */
static int
is_gvisor(void)
{
	char text[4096];
	int n = klogctl(READ_LOG, text, (int)sizeof(text) - 1);

	if (n <= 0 || n >= (int)sizeof(text))
		return 0;
	text[n] = '\0';
	return strstr(text, "gVisor") != NULL;
}

void
init_describe(struct sbx_chan_hello *hello)
{
	hello->gvisor = is_gvisor() ? 1 : 0;
	hello->landlock_abi = (uint16_t)sbx_landlock_abi();
	if (sbx_io_read_attr(AT_FDCWD, "/proc/version", hello->kernel, sizeof(hello->kernel)) < 0)
		hello->kernel[0] = '\0';
}

int
init_print(void)
{
	struct sbx_chan_hello hello = { 0 };

	init_describe(&hello);
	printf("kernel=%s\ngvisor=%u\nlandlock=%u\n", hello.kernel, (unsigned)hello.gvisor,
		(unsigned)hello.landlock_abi);
	return fflush(stdout) == 0 ? 0 : 74;
}

int
init_show(const char *path)
{
	static char bytes[CHUNK];
	SBX_AUTO_FD fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return 66;
	while ((n = read(fd, bytes, sizeof(bytes))) > 0) {
		if (sbx_io_write_all(STDOUT_FILENO, bytes, (size_t)n) != 0)
			return 74;
	}
	return n == 0 ? 0 : 74;
}
