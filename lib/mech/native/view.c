/*
 * What an environment sees: a fresh tmpfs as root, the program trees read-only, our own /dev
 * (dev.c), /proc (proc.c), /etc (etc.c) and /tmp, and the workspace. Built from inside the new
 * namespaces, over "/", through descriptors; a place is resolved in the new root only. Nothing is
 * ever created in a tree that was cut.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "kernel/mount.h"
#include "mech/native/native.h"

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
	{ SBX_NATIVE_PLACE, 0700 },
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Where an image hangs while its directories are taken from it. */
#define IMAGE_PLACE SBX_NATIVE_PLACE "/image"

/* A top-level entry of a system tree: a link is made again, a directory is cut and hung up. */
static int
adopt_entry(int root_fd, int tree_fd, const char *name, struct sbx_err *err)
{
	char target[256];
	ssize_t length = readlinkat(tree_fd, name, target, sizeof(target) - 1);
	SBX_AUTO_FD tree = -1;

	if (length >= 0) {
		target[length] = '\0';
		return sbx_native_link(root_fd, target, name, err);
	}
	if (errno == ENOENT)
		return 0;
	tree = sbx_mount_cut(tree_fd, name, SBX_MOUNT_RDONLY | SBX_MOUNT_NODEV, err);
	if (tree < 0)
		return -1;
	if (sbx_native_dir(root_fd, name, 0755, err) != 0)
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
		"workspace", SBX_NATIVE_PLACE };

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
		if (!is_ours(entry->d_name) && (entry->d_type == DT_DIR || entry->d_type == DT_LNK))
			rc = adopt_entry(root_fd, image_fd, entry->d_name, err);
	}
	closedir(dir);
	return rc;
}

/*
 * An image is hung up whole at a place of its own first, since only what is mounted in this
 * namespace can be cut (before Linux 6.15), and taken away once its directories hang at theirs.
 */
static int
image_programs(int root_fd, const struct sbx_native_plan *plan, struct sbx_err *err)
{
	SBX_AUTO_FD cut = -1;
	SBX_AUTO_FD image = -1;

	if (plan->image_fd < 0) {
		cut = sbx_mount_cut(AT_FDCWD, plan->image_path, SBX_MOUNT_RDONLY | SBX_MOUNT_NODEV,
			err);
		if (cut < 0)
			return -1;
	}
	if (sbx_native_dir(root_fd, IMAGE_PLACE, 0755, err) != 0 ||
		sbx_mount_hang(cut >= 0 ? cut : plan->image_fd, root_fd, IMAGE_PLACE, err) != 0)
		return -1;
	image = openat(root_fd, IMAGE_PLACE, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (image < 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "open the image's root");
	return adopt_image_entries(root_fd, image, err);
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

	if (has_image &&
		(umount2(IMAGE_PLACE, MNT_DETACH | UMOUNT_NOFOLLOW) != 0 ||
			unlinkat(root_fd, IMAGE_PLACE, AT_REMOVEDIR) != 0))
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "take the image's root away");
	if (unlinkat(root_fd, SBX_NATIVE_PLACE, AT_REMOVEDIR) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "take /%s away", SBX_NATIVE_PLACE);
	return sbx_mount_restrict(root_fd, SBX_MOUNT_RDONLY | SBX_MOUNT_NODEV, err);
}

static int
build(int root_fd, const struct sbx_native_plan *plan, struct sbx_err *err)
{
	int has_image = plan->image_fd >= 0 || plan->image_path[0] != '\0';

	for (size_t i = 0; i < COUNT(skeleton); i++) {
		if (sbx_native_dir(root_fd, skeleton[i].path, skeleton[i].mode, err) != 0)
			return -1;
	}
	if ((has_image ? image_programs(root_fd, plan, err) : host_programs(root_fd, err)) != 0)
		return -1;
	if (!has_image && sbx_native_link(root_fd, "/tmp", "var/tmp", err) != 0)
		return -1;
	if (sbx_native_dev(root_fd, plan->tmp_bytes, err) != 0 ||
		sbx_native_scratch(root_fd, "tmp", plan->tmp_bytes, err) != 0 ||
		sbx_native_proc(root_fd, plan, err) != 0)
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
