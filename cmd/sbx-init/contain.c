/*
 * pid 1 of a container that an engine made: no maker has prepared its place, so it does that itself,
 * by what the engine left it: a few capabilities, of which it keeps three. What it proved is written
 * to a file that only uid 0 reaches, before anybody is served; if something failed it says so there,
 * executes nothing for anybody, and lives on, so that the reason can be read.
 */
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/io.h"
#include "base/num.h"
#include "base/scoped.h"
#include "kernel/caps.h"
#include "kernel/landlock.h"
#include "kernel/rlimit.h"
#include "kernel/seccomp.h"
#include "mech/channel.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define HELLO_NEW INIT_HELLO ".new"

struct step {
	const char *what;
	int (*run)(struct init *init, struct sbx_chan_hello *hello); /* 0, or -1 with errno */
};

/* Beneath these a command may write, and to these devices: as in native. */
static const char *const write_trees[] = { SBX_CHAN_WORKSPACE, "/tmp", "/dev/shm", "/dev/pts" };
static const char *const write_files[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random",
	"/dev/urandom", "/dev/tty" };

static int
take_place(struct init *init, struct sbx_chan_hello *hello)
{
	static const unsigned char none[64]; /* a kernel sigaction or mask of zeros */
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)hello;
	umask(077);
	if (fd < 0 || dup2(fd, 0) < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
		return -1;
	if (syscall(SYS_close_range, 3U, INIT_FD_LAST, 0U) != 0)
		return -1;
	/* By the system call: libc keeps two realtime signals for itself. */
	for (int sig = 1; sig <= 64; sig++)
		syscall(SYS_rt_sigaction, sig, none, NULL, (size_t)8);
	if (prctl(PR_SET_DUMPABLE, 0) != 0)
		return -1;
	return init_prepare(init);
}

/*
 * runc (1.1.5) gives a tmpfs the mode that was asked for when it first makes the mount point, and
 * the mount point's, 0755, at each later start of the container.
 */
static int
set_modes(struct init *init, struct sbx_chan_hello *hello)
{
	(void)init;
	(void)hello;
	if (chmod(SBX_CHAN_RUN, 0700) != 0)
		return -1;
	return chmod("/tmp", 01777) != 0 && errno != EROFS && errno != ENOENT ? -1 : 0;
}

/* It tells a fresh workspace from one that was emptied. */
static int
mark_fresh(int workspace)
{
	SBX_AUTO_FD fd = openat(workspace, SBX_FILES_MARKER,
		O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, SBX_FILES_MARKER_MODE);

	return fd < 0 ? -1 : fchown(fd, SBX_CHAN_UID, SBX_CHAN_UID);
}

/* A new volume is root's, until it has all that a workspace begins with. */
static int
give_workspace(struct init *init, struct sbx_chan_hello *hello)
{
	SBX_AUTO_FD fd = open(SBX_CHAN_WORKSPACE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	(void)init;
	(void)hello;
	if (fd < 0 || fstat(fd, &st) != 0)
		return -1;
	if ((st.st_mode & 07777) != 0700 && fchmod(fd, 0700) != 0)
		return -1;
	if (st.st_uid == SBX_CHAN_UID && st.st_gid == SBX_CHAN_UID)
		return 0;
	return mark_fresh(fd) != 0 ? -1 : fchown(fd, SBX_CHAN_UID, SBX_CHAN_UID);
}

/* What an image does not have is left out. */
static size_t
open_all(const char *const *paths, size_t count, int *fds)
{
	size_t have = 0;

	for (size_t i = 0; i < count; i++) {
		int fd = open(paths[i], O_PATH | O_NOFOLLOW | O_CLOEXEC);

		if (fd >= 0)
			fds[have++] = fd;
	}
	return have;
}

static int
make_ruleset(struct init *init, struct sbx_chan_hello *hello)
{
	int trees[COUNT(write_trees)], files[COUNT(write_files)];
	size_t tree_count, file_count;
	struct sbx_err err = { 0 };

	if (hello->landlock_abi < 2) {
		hello->landlock_abi = 0;
		return 0;
	}
	tree_count = open_all(write_trees, COUNT(write_trees), trees);
	file_count = open_all(write_files, COUNT(write_files), files);
	init->plan.landlock_fd = sbx_landlock_make(trees, tree_count, files, file_count, &err);
	while (tree_count > 0)
		close(trees[--tree_count]);
	while (file_count > 0)
		close(files[--file_count]);
	errno = err.sys != 0 ? err.sys : EINVAL;
	return init->plan.landlock_fd < 0 ? -1 : 0;
}

/* NPROC counts a uid on the whole host: processes are the engine's to limit. */
static int
limit(struct init *init, struct sbx_chan_hello *hello)
{
	const struct sbx_rlimits limits = { .nofile = 4096 };

	(void)init;
	/* Debian's gVisor (2022-12) sets NOFILE, CORE and MEMLOCK and knows of no others. */
	return sbx_rlimit_apply(&limits) != 0 && !(hello->gvisor && errno == EPERM) ? -1 : 0;
}

static int
give_up(struct init *init, struct sbx_chan_hello *hello)
{
	(void)init;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	/* gVisor has no securebits; with no bounding set exec gives uid 0 nothing there either. */
	if (sbx_caps_seal() != 0 && !(hello->gvisor && errno == EINVAL))
		return -1;
	return sbx_caps_set(INIT_CONTAIN_CAPS, INIT_CONTAIN_CAPS);
}

static int
filter(struct init *init, struct sbx_chan_hello *hello)
{
	(void)hello;
	return sbx_seccomp_base((enum sbx_seccomp_profile)init->plan.seccomp);
}

static int
listen_here(struct init *init, struct sbx_chan_hello *hello)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = SBX_CHAN_SOCKET };

	(void)hello;
	unlink(SBX_CHAN_SOCKET);
	init->plan.listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (init->plan.listen_fd < 0 ||
		bind(init->plan.listen_fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		return -1;
	return listen(init->plan.listen_fd, INIT_CALLERS_MAX);
}

/* The rights come last but for what needs them; the self-test is a command's, so after all. */
static const struct step steps[] = {
	{ "take its place", take_place },
	{ "set the modes of /tmp and " SBX_CHAN_RUN, set_modes },
	{ "give the workspace to the commands", give_workspace },
	{ "make a Landlock ruleset", make_ruleset },
	{ "set the resource limits", limit },
	{ "give up capabilities", give_up },
	{ "install the system call filter", filter },
	{ "listen", listen_here },
};

static int
confine(struct init *init, struct sbx_chan_hello *hello)
{
	const char *what = "";

	for (size_t i = 0; i < COUNT(steps); i++) {
		if (steps[i].run(init, hello) == 0)
			continue;
		hello->error = errno;
		hello->stage = steps[i].run == filter ? SBX_STAGE_SECCOMP : SBX_STAGE_REQUEST;
		strncat(hello->what, steps[i].what, sizeof(hello->what) - 1);
		return -1;
	}
	if (init_selftest(init, &what) == 0)
		return 0;
	hello->stage = init->failure->stage;
	hello->error = init->failure->error;
	strncat(hello->what, what, sizeof(hello->what) - 1);
	return -1;
}

/* Whole or not at all, as attach may already be looking. */
static int
say_hello(const struct sbx_chan_hello *hello)
{
	SBX_AUTO_FD fd = open(HELLO_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		0600);

	if (fd < 0 || sbx_io_write_all(fd, hello, sizeof(*hello)) != 0)
		return -1;
	return rename(HELLO_NEW, INIT_HELLO);
}

int
init_lose_identity(void)
{
	if (syscall(SYS_setgroups, 0, NULL) != 0 ||
		syscall(SYS_setresgid, SBX_CHAN_UID, SBX_CHAN_UID, SBX_CHAN_UID) != 0 ||
		syscall(SYS_setresuid, SBX_CHAN_UID, SBX_CHAN_UID, SBX_CHAN_UID) != 0)
		return -1;
	return sbx_caps_set(0, 0);
}

static int
read_options(char **options, int *debug, uint32_t *pids)
{
	uint64_t number = 0;

	for (; *options != NULL; options++) {
		if (strcmp(*options, "--debug") == 0)
			*debug = 1;
		else if (strcmp(*options, "--pids") != 0 || *++options == NULL ||
			sbx_num_u64(*options, 1, UINT32_MAX, "--pids", &number, NULL) != 0)
			return -1;
	}
	*pids = (uint32_t)number;
	return 0;
}

int
init_contain(struct init *init, char **options)
{
	struct sbx_chan_hello hello = { .magic = SBX_CHAN_MAGIC, .version = SBX_CHAN_VERSION };
	int rc, debug = 0;

	if (read_options(options, &debug, &hello.pids) != 0 || getpid() != 1 || geteuid() != 0)
		return 64;
	init->contained = init->kept = 1;
	init->plan = (struct sbx_init_plan){
		.magic = SBX_INIT_MAGIC,
		.version = SBX_INIT_VERSION,
		.seccomp = debug ? SBX_SECCOMP_DEBUG : SBX_SECCOMP_STRICT,
		.counted = 1,
		.listen_fd = -1,
		.ready_fd = -1,
		.landlock_fd = -1,
		.keep_fd = -1,
		.hold_fd = -1,
		.workspace = SBX_CHAN_WORKSPACE,
		.probe_write = "/.sbx-probe",
	};
	init_describe(&hello);
	rc = confine(init, &hello);
	if (say_hello(&hello) != 0)
		return 70;
	if (rc != 0) {
		for (;;)
			pause();
	}
	init_run(init);
}
