/*
 * A terminal asked of pid 1, where what answers is not what it should be: this program plays pid 1, at
 * the socket of an environment's directory. Only a master and a slave are taken, and nothing else of
 * what came is kept.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "mech/init_proto.h"
#include "mech/native/session.h"
#include "tap.h"

static struct sbx_session session;
static struct sbx_err err;
static int listening;

static int
count_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (dir != NULL && readdir(dir) != NULL)
		count++;
	if (dir != NULL)
		closedir(dir);
	return count;
}

static int
open_slave(int master)
{
	int unlocked = 0;

	return ioctl(master, TIOCSPTLCK, &unlocked) != 0 ?
		-1 :
		ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
}

/* One question, answered so; the size that was asked for is the exit status: rows + columns. */
static pid_t
play(enum sbx_init_answer answer, int error, const int *fds, size_t count)
{
	struct sbx_init_reply reply = { .magic = SBX_INIT_MAGIC,
		.version = SBX_INIT_VERSION,
		.answer = (uint16_t)answer,
		.id = 1,
		.error = error };
	struct sbx_init_request request = { 0 };
	pid_t pid = fork();
	int sock;

	if (pid != 0)
		return pid;
	sock = accept(listening, NULL, NULL);
	if (recv(sock, &request, sizeof(request), 0) != (ssize_t)sizeof(request) ||
		request.op != SBX_INIT_PTY ||
		sbx_fd_send(sock, &reply, sizeof(reply), fds, count) < 0)
		_exit(255);
	_exit((int)((request.flags >> 16) + (request.flags & 0xffff)));
}

static void
try(enum sbx_init_answer answer, int error, const int *fds, size_t count, int good,
	const char *what)
{
	const struct sbx_mech_tty size = { .rows = 30, .columns = 90 };
	pid_t pid = play(answer, error, fds, count);
	int ends[2] = { -1, -1 }, before = count_open(), status = 0;

	err = (struct sbx_err){ 0 };
	ok((sbx_native_pty(&session, &size, ends, &err) == 0) == good, "%s is %s", what,
		good ? "taken" : "refused");
	waitpid(pid, &status, 0);
	is_int(WEXITSTATUS(status), 120, "it was asked for with its size");
	is_int(count_open() - before, good ? 2 : 0, "nothing else is kept");
	if (good) {
		close(ends[0]);
		close(ends[1]);
	} else {
		is_int(err.code, SBX_E_UNAVAILABLE, "%s", err.msg);
	}
}

static void
listen_in(const char *dir)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/init.sock", dir);
	listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	session.dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (bind(listening, (struct sockaddr *)&address, sizeof(address)) != 0 ||
		listen(listening, 4) != 0)
		exit(1);
}

int
main(void)
{
	char dir[] = "/tmp/sbx-test-pty.XXXXXX";
	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), slave = open_slave(master);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int right[] = { master, slave }, turned[] = { slave, master }, two[] = { master, master };
	int device[] = { null, slave }, socket_and[] = { -1, slave };

	if (mkdtemp(dir) == NULL || master < 0 || slave < 0)
		return 1;
	listen_in(dir);
	socket_and[0] = listening;
	try(SBX_INIT_PTY_MADE, 0, right, 2, 1, "a terminal");
	try(SBX_INIT_PTY_MADE, 0, turned, 2, 0, "one the wrong way round");
	try(SBX_INIT_PTY_MADE, 0, two, 2, 0, "a master twice");
	try(SBX_INIT_PTY_MADE, 0, device, 2, 0, "another device");
	try(SBX_INIT_PTY_MADE, 0, socket_and, 2, 0, "a socket");
	try(SBX_INIT_PTY_MADE, 0, right, 1, 0, "half a terminal");
	try(SBX_INIT_PTY_MADE, ENOSPC, NULL, 0, 0, "an error");
	is_int(err.sys, ENOSPC, "and it is said which");
	try(SBX_INIT_PONG, 0, NULL, 0, 0, "another answer");
	unlinkat(session.dir_fd, "init.sock", 0);
	rmdir(dir);
	return done();
}
