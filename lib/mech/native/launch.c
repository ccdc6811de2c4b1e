/*
 * The maker's side of a launch: one clone with all namespaces, the maps, and a bounded wait for the
 * word of pid 1. Never leaves a child behind that nobody knows of.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/scoped.h"
#include "mech/init_proto.h"
#include "mech/native/native.h"

#define LAUNCH_MS 10000

static const char *const stage_names[SBX_STAGE_COUNT] = { "set-up", "clone", "setsid", "stdio",
	"signals", "chdir", "landlock", "seccomp", "execve" };

/* What came over the report pipe: a child's error, or pid 1's report. */
static int
judge_report(const char *bytes, size_t length, struct sbx_err *err)
{
	struct sbx_init_report report;

	if (length == sizeof(*err)) {
		memcpy(err, bytes, sizeof(*err));
		return -1;
	}
	if (length != sizeof(report))
		return sbx_fail(err, SBX_E_UNAVAILABLE, "the environment's first process died");
	memcpy(&report, bytes, sizeof(report));
	report.what[sizeof(report.what) - 1] = '\0';
	if (report.magic != SBX_INIT_MAGIC)
		return sbx_fail(err, SBX_E_INTERNAL, "sbx-init speaks another protocol");
	if (report.stage == 0 && report.error == 0 && report.what[0] == '\0')
		return 0;
	if (report.error == 0)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "self-test: %s", report.what);
	errno = report.error;
	sbx_fail_sys(err, SBX_E_UNAVAILABLE, "sbx-init: %s%s%s",
		report.stage < SBX_STAGE_COUNT ? stage_names[report.stage] : "?",
		report.what[0] != '\0' ? ": " : "", report.what);
	if (report.stage == SBX_STAGE_SECCOMP)
		sbx_fail_hint(err, SBX_NATIVE_SECCOMP_HINT);
	return -1;
}

static int
await_report(int fd, struct sbx_err *err)
{
	int64_t deadline = sbx_clock_mono_ms() + LAUNCH_MS;
	char bytes[1024];
	size_t length = 0;

	_Static_assert(sizeof(struct sbx_err) != sizeof(struct sbx_init_report), "told by size");
	_Static_assert(sizeof(struct sbx_err) < sizeof(bytes), "one read");
	for (;;) {
		struct pollfd wait = { .fd = fd, .events = POLLIN };
		int64_t left = deadline - sbx_clock_mono_ms();
		ssize_t n;

		if (left <= 0)
			return sbx_fail(err, SBX_E_TIMEOUT, "pid 1 gave no word within %d s",
				LAUNCH_MS / 1000);
		if (poll(&wait, 1, (int)left) < 0 && errno != EINTR)
			return sbx_fail_sys(err, SBX_E_INTERNAL, "wait for pid 1");
		if (wait.revents == 0)
			continue;
		n = read(fd, bytes + length, sizeof(bytes) - length);
		if (n < 0 && errno != EINTR)
			return sbx_fail_sys(err, SBX_E_INTERNAL, "read the word of pid 1");
		if (n == 0 || length == sizeof(bytes))
			return judge_report(bytes, length, err);
		if (n > 0)
			length += (size_t)n;
	}
}

void
sbx_native_drop(struct sbx_native_birth *birth)
{
	int saved = errno;

	if (birth->pid > 0) {
		syscall(SYS_pidfd_send_signal, birth->pidfd, SIGKILL, NULL, 0);
		while (waitpid(birth->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	sbx_scoped_close(&birth->pidfd);
	sbx_scoped_close(&birth->keep_fd);
	*birth = (struct sbx_native_birth){ .pid = -1, .pidfd = -1, .keep_fd = -1 };
	errno = saved;
}

int
sbx_native_keep(struct sbx_native_birth *birth, struct sbx_err *err)
{
	if (sbx_io_write_all(birth->keep_fd, "k", 1) != 0)
		return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "pid 1 died");
	birth->pid = -1;
	sbx_native_drop(birth);
	return 0;
}

static int
map_and_wait(const struct sbx_native_plan *plan, const struct sbx_native_birth *birth,
	int report_fd, struct sbx_err *err)
{
	if (!plan->maps_itself) {
		if (sbx_native_map(birth->pid, &plan->map, err) != 0)
			return -1;
		if (sbx_io_write_all(birth->keep_fd, "m", 1) != 0)
			return sbx_fail_sys(err, SBX_E_UNAVAILABLE, "the child died");
	}
	return await_report(report_fd, err);
}

int
sbx_native_launch(struct sbx_native_plan *plan, int cgroup_fd, struct sbx_native_birth *birth,
	struct sbx_err *err)
{
	int go[2] = { -1, -1 }, report[2] = { -1, -1 };
	int rc;

	*birth = (struct sbx_native_birth){ .pid = -1, .pidfd = -1, .keep_fd = -1 };
	if (pipe2(go, O_CLOEXEC) != 0)
		return sbx_fail_sys(err, SBX_E_INTERNAL, "make a pipe");
	if (pipe2(report, O_CLOEXEC) != 0) {
		sbx_scoped_close(&go[0]);
		sbx_scoped_close(&go[1]);
		return sbx_fail_sys(err, SBX_E_INTERNAL, "make a pipe");
	}
	plan->go_fd = go[0];
	plan->go_write_fd = go[1];
	plan->report_fd = report[1];
	birth->keep_fd = go[1];
	birth->pid = sbx_ns_clone(SBX_NS_ALL, cgroup_fd, &birth->pidfd);
	if (birth->pid == 0)
		sbx_native_child(plan);
	sbx_scoped_close(&go[0]);
	sbx_scoped_close(&report[1]);
	if (birth->pid < 0)
		rc = sbx_ns_explain(errno, err);
	else
		rc = map_and_wait(plan, birth, report[0], err);
	sbx_scoped_close(&report[0]);
	if (rc != 0) {
		sbx_native_drop(birth);
		sbx_native_advise(err);
	}
	return rc;
}
