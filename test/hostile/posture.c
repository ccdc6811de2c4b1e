/*
 * The live state of a command, as it sees itself: one `name value` line each, for a table to be
 * compared with, so that no layer is lost unseen. It attacks nothing; what it tries is what each
 * layer refuses. With a name as argument it also visits the neighbour that listens on this
 * abstract socket.
 */
#include <dirent.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/un.h>

#include "guest.h"

static const struct {
	const char *name;
	int resource;
} limits[] = { { "cpu", RLIMIT_CPU }, { "fsize", RLIMIT_FSIZE }, { "data", RLIMIT_DATA },
	{ "stack", RLIMIT_STACK }, { "core", RLIMIT_CORE }, { "rss", RLIMIT_RSS },
	{ "nproc", RLIMIT_NPROC }, { "nofile", RLIMIT_NOFILE }, { "memlock", RLIMIT_MEMLOCK },
	{ "as", RLIMIT_AS }, { "locks", RLIMIT_LOCKS }, { "sigpending", RLIMIT_SIGPENDING },
	{ "msgqueue", RLIMIT_MSGQUEUE }, { "nice", RLIMIT_NICE }, { "rtprio", RLIMIT_RTPRIO },
	{ "rttime", RLIMIT_RTTIME } };

static void
say_limit(const char *name, const char *which, rlim_t value)
{
	if (value == RLIM_INFINITY)
		printf("limit.%s.%s unlimited\n", name, which);
	else
		printf("limit.%s.%s %llu\n", name, which, (unsigned long long)value);
}

static void
say_limits(void)
{
	struct rlimit limit;

	for (size_t i = 0; i < GUEST_COUNT(limits); i++) {
		if (getrlimit(limits[i].resource, &limit) != 0)
			continue;
		say_limit(limits[i].name, "soft", limit.rlim_cur);
		say_limit(limits[i].name, "hard", limit.rlim_max);
	}
}

/* A line of /proc behind its name, with blanks made single. */
static void
say_words(const char *name, const char *text)
{
	int blank = 1;

	printf("%s", name);
	for (; *text != '\0'; text++) {
		if (*text == ' ' || *text == '\t' || *text == '\n') {
			blank = 1;
			continue;
		}
		if (blank)
			putchar(' ');
		putchar(*text);
		blank = 0;
	}
	putchar('\n');
}

static void
say_file(const char *path, const char *name)
{
	char line[4096];
	FILE *file = fopen(path, "re");

	if (file == NULL)
		printf("%s errno %d\n", name, errno);
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		say_words(name, line);
	if (file != NULL)
		fclose(file);
}

/* Where, how, propagation if there is any, and the type of the file system. */
static void
say_mounts(void)
{
	char line[4096], where[1024], how[256], rest[2048];
	FILE *file = fopen("/proc/self/mountinfo", "re");

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		char *dash;

		if (sscanf(line, "%*s %*s %*s %*s %1023s %255s %2047[^\n]", where, how, rest) != 3)
			continue;
		dash = strstr(rest, "- ");
		if (dash != NULL)
			dash[2 + strcspn(dash + 2, " ")] = '\0';
		printf("mount %s %s %s\n", where, how, rest);
	}
	if (file != NULL)
		fclose(file);
}

static void
say_status(void)
{
	static const char *const fields[] = { "Umask", "Uid", "Gid", "Groups", "SigPnd", "ShdPnd",
		"SigBlk", "SigIgn", "SigCgt", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb",
		"NoNewPrivs", "Seccomp", "Seccomp_filters", "TracerPid", "Threads" };
	char line[4096], name[64];
	FILE *status = fopen("/proc/self/status", "re");

	while (status != NULL && fgets(line, sizeof(line), status) != NULL) {
		size_t length = strcspn(line, ":");

		for (size_t i = 0; i < GUEST_COUNT(fields); i++) {
			if (length != strlen(fields[i]) || strncmp(line, fields[i], length) != 0)
				continue;
			snprintf(name, sizeof(name), "status.%s", fields[i]);
			say_words(name, line + length + 1);
		}
	}
	if (status != NULL)
		fclose(status);
}

static void
say_namespaces(void)
{
	static const char *const names[] = { "cgroup", "ipc", "mnt", "net", "pid",
		"pid_for_children", "time", "time_for_children", "user", "uts" };
	char path[64], target[64];

	for (size_t i = 0; i < GUEST_COUNT(names); i++) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		n = readlink(path, target, sizeof(target) - 1);
		printf("ns.%s %.*s\n", names[i], (int)(n > 0 ? n : 0), target);
	}
}

static int
is_shown(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* Each entry: name, type, mode, and the number of a device or the target of a link. */
static void
say_directory(const char *path)
{
	struct dirent **entries = NULL;
	int count = scandir(path, &entries, is_shown, alphasort);

	for (int i = 0; i < count; i++) {
		char full[512], target[256] = "";
		struct stat st = { 0 };
		ssize_t n;

		snprintf(full, sizeof(full), "%s/%s", path[1] == '\0' ? "" : path,
			entries[i]->d_name);
		free(entries[i]);
		if (lstat(full, &st) != 0)
			continue;
		n = readlink(full, target, sizeof(target) - 1);
		if (S_ISLNK(st.st_mode))
			printf("dir %s -> %.*s\n", full, (int)n, target);
		else if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
			printf("dir %s %o %u:%u\n", full, st.st_mode, major(st.st_rdev),
				minor(st.st_rdev));
		else
			printf("dir %s %o\n", full, st.st_mode);
	}
	free(entries);
	if (count < 0)
		printf("dir %s errno %d\n", path, errno);
}

static void
say_descriptors(void)
{
	struct stat st;

	for (int fd = 0; fd < 65536; fd++) {
		if (fstat(fd, &st) == 0)
			printf("fd %d %s\n", fd,
				S_ISFIFO(st.st_mode)	    ? "pipe" :
					S_ISCHR(st.st_mode) ? "device" :
							      "other");
	}
}

static void
say_dispositions(void)
{
	struct sigaction action;
	struct itimerval timer;
	int unusual = 0, armed = 0;

	for (int sig = 1; sig < 65; sig++)
		unusual += sigaction(sig, NULL, &action) == 0 && action.sa_handler != SIG_DFL;
	for (int which = 0; which < 3; which++)
		armed += getitimer(which, &timer) == 0 &&
			(timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0);
	printf("dispositions.unusual %d\ntimers.armed %d\n", unusual, armed);
}

static void
say_process(void)
{
	char cwd[4096] = "";
	int pdeath = -1, tty;

	printf("session.own %d\ngroup.own %d\nparent %d\n", getsid(0) == getpid(),
		getpgid(0) == getpid(), (int)getppid());
	tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
	printf("terminal %s\n", tty < 0 && errno == ENXIO ? "none" : "there is one");
	printf("nice %d\npolicy %d\n", getpriority(PRIO_PROCESS, 0),
		(int)syscall(SYS_sched_getscheduler, 0));
	printf("ioprio %ld\n", syscall(SYS_ioprio_get, 1, 0));
	printf("dumpable %d\n", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
	printf("securebits %d\n", prctl(PR_GET_SECUREBITS, 0, 0, 0, 0));
	printf("pdeathsig %d\n", (prctl(PR_GET_PDEATHSIG, &pdeath, 0, 0, 0), pdeath));
	printf("personality %ld\n", syscall(SYS_personality, 0xffffffffL));
	printf("cwd %s\n", getcwd(cwd, sizeof(cwd)));
	for (char **at = environ; *at != NULL; at++)
		printf("environ %s\n", *at);
}

static void
say_refusal(const char *layer, long rc)
{
	int error = errno;

	if (rc == -1)
		printf("refused.%s %d\n", layer, error);
	else
		printf("refused.%s no\n", layer);
}

/*
 * What only Landlock refuses: /proc/self/comm is ours and its mount is writable; an abstract socket and
 * a process of the same uid in the same namespaces are within reach.
 */
static void
say_refusals(const char *neighbour)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t length;
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int seen = 0, allowed = 0;

	say_refusal("landlock.write", open("/proc/self/comm", O_WRONLY | O_CLOEXEC));
	say_refusal("readonly.write", open("/.posture", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	say_refusal("keyrings", syscall(SYS_keyctl, 0, -3, 0)); /* KEYCTL_GET_KEYRING_ID, session */
	say_refusal("seccomp.clone3", syscall(SYS_clone3, NULL, 0L));
	say_refusal("seccomp.unshare", syscall(SYS_unshare, 0));
	if (neighbour == NULL)
		return;
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s", neighbour);
	length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(neighbour));
	say_refusal("landlock.abstract", connect(sock, (struct sockaddr *)&address, length));
	for (int pid = 2; pid < 5000; pid++) {
		if (pid == getpid())
			continue;
		if (kill(pid, 0) == 0)
			allowed++;
		else if (errno == EPERM)
			seen++;
	}
	printf("refused.landlock.signal %s\n", allowed == 0 && seen == 1 ? "1" : "no");
}

int
main(int argc, char **argv)
{
	say_descriptors();
	say_status();
	say_namespaces();
	say_file("/proc/self/uid_map", "uid_map");
	say_file("/proc/self/gid_map", "gid_map");
	say_file("/proc/self/setgroups", "setgroups");
	say_file("/proc/self/oom_score_adj", "oom_score_adj");
	say_file("/proc/self/cgroup", "cgroup");
	say_mounts();
	say_limits();
	say_dispositions();
	say_process();
	say_directory("/");
	say_directory("/dev");
	say_directory("/dev/pts");
	say_directory("/sys");
	say_directory("/run");
	say_directory("/home");
	say_refusals(argc > 1 ? argv[1] : NULL);
	puts("end");
	return 0;
}
