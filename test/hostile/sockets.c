/*
 * ATTACKS 51 to 54: reach a service of the host or of a neighbour by a unix socket. Abstract
 * sockets of the host are not there (own network namespace) and those of another command refuse
 * (Landlock); no socket file is in view; variables that name sockets are gone. Act `host` is the
 * service, run outside.
 */
#include <arpa/inet.h>
#include <ftw.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "guest.h"

static socklen_t
unix_address(struct sockaddr_un *address, const char *name, int is_abstract)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(address->sun_path + is_abstract, sizeof(address->sun_path) - 1, "%s", name);
	/* One byte beside the name: the NUL before an abstract one, the NUL behind a path. */
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name) + 1);
}

static int
unix_connect(int type, const char *name, int is_abstract)
{
	struct sockaddr_un address;
	socklen_t length = unix_address(&address, name, is_abstract);
	int sock = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	int rc = connect(sock, (struct sockaddr *)&address, length);
	int saved = errno;

	close(sock);
	errno = saved;
	return rc;
}

/* The host's services: prints its port, then a line for everything that reaches it. */
static int
serve_host(const char *name)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	struct sockaddr_un abstract;
	socklen_t length = sizeof(address);
	struct pollfd fds[3] = { { socket(AF_INET, SOCK_STREAM, 0), POLLIN, 0 },
		{ socket(AF_INET, SOCK_DGRAM, 0), POLLIN, 0 },
		{ socket(AF_UNIX, SOCK_STREAM, 0), POLLIN, 0 } };
	char bytes[64];

	if (bind(fds[0].fd, (struct sockaddr *)&address, length) != 0 ||
		listen(fds[0].fd, 8) != 0 ||
		getsockname(fds[0].fd, (struct sockaddr *)&address, &length) != 0 ||
		bind(fds[1].fd, (struct sockaddr *)&address, length) != 0)
		return 71;
	length = unix_address(&abstract, name, 1);
	if (bind(fds[2].fd, (struct sockaddr *)&abstract, length) != 0 || listen(fds[2].fd, 8) != 0)
		return 71;
	printf("port %d\n", ntohs(address.sin_port));
	fflush(stdout);
	while (poll(fds, 3, 60000) > 0) {
		for (int i = 0; i < 3; i++) {
			if (fds[i].revents == 0)
				continue;
			printf("REACHED by %s\n", i == 0 ? "tcp" : i == 1 ? "udp" : "abstract");
			fflush(stdout);
			if (i == 1)
				(void)!recv(fds[i].fd, bytes, sizeof(bytes), 0);
			else
				close(accept(fds[i].fd, NULL, NULL));
		}
	}
	return 0;
}

static void
abstract(void)
{
	char line[512];
	int listed = 0;
	FILE *sockets = fopen("/proc/net/unix", "re");

	guest_refused("abstract stream socket of the host",
		unix_connect(SOCK_STREAM, guest_argument, 1), ECONNREFUSED);
	guest_refused("abstract datagram socket", unix_connect(SOCK_DGRAM, guest_argument, 1),
		ECONNREFUSED);
	guest_refused("X11", unix_connect(SOCK_STREAM, "/tmp/.X11-unix/X0", 1), ECONNREFUSED);
	while (sockets != NULL && fgets(line, sizeof(line), sockets) != NULL)
		listed += strchr(line, '@') != NULL;
	if (sockets != NULL)
		fclose(sockets);
	guest_must(listed == 0, "no abstract socket is listed", "%d", listed);
}

/* A neighbour: another command of the same environment, which has this abstract socket. */
static void
neighbour(void)
{
	struct sockaddr_un address;
	socklen_t length = unix_address(&address, guest_argument, 1);
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	guest_must(bind(sock, (struct sockaddr *)&address, length) == 0 && listen(sock, 8) == 0,
		"neighbour listens", "errno %d", errno);
	close(open("listening", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	for (int i = 0; i < 100 && access("done", F_OK) != 0; i++)
		usleep(50000);
	guest_must(access("done", F_OK) == 0, "neighbour lived to the end", "it waited too long");
}

static void
visit(void)
{
	char path[64], text[64];
	int reached = 0;

	guest_refused("abstract socket of a neighbour",
		unix_connect(SOCK_STREAM, guest_argument, 1), EPERM);
	for (int pid = 2; pid < 2000; pid++) {
		int fd;

		if (pid == getpid())
			continue;
		reached += kill(pid, SIGKILL) == 0;
		reached += syscall(SYS_tkill, pid, SIGKILL) == 0;
		snprintf(path, sizeof(path), "/proc/%d/environ", pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		reached += fd >= 0 && read(fd, text, sizeof(text)) > 0;
		if (fd >= 0)
			close(fd);
	}
	guest_must(reached == 0, "a neighbour is neither killed nor read", "%d times", reached);
	kill(-1, SIGKILL);
}

static int sockets_seen;

static int
look_for_socket(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)ftw;
	(void)type;
	if (strncmp(path, "/proc", 5) == 0 || strncmp(path, "/usr", 4) == 0)
		return 0;
	if (S_ISSOCK(st->st_mode)) {
		sockets_seen++;
		guest_must(0, path, "is a socket in view");
	}
	return 0;
}

static void
pathnames(void)
{
	static const char *const known[] = { "/run/docker.sock", "/var/run/docker.sock",
		"/run/containerd/containerd.sock", "/run/systemd/private", "/run/systemd/notify",
		"/run/dbus/system_bus_socket", "/run/user/0/bus", "/run/user/1000/bus",
		"/run/nscd/socket", "/run/udev/control", "/tmp/.X11-unix/X0", "/dev/log",
		"/var/lib/sbx", "/run/sbx", "init.sock", "../init.sock" };

	for (size_t i = 0; i < GUEST_COUNT(known); i++) {
		char name[64];

		snprintf(name, sizeof(name), "socket %s", known[i]);
		guest_refused(name, unix_connect(SOCK_STREAM, known[i], 0), ENOENT);
	}
	nftw("/", look_for_socket, 32, FTW_PHYS);
	guest_must(sockets_seen == 0, "no socket file is in view", "%d", sockets_seen);
}

static void
variables(void)
{
	static const char *const gone[] = { "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES",
		"NOTIFY_SOCKET", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR",
		"DISPLAY", "WAYLAND_DISPLAY", "DOCKER_HOST", "LD_PRELOAD", "LD_LIBRARY_PATH",
		"BASH_ENV", "ENV", "PYTHONPATH", "GIT_DIR", "SBX_STATE", "SBX_LIBEXEC" };

	for (size_t i = 0; i < GUEST_COUNT(gone); i++)
		guest_must(getenv(gone[i]) == NULL, gone[i], "is set");
	guest_must(fcntl(3, F_GETFD) < 0, "descriptor 3 is closed", "it is open");
}

int
main(int argc, char **argv)
{
	static const struct guest_act acts[] = { { "abstract", abstract },
		{ "neighbour", neighbour }, { "visit", visit }, { "pathnames", pathnames },
		{ "variables", variables }, { NULL, NULL } };

	if (argc == 3 && strcmp(argv[1], "host") == 0)
		return serve_host(argv[2]);
	return guest_main(argc, argv, acts);
}
