/*
 * `sbx-init attach`: confine, hear from pid 1 what it proved, say so, then move frames and bytes
 * until the host closes its end. Whatever goes wrong ends it, and pid 1 then ends what it started.
 */
#include "attach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/scoped.h"
#include "init.h"
#include "kernel/caps.h"
#include "kernel/seccomp.h"

#define HELLO_MS 10000
#define LOOK_MS 100
#define READ_BYTES 65536

static int
confine(void)
{
	struct rlimit files;

	if (geteuid() != 0 || prctl(PR_SET_DUMPABLE, 0) != 0 ||
		syscall(SYS_close_range, 3U, INIT_FD_LAST, 0U) != 0)
		return -1;
	signal(SIGPIPE, SIG_IGN);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		sbx_caps_set(ATTACH_CAPS, ATTACH_CAPS) != 0 ||
		sbx_seccomp_base(SBX_SECCOMP_STRICT) != 0)
		return -1;
	return sbx_fd_nonblock(0, 1) != 0 || sbx_fd_nonblock(1, 1) != 0 ? -1 : 0;
}

static int
read_hello(struct sbx_chan_hello *hello)
{
	SBX_AUTO_FD fd = open(INIT_HELLO, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (read(fd, hello, sizeof(*hello)) == (ssize_t)sizeof(*hello) &&
		hello->magic == SBX_CHAN_MAGIC)
		return 0;
	errno = EPROTO;
	return -1;
}

/* The container may have started this very moment. */
static int
await_hello(struct sbx_chan_hello *hello)
{
	int64_t deadline = sbx_clock_mono_ms() + HELLO_MS;
	SBX_AUTO_FD watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	if (watch < 0 || inotify_add_watch(watch, SBX_CHAN_RUN, IN_MOVED_TO) < 0)
		return -1;
	while (read_hello(hello) != 0) {
		struct pollfd wait = { .fd = watch, .events = POLLIN };
		int64_t left = deadline - sbx_clock_mono_ms();
		char events[1024];

		if (errno != ENOENT || left <= 0 || poll(&wait, 1, (int)left) < 0)
			return -1;
		if (wait.revents != 0 && read(watch, events, sizeof(events)) < 0 && errno != EAGAIN)
			return -1;
	}
	return 0;
}

static int
reach_pid1(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = SBX_CHAN_SOCKET };
	SBX_AUTO_FD sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (sock < 0 || connect(sock, (struct sockaddr *)&address, sizeof(address)) != 0)
		return -1;
	return sbx_take_fd(&sock);
}

/* Everything that is there, whole frames at once. */
static int
hear_host(struct attach *attach)
{
	static char bytes[READ_BYTES];
	ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	return n == 0 ? -1 : attach_take(attach, bytes, (size_t)n);
}

static int
hear_pid1(struct attach *attach)
{
	struct sbx_init_reply reply;
	ssize_t n = recv(attach->sock, &reply, sizeof(reply), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n != (ssize_t)sizeof(reply) || reply.magic != SBX_INIT_MAGIC ||
		reply.version != SBX_INIT_VERSION)
		return -1;
	return attach_reply(attach, &reply);
}

static int
wait_and_move(struct attach *attach)
{
	static struct pollfd fds[3 + SBX_CHAN_COMMANDS_MAX * ATTACH_POLLED];
	int count = attach->commands_end, runs = attach_runs(attach);

	fds[0] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = attach_queued(attach) > 0 ? STDOUT_FILENO : -1,
		.events = POLLOUT };
	fds[2] = (struct pollfd){ .fd = attach->sock, .events = POLLIN };
	for (int i = 0; i < count; i++)
		attach_wants(attach, &attach->commands[i], fds + 3 + i * ATTACH_POLLED);
	if (poll(fds, 3 + (nfds_t)count * ATTACH_POLLED,
		    runs && attach_count_wanted(attach) ? LOOK_MS : -1) < 0)
		return errno == EINTR ? 0 : -1;
	if (runs && sbx_clock_mono_ms() - attach->counters.looked_ms >= LOOK_MS &&
		attach_count_look(attach) != 0)
		return -1;
	for (int i = 0; i < count; i++) {
		if (attach_move(attach, &attach->commands[i], fds + 3 + i * ATTACH_POLLED) != 0)
			return -1;
	}
	if (fds[2].revents != 0 && hear_pid1(attach) != 0)
		return -1;
	if (fds[0].revents != 0 && hear_host(attach) != 0)
		return -1;
	return attach_flush(attach);
}

int
init_attach(void)
{
	static struct attach attach;
	struct sbx_chan_hello hello;

	sbx_buf_init(&attach.in, sizeof(struct sbx_chan_head) + SBX_CHAN_PAYLOAD_MAX + READ_BYTES);
	sbx_buf_init(&attach.out, ATTACH_QUEUE_CAP);
	if (confine() != 0)
		return 77;
	if (await_hello(&hello) != 0)
		return 69;
	if (attach_say(&attach, SBX_CHAN_HELLO, 0, 0, &hello, sizeof(hello)) != 0 ||
		attach_flush(&attach) != 0)
		return 74;
	if (hello.error != 0 || hello.stage != 0 || hello.what[0] != '\0')
		return 69;
	attach.sock = reach_pid1();
	if (attach.sock < 0)
		return 69;
	attach_count_open(&attach.counters, hello.pids);
	while (wait_and_move(&attach) == 0)
		;
	return 0;
}
