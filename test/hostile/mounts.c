/*
 * ATTACKS 24 to 26, 28 to 30, 35, 36: change what is mounted, leave the root, make namespaces,
 * gain rights by a file. Mount and namespace calls answer EPERM, every way of writing outside
 * the writable places EROFS or EACCES, a set-user-ID file or file capabilities give nothing, a
 * device node is dead.
 */
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "guest.h"

static void
mounting(void)
{
	int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };

	mkdir("m", 0700);
	guest_refused("mount tmpfs", mount("none", "m", "tmpfs", 0, NULL), EPERM);
	guest_refused("mount proc", mount("none", "m", "proc", 0, NULL), EPERM);
	guest_refused("mount overlay",
		mount("none", "m", "overlay", 0,
			"lowerdir=/,upperdir=.,"
			"workdir=m"),
		EPERM);
	guest_refused("mount fuse", mount("none", "m", "fuse", 0, "fd=0"), EPERM);
	guest_refused("bind /", mount("/", "m", NULL, MS_BIND | MS_REC, NULL), EPERM);
	guest_refused("remount / writable", mount(NULL, "/", NULL, MS_REMOUNT, NULL), EPERM);
	guest_refused("remount /usr writable",
		mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND, NULL), EPERM);
	guest_refused("make / shared", mount(NULL, "/", NULL, MS_SHARED | MS_REC, NULL), EPERM);
	guest_refused("uncover /proc/kcore", umount2("/proc/kcore", MNT_DETACH), EPERM);
	guest_refused("umount /proc/sys", umount2("/proc/sys", MNT_DETACH), EPERM);
	guest_refused("umount /", umount2("/", MNT_DETACH), EPERM);
	guest_refused("pivot_root", syscall(SYS_pivot_root, ".", "m"), EPERM);
	guest_refused("chroot", chroot("m"), EPERM);
	guest_refused("open_tree", syscall(SYS_open_tree, here, "", OPEN_TREE_CLONE | 0x1000),
		EPERM);
	guest_refused("move_mount", syscall(SYS_move_mount, here, "", here, "m", 4), EPERM);
	guest_refused("mount_setattr",
		syscall(SYS_mount_setattr, AT_FDCWD, "/usr", 0, &attr, sizeof(attr)), EPERM);
	guest_refused("fsopen", syscall(SYS_fsopen, "tmpfs", 0), EPERM);
	guest_refused("fspick", syscall(SYS_fspick, AT_FDCWD, "/", 0), EPERM);
	guest_refused("fsmount", syscall(SYS_fsmount, here, 0, 0), EPERM);
	close(here);
}

static const struct {
	const char *name;
	unsigned flag;
} namespaces[] = { { "user", CLONE_NEWUSER }, { "mnt", CLONE_NEWNS }, { "pid", CLONE_NEWPID },
	{ "net", CLONE_NEWNET }, { "ipc", CLONE_NEWIPC }, { "uts", CLONE_NEWUTS },
	{ "cgroup", CLONE_NEWCGROUP } };

/* A child that was made in spite of all must not go on with our attempts. */
static long
try_clone(unsigned long flags)
{
	long pid = syscall(SYS_clone, flags, 0L, 0L, 0L, 0L);

	if (pid == 0)
		_exit(0);
	return pid;
}

static void
namespaces_of_own(void)
{
	char name[64];

	for (size_t i = 0; i < GUEST_COUNT(namespaces); i++) {
		int fd;

		snprintf(name, sizeof(name), "unshare %s", namespaces[i].name);
		guest_refused(name, syscall(SYS_unshare, namespaces[i].flag), EPERM);
		snprintf(name, sizeof(name), "clone %s", namespaces[i].name);
		guest_refused(name, try_clone(namespaces[i].flag | SIGCHLD), EPERM);
		snprintf(name, sizeof(name), "clone %s with high bits", namespaces[i].name);
		guest_refused(name, try_clone(namespaces[i].flag | SIGCHLD | 1UL << 40), EPERM);
		snprintf(name, sizeof(name), "/proc/self/ns/%s", namespaces[i].name);
		fd = open(name, O_RDONLY | O_CLOEXEC);
		snprintf(name, sizeof(name), "setns %s", namespaces[i].name);
		guest_refused(name, syscall(SYS_setns, fd, 0), EPERM);
		snprintf(name, sizeof(name), "/proc/1/ns/%s", namespaces[i].name);
		guest_no_open(name, O_RDONLY);
		close(fd);
	}
	guest_refused("unshare time", syscall(SYS_unshare, 0x80), EPERM);
	guest_refused("setns by pidfd",
		syscall(SYS_setns, syscall(SYS_pidfd_open, getpid(), 0), CLONE_NEWNS), EPERM);
}

static void
handles(void)
{
	struct {
		unsigned bytes;
		int type;
		unsigned long long inode[4];
	} handle = { .bytes = 8, .type = 1, .inode = { 2 } };
	int mount_id;
	int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	guest_refused("open_by_handle_at", syscall(SYS_open_by_handle_at, here, &handle, O_RDONLY),
		EPERM);
	guest_refused("name_to_handle_at",
		syscall(SYS_name_to_handle_at, AT_FDCWD, "/", &handle, &mount_id, 0), EPERM);
	close(here);
}

/* Only these may be written beneath; everywhere else no file is made, changed or removed. */
static void
writing(void)
{
	static const char *const dirs[] = { "/", "/bin", "/usr", "/usr/bin", "/usr/lib", "/etc",
		"/etc/ssl", "/home", "/run", "/var", "/dev", "/sys", "/proc", "/proc/sys" };
	char path[128];

	for (size_t i = 0; i < GUEST_COUNT(dirs); i++) {
		snprintf(path, sizeof(path), "%s/.attack", dirs[i]);
		guest_no_open(path, O_WRONLY | O_CREAT);
		snprintf(path, sizeof(path), "mkdir in %s", dirs[i]);
		guest_refused(path, mkdirat(open(dirs[i], O_PATH | O_CLOEXEC), ".attack", 0700), 0);
		guest_refused("symlink there",
			symlinkat("x", open(dirs[i], O_PATH | O_CLOEXEC), ".attack"), 0);
		guest_refused("chmod of it", chmod(dirs[i], 0777), 0);
	}
	guest_no_open("/etc/passwd", O_WRONLY);
	guest_no_open("/etc/hosts", O_RDWR | O_TRUNC);
	guest_refused("truncate /etc/passwd", truncate("/etc/passwd", 0), 0);
	guest_refused("rename /etc/passwd", rename("/etc/passwd", "/etc/p"), 0);
	guest_refused("move a file out of the workspace", rename("g", "/etc/g"), 0);
	guest_refused("utimes of /etc/passwd", utimensat(AT_FDCWD, "/etc/passwd", NULL, 0), 0);
}

static void
rights(void)
{
	static const unsigned char cap_bytes[20] = { 1, 0, 0, 2, 0xff, 0xff, 0xff, 0xff };
	char name[64];

	guest_must(getuid() == 1000 && geteuid() == 1000, "we are uid 1000", "%d", (int)geteuid());
	guest_refused("setuid 0", setuid(0), 0);
	guest_refused("setgid 0", setgid(0), 0);
	guest_refused("setreuid -1 0", setreuid((uid_t)-1, 0), 0);
	guest_refused("setgroups", syscall(SYS_setgroups, 0L, NULL), EPERM);
	guest_refused("chown to root", chown("g", 0, 0), 0);
	guest_refused("file capabilities",
		setxattr("g", "security.capability", cap_bytes, sizeof(cap_bytes), 0), 0);
	guest_refused("raise the ambient set", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 0, 0, 0),
		0);
	guest_refused("make a block device", mknod("b", S_IFBLK | 0600, makedev(254, 0)), EPERM);
	guest_refused("make a character device", mknod("c", S_IFCHR | 0600, makedev(1, 1)), EPERM);
	guest_refused("clear no_new_privs", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0), EINVAL);
	guest_no_open("/proc/self/uid_map", O_WRONLY | O_TRUNC);
	for (int i = 0; i < 3; i++) {
		static const char *const maps[] = { "uid_map", "gid_map", "setgroups" };
		int fd;

		snprintf(name, sizeof(name), "/proc/self/%s", maps[i]);
		fd = open(name, O_WRONLY | O_CLOEXEC);
		guest_refused(name, fd < 0 ? -1 : write(fd, i < 2 ? "0 0 1\n" : "allow", 5), 0);
		close(fd);
	}
}

/* The host has put these into the workspace: set-user-ID root, device nodes. */
static int
become(void *program)
{
	char *argv[] = { program, (char[]){ "whoami" }, NULL };

	execv(program, argv);
	/* More capabilities in the file than in the bounding set: no program at all. */
	return errno == EPERM ? 0 : 99;
}

static void
planted(void)
{
	guest_must(guest_child(become, (char[]){ "./suid" }) == 0,
		"a set-user-ID file gives nothing", "it did");
	guest_must(guest_child(become, (char[]){ "./caps" }) == 0, "file capabilities give nothing",
		"they did");
	guest_no_open("disk", O_RDONLY);
	guest_no_open("zero", O_RDONLY);
	guest_no_open("zero", O_WRONLY);
}

static void
whoami(void)
{
	guest_must(getuid() == 1000 && geteuid() == 1000 && getegid() == 1000 &&
			guest_status("CapPrm", 16) == 0 && guest_status("CapEff", 16) == 0,
		"whoami", "uid %d euid %d caps %lx", (int)getuid(), (int)geteuid(),
		guest_status("CapPrm", 16));
}

int
main(int argc, char **argv)
{
	static const struct guest_act acts[] = { { "mounting", mounting },
		{ "namespaces", namespaces_of_own }, { "handles", handles }, { "writing", writing },
		{ "rights", rights }, { "planted", planted }, { "whoami", whoami },
		{ NULL, NULL } };

	return guest_main(argc, argv, acts);
}
