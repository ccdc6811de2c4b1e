/*
 * sbx-init under gVisor: it must not lean on a system call that gVisor lacks (openat2, pidfd,
 * clone3, O_TMPFILE, Landlock). This program is the container's first process: its child stays
 * as the caller, with uid 0 so that a sweep of pid 1 (uid 1000) does not reach it, and it
 * executes sbx-init itself. The caller prints TAP; it ends by closing the keep pipe, whereupon
 * pid 1 must end the container.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "caller.h"

#define GUEST_UID 1000

static int count, failed;

static void
ok(int good, const char *name)
{
	count++;
	failed += !good;
	printf("%sok %d - gvisor: %s\n", good ? "" : "not ", count, name);
	fflush(stdout);
}

static void
is_int(long got, long want, const char *name)
{
	ok(got == want, name);
	if (got != want)
		printf("#   got: %ld (%s)\n#  want: %ld\n", got, strerror((int)got), want);
}

/* ---- what becomes pid 1 */

static int
listen_here(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = SOCKET };
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (sock < 0 || bind(sock, (struct sockaddr *)&address, sizeof(address)) != 0 ||
		listen(sock, 64) != 0)
		return -1;
	return sock;
}

static void
become_init(int listen_fd, int ready_fd, int keep_fd)
{
	char name[] = "sbx-init";
	char *argv[] = { name, NULL }, *envp[] = { NULL };
	struct sbx_init_plan plan = {
		.magic = SBX_INIT_MAGIC,
		.version = SBX_INIT_VERSION,
		.listen_fd = fcntl(listen_fd, F_DUPFD, 10),
		.ready_fd = fcntl(ready_fd, F_DUPFD, 10),
		.keep_fd = fcntl(keep_fd, F_DUPFD, 10),
		.landlock_fd = -1,
		.hold_fd = -1,
		.workspace = "/workspace",
		.probe_write = "/etc/.sbx-probe",
	};
	int fds[2];

	/* Descriptor 3 is one of ours that was copied above. */
	if (pipe2(fds, O_CLOEXEC) != 0 ||
		write(fds[1], &plan, sizeof(plan)) != (ssize_t)sizeof(plan) ||
		dup2(fds[0], SBX_INIT_FD_PLAN) < 0)
		_exit(72);
	umask(077);
	if (setgroups(0, NULL) != 0 || setgid(GUEST_UID) != 0 || setuid(GUEST_UID) != 0)
		_exit(73);
	execve("/bin/sbx-init", argv, envp);
	_exit(74);
}

/* ---- the caller */

static void
expect(int sock, enum sbx_init_answer answer, uint32_t id, int status, const char *name)
{
	struct sbx_init_reply reply = next(sock);
	int good = reply.answer == answer && reply.id == id && reply.status == status;

	ok(good, name);
	if (!good)
		printf("#   got: answer %u id %u status %#x stage %u error %d (%s)\n", reply.answer,
			reply.id, (unsigned)reply.status, reply.stage, reply.error,
			strerror(reply.error));
}

static void
try_report(int ready_fd)
{
	struct sbx_init_report report = { 0 };
	ssize_t n = read(ready_fd, &report, sizeof(report));
	char byte;

	is_int(n, (long)sizeof(report), "pid 1 reports");
	is_int(report.stage, 0, "its set-up and self-test have no stage that failed");
	is_int(report.error, 0, "nor an error");
	report.what[sizeof(report.what) - 1] = '\0';
	ok(report.what[0] == '\0', "and the self-test found nothing");
	if (report.what[0] != '\0')
		printf("#   %s\n", report.what);
	is_int(read(ready_fd, &byte, 1), 0, "the report's pipe is closed");
}

static void
try_exec(int sock)
{
	char text[256] = "";
	int fds[2];
	size_t length = 0;
	ssize_t n = 1;

	if (pipe2(fds, O_CLOEXEC) != 0)
		_exit(75);
	is_int(send_exec(sock, 1, "/bin/guest", "tell", fds[1]), 0, "EXEC is sent");
	close(fds[1]);
	expect(sock, SBX_INIT_STARTED, 1, 0, "STARTED");
	while (n > 0 && length < sizeof(text) - 1) {
		n = read(fds[0], text + length, sizeof(text) - 1 - length);
		length += n > 0 ? (size_t)n : 0;
	}
	close(fds[0]);
	ok(strcmp(text,
		   "/workspace yes 1000 nnp 1 seccomp 2 fds 3 session 1 unshare 1 clone3 38\n") ==
			0,
		"the output comes through the pipe that was passed");
	printf("#   %s", text);
	expect(sock, SBX_INIT_EXITED, 1, 7 << 8, "EXITED with the program's status");
}

static void
try_rest(int sock)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	int other = call();
	struct sbx_init_reply reply;

	is_int(send_short(sock, SBX_INIT_PING, 5), 0, "PING is sent");
	expect(sock, SBX_INIT_PONG, 5, 0, "PONG");

	is_int(send_exec(sock, 2, "/bin/no-such-program", "x", null_fd), 0, "EXEC of nothing");
	reply = next(sock);
	is_int(reply.answer, SBX_INIT_FAILED, "a missing program is FAILED");
	is_int(reply.stage, SBX_STAGE_EXECVE, "at execve");
	is_int(reply.error, ENOENT, "with ENOENT");

	send_exec(sock, 3, "/bin/guest", "pause", null_fd);
	expect(sock, SBX_INIT_STARTED, 3, 0, "a command that stays");
	send_short(sock, SBX_INIT_KILL, 3);
	expect(sock, SBX_INIT_KILLED, 3, 0, "KILL is answered");
	expect(sock, SBX_INIT_EXITED, 3, SIGKILL, "and the command ended by SIGKILL");

	send_exec(sock, 4, "/bin/guest", "daemon", null_fd);
	expect(sock, SBX_INIT_STARTED, 4, 0, "a command that leaves a daemon behind");
	expect(sock, SBX_INIT_EXITED, 4, 0, "ends");

	send_exec(other, 1, "/bin/guest", "pause", null_fd);
	expect(other, SBX_INIT_STARTED, 1, 0, "another caller's command");
	send_exec(sock, 6, "/bin/guest", "pause", null_fd);
	expect(sock, SBX_INIT_STARTED, 6, 0, "and ours");
	send_short(sock, SBX_INIT_KILL, 0);
	expect(sock, SBX_INIT_KILLED, 0, 0, "KILL of everything is answered");
	expect(sock, SBX_INIT_EXITED, 6, SIGKILL, "it ends ours");
	expect(other, SBX_INIT_ENDED, 1, SIGKILL, "and the other caller is told ENDED");
	close(other);
	close(null_fd);
}

/* Nothing of uid 1000 is left but pid 1: every pid below 200 is asked. */
static void
try_left_over(void)
{
	char path[32];
	struct stat st;
	int left = 0;

	for (int pid = 2; pid < 200; pid++) {
		snprintf(path, sizeof(path), "/proc/%d", pid);
		if (stat(path, &st) == 0 && st.st_uid == GUEST_UID) {
			printf("# pid %d is left\n", pid);
			left++;
		}
	}
	is_int(left, 0, "no process of a command is left");
}

static void
try_garbage(void)
{
	struct sbx_init_reply reply;
	int sock = call();

	is_int(send(sock, "garbage", 7, MSG_NOSIGNAL), 7, "a malformed message is sent");
	is_int(recv(sock, &reply, sizeof(reply), 0), 0, "and costs its caller the connection");
	close(sock);
}

static void
try_version(void)
{
	char text[256] = "";
	int fd = open("/proc/version", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		text[0] = '\0';
	ok(strstr(text, "version 4.4.0") != NULL, "/proc/version is gVisor's");
	printf("#   %s", text);
}

static void
drive(int ready_fd)
{
	int sock;

	try_version();
	try_report(ready_fd);
	if (failed == 0) {
		sock = call();
		try_exec(sock);
		try_rest(sock);
		try_left_over();
		try_garbage();
		send_short(sock, SBX_INIT_PING, 9);
		expect(sock, SBX_INIT_PONG, 9, 0, "pid 1 still serves");
		close(sock);
	}
	printf("1..%d\n", count);
	fflush(stdout);
}

int
main(void)
{
	int listen_fd, ready[2], keep[2];

	listen_fd = listen_here();
	if (listen_fd < 0 || pipe2(ready, O_CLOEXEC) != 0 || pipe2(keep, O_CLOEXEC) != 0) {
		perror("driver");
		return 71;
	}
	if (fork() != 0)
		become_init(listen_fd, ready[1], keep[0]);
	close(listen_fd);
	close(ready[1]);
	close(keep[0]);
	drive(ready[0]);
	/* Our end of the keep pipe closes with us: pid 1, never told to stay, ends. */
	return failed != 0;
}
