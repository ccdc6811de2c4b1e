/*
 * What an environment sees: a fresh tmpfs as root, the program trees read-only, our own /dev, /proc,
 * /tmp, and the workspace. Built from inside the new namespaces, over "/", through descriptors; a
 * place is resolved in the new root only. Nothing is ever created in a tree that was cut.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/scoped.h"
#include "kernel/mount.h"
#include "mech/native.h"

/* Of the host: the trees that programs need, and nothing that belongs to anybody. */
static const char *const program_trees[] = { "usr", "bin", "sbin", "lib", "lib32", "lib64",
	"libx32" };

static const struct {
	const char *path;
	mode_t mode;
} skeleton[] = {
	{ "dev", 0755 },
	{ "etc", 0755 },
	{ "home", 0755 },
	{ "proc", 0555 },
	{ "run", 0755 },
	{ "sys", 0555 },
	{ "tmp", 0755 },
	{ "var", 0755 },
	{ "workspace", 0755 },
};

/* Device nodes of the host that are safe in any hands; the numbers are those of devices.txt. */
static const struct {
	const char *name;
	unsigned major, minor;
} devices[] = {
	{ "null", 1, 3 },
	{ "zero", 1, 5 },
	{ "full", 1, 7 },
	{ "random", 1, 8 },
	{ "urandom", 1, 9 },
	{ "tty", 5, 0 },
};

/*
 * Of a procfs with everything in it: what tells about the host or reaches the kernel, as far as the
 * file's mode lets "others" at it. What only root may open (kcore, kmsg, sysrq-trigger) is out of
 * reach by itself: its owner does not exist inside, so no capability could help.
 */
static const char *const proc_masked[] = { "acpi", "asound", "bus", "cmdline", "config.gz",
	"diskstats", "driver", "fs", "interrupts", "iomem", "ioports", "irq", "kallsyms", "kcore",
	"key-users", "keys", "kmsg", "kpagecgroup", "kpagecount", "kpageflags", "latency_stats",
	"modules", "partitions", "sched_debug", "schedstat", "scsi", "slabinfo", "softirqs",
	"sysrq-trigger", "timer_list", "vmallocinfo", "zoneinfo" };

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Where masks come from; both are removed before the root is closed, and live on as mounts. */
#define EMPTY_FILE ".empty"
#define EMPTY_DIR ".none"
#define IMAGE_PLACE ".image"

static int
make_dir(int root_fd, const char *path, mode_t mode, struct sbx_err *err)
{
	if (mkdirat(root_fd, path, 0700) != 0 && errno != EEXIST)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "make /%s of the view", path);
	if (fchmodat(root_fd, path, mode, 0) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "set the mode of /%s of the view", path);
	return 0;
}

static int
make_link(int root_fd, const char *target, const char *path, struct sbx_err *err)
{
	if (symlinkat(target, root_fd, path) != 0 && errno != EEXIST)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "make the link /%s of the view", path);
	return 0;
}

static int
hang_new(int root_fd, const char *path, const char *type, const char *const *options, int flags,
	struct sbx_err *err)
{
	SBX_AUTO_FD fresh = sbx_mount_new(type, options, flags, err);

	return fresh < 0 ? -1 : sbx_mount_hang(fresh, root_fd, path, err);
}

/* A top-level entry of a system tree: a link is made again, a directory is cut and hung up. */
static int
adopt_entry(int root_fd, int tree_fd, const char *name, struct sbx_err *err)
{
	char target[256];
	ssize_t length = readlinkat(tree_fd, name, target, sizeof(target) - 1);
	SBX_AUTO_FD tree = -1;

	if (length >= 0) {
		target[length] = '\0';
		return make_link(root_fd, target, name, err);
	}
	if (errno == ENOENT)
		return 0;
	tree = sbx_mount_cut(tree_fd, name, SBX_MOUNT_RDONLY | SBX_MOUNT_NODEV, err);
	if (tree < 0)
		return -1;
	if (make_dir(root_fd, name, 0755, err) != 0)
		return -1;
	return sbx_mount_hang(tree, root_fd, name, err);
}

static int
host_programs(int root_fd, struct sbx_err *err)
{
	SBX_AUTO_FD host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (host < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "open /");
	for (size_t i = 0; i < COUNT(program_trees); i++) {
		if (adopt_entry(root_fd, host, program_trees[i], err) != 0)
			return -1;
	}
	return sbx_native_etc(root_fd, err);
}

/* Whether an image's top-level entry is one that we make ourselves. */
static int
is_ours(const char *name)
{
	static const char *const ours[] = { ".", "..", "dev", "proc", "sys", "tmp", "run",
		"workspace", EMPTY_FILE, EMPTY_DIR, IMAGE_PLACE };

	for (size_t i = 0; i < COUNT(ours); i++) {
		if (strcmp(name, ours[i]) == 0)
			return 1;
	}
	return 0;
}

static int
adopt_image_entries(int root_fd, int image_fd, struct sbx_err *err)
{
	int fd = openat(image_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int rc = 0;

	if (dir == NULL) {
		if (fd >= 0)
			close(fd);
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "list the image's root");
	}
	while (rc == 0 && (entry = readdir(dir)) != NULL) {
		if (!is_ours(entry->d_name) &&
			(entry->d_type == DT_DIR || entry->d_type == DT_LNK))
			rc = adopt_entry(root_fd, image_fd, entry->d_name, err);
	}
	closedir(dir);
	return rc;
}

/*
 * An image is hung up whole at a place of its own first, since only what is mounted in this namespace
 * can be cut (before Linux 6.15), and taken away once its directories hang at theirs.
 */
static int
image_programs(int root_fd, const struct sbx_native_plan *plan, struct sbx_err *err)
{
	SBX_AUTO_FD cut = -1;
	SBX_AUTO_FD image = -1;

	if (plan->image_fd < 0) {
		cut = sbx_mount_cut(AT_FDCWD, plan->image_path,
			SBX_MOUNT_RDONLY | SBX_MOUNT_NODEV, err);
		if (cut < 0)
			return -1;
	}
	if (make_dir(root_fd, IMAGE_PLACE, 0755, err) != 0 ||
		sbx_mount_hang(cut >= 0 ? cut : plan->image_fd, root_fd, IMAGE_PLACE, err) != 0)
		return -1;
	image = openat(root_fd, IMAGE_PLACE, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (image < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "open the image's root");
	return adopt_image_entries(root_fd, image, err);
}

static int
hang_device(int root_fd, size_t i, struct sbx_err *err)
{
	char from[32], to[32];
	struct stat st;
	SBX_AUTO_FD node = -1;
	SBX_AUTO_FD tree = -1;

	snprintf(from, sizeof(from), "/dev/%s", devices[i].name);
	snprintf(to, sizeof(to), "dev/%s", devices[i].name);
	node = open(from, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (node < 0 || fstat(node, &st) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "open %s", from);
	if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(devices[i].major, devices[i].minor))
		return sbx_fail(err, SBX_E_UNAVAILABLE, "%s is not the device %u:%u", from,
			devices[i].major, devices[i].minor);
	if (sbx_native_file(root_fd, to, "", 0, err) != 0)
		return -1;
	tree = open_tree(node, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	if (tree < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "cut out %s", from);
	if (sbx_mount_restrict(tree, SBX_MOUNT_RDONLY | SBX_MOUNT_NOEXEC, err) != 0)
		return -1;
	return sbx_mount_hang(tree, root_fd, to, err);
}

static int
build_dev(int root_fd, uint64_t shm_bytes, struct sbx_err *err)
{
	static const char *const dev_options[] = { "mode=0755", "size=64k", "nr_inodes=64", NULL };
	static const char *const pts_options[] = { "mode=0620", "ptmxmode=0666", NULL };
	char size[48];
	const char *const shm_options[] = { "mode=1777", size, "nr_inodes=16k", NULL };
	SBX_AUTO_FD dev = -1;

	snprintf(size, sizeof(size), "size=%llu", (unsigned long long)shm_bytes);
	if (hang_new(root_fd, "dev", "tmpfs", dev_options, SBX_MOUNT_NOEXEC, err) != 0)
		return -1;
	for (size_t i = 0; i < COUNT(devices); i++) {
		if (hang_device(root_fd, i, err) != 0)
			return -1;
	}
	if (make_dir(root_fd, "dev/pts", 0755, err) != 0 ||
		make_dir(root_fd, "dev/shm", 0755, err) != 0 ||
		make_link(root_fd, "pts/ptmx", "dev/ptmx", err) != 0 ||
		make_link(root_fd, "/proc/self/fd", "dev/fd", err) != 0 ||
		make_link(root_fd, "/proc/self/fd/0", "dev/stdin", err) != 0 ||
		make_link(root_fd, "/proc/self/fd/1", "dev/stdout", err) != 0 ||
		make_link(root_fd, "/proc/self/fd/2", "dev/stderr", err) != 0)
		return -1;
	if (hang_new(root_fd, "dev/pts", "devpts", pts_options, SBX_MOUNT_NOEXEC, err) != 0 ||
		hang_new(root_fd, "dev/shm", "tmpfs", shm_options, SBX_MOUNT_NODEV, err) != 0)
		return -1;
	dev = openat(root_fd, "dev", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dev < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "open /dev of the view");
	return sbx_mount_restrict(dev, SBX_MOUNT_RDONLY | SBX_MOUNT_NOEXEC, err);
}

static int
mask(int root_fd, const char *name, struct sbx_err *err)
{
	char path[64];
	struct stat st;
	SBX_AUTO_FD cover = -1;

	snprintf(path, sizeof(path), "proc/%s", name);
	if (fstatat(root_fd, path, &st, AT_SYMLINK_NOFOLLOW) != 0 || (st.st_mode & S_IRWXO) == 0)
		return 0;
	cover = sbx_mount_cut(root_fd, S_ISDIR(st.st_mode) ? EMPTY_DIR : EMPTY_FILE,
		SBX_MOUNT_RDONLY | SBX_MOUNT_NODEV | SBX_MOUNT_NOEXEC, err);
	return cover < 0 ? -1 : sbx_mount_hang(cover, root_fd, path, err);
}

static int
build_proc(int root_fd, const struct sbx_native_plan *plan, struct sbx_err *err)
{
	const char *const options[] = { "hidepid=invisible",
		plan->proc_view == SBX_PROC_PID ? "subset=pid" : NULL, NULL };
	SBX_AUTO_FD sys = -1;

	if (hang_new(root_fd, "proc", "proc", options, SBX_MOUNT_NODEV | SBX_MOUNT_NOEXEC, err) !=
		0) {
		if (err->sys == EPERM)
			sbx_fail_hint(err, "parts of /proc are hidden here (a container?), so the "
				"kernel allows no fresh one: run where /proc is whole");
		return -1;
	}
	if (plan->proc_view == SBX_PROC_PID)
		return 0;
	if (sbx_native_file(root_fd, EMPTY_FILE, "", 0, err) != 0 ||
		make_dir(root_fd, EMPTY_DIR, 0555, err) != 0)
		return -1;
	for (size_t i = 0; i < COUNT(proc_masked); i++) {
		if (mask(root_fd, proc_masked[i], err) != 0)
			return -1;
	}
	sys = sbx_mount_cut(root_fd, "proc/sys", SBX_MOUNT_RDONLY | SBX_MOUNT_NODEV | SBX_MOUNT_NOEXEC,
		err);
	if (sys < 0 || sbx_mount_hang(sys, root_fd, "proc/sys", err) != 0)
		return -1;
	return sbx_native_proc_files(root_fd, plan->limits, err);
}

static int
hang_workspace(int root_fd, const struct sbx_native_plan *plan, struct sbx_err *err)
{
	SBX_AUTO_FD cut = -1;

	if (plan->workspace_fd < 0) {
		cut = sbx_mount_cut(AT_FDCWD, plan->workspace_path, SBX_MOUNT_NODEV, err);
		if (cut < 0)
			return -1;
	}
	return sbx_mount_hang(cut >= 0 ? cut : plan->workspace_fd, root_fd, "workspace", err);
}

/* Take away what only the building needed, and nobody writes to the root again. */
static int
close_root(int root_fd, const struct sbx_native_plan *plan, struct sbx_err *err)
{
	int has_image = plan->image_fd >= 0 || plan->image_path[0] != '\0';

	if (has_image && (umount2(IMAGE_PLACE, MNT_DETACH | UMOUNT_NOFOLLOW) != 0 ||
				 unlinkat(root_fd, IMAGE_PLACE, AT_REMOVEDIR) != 0))
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "take the image's root away");
	if (plan->proc_view != SBX_PROC_PID &&
		(unlinkat(root_fd, EMPTY_FILE, 0) != 0 ||
			unlinkat(root_fd, EMPTY_DIR, AT_REMOVEDIR) != 0))
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "take the masks' sources away");
	return sbx_mount_restrict(root_fd, SBX_MOUNT_RDONLY | SBX_MOUNT_NODEV, err);
}

static int
build(int root_fd, const struct sbx_native_plan *plan, struct sbx_err *err)
{
	char size[48];
	const char *const tmp_options[] = { "mode=1777", size, "nr_inodes=64k", NULL };
	int has_image = plan->image_fd >= 0 || plan->image_path[0] != '\0';

	snprintf(size, sizeof(size), "size=%llu", (unsigned long long)plan->tmp_bytes);
	for (size_t i = 0; i < COUNT(skeleton); i++) {
		if (make_dir(root_fd, skeleton[i].path, skeleton[i].mode, err) != 0)
			return -1;
	}
	if ((has_image ? image_programs(root_fd, plan, err) : host_programs(root_fd, err)) != 0)
		return -1;
	if (!has_image && make_link(root_fd, "/tmp", "var/tmp", err) != 0)
		return -1;
	if (build_dev(root_fd, plan->tmp_bytes, err) != 0 ||
		hang_new(root_fd, "tmp", "tmpfs", tmp_options, SBX_MOUNT_NODEV, err) != 0 ||
		build_proc(root_fd, plan, err) != 0)
		return -1;
	return hang_workspace(root_fd, plan, err);
}

int
sbx_native_view(const struct sbx_native_plan *plan, struct sbx_err *err)
{
	static const char *const options[] = { "mode=0755", "size=4m", "nr_inodes=1k", NULL };
	SBX_AUTO_FD root = -1;

	if (sbx_mount_private(err) != 0)
		return -1;
	root = sbx_mount_new("tmpfs", options, SBX_MOUNT_NODEV, err);
	if (root < 0 || sbx_mount_cover_root(root, err) != 0)
		return -1;
	if (build(root, plan, err) != 0 || sbx_mount_pivot(root, err) != 0)
		return -1;
	return close_root(root, plan, err);
}
