/* base/loop: descriptors, timers, signals; removal from inside callbacks. */
#include "base/loop.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/scoped.h"
#include "tap.h"

static struct sbx_loop *loop;
static struct sbx_loop_io *watch[3];
static struct sbx_loop_timer *other;
static int calls, order[64];

static void
stop(void *arg)
{
	(void)arg;
	sbx_loop_stop(loop);
}

static int
run_for_ms(int64_t ms)
{
	struct sbx_err err = { 0 };
	struct sbx_loop_timer *timer = sbx_loop_at(loop, sbx_clock_mono_us() + ms * 1000, stop,
		NULL);

	ok(timer != NULL, "a timer");
	return sbx_loop_run(loop, &err);
}

static void
read_byte(void *arg, uint32_t events)
{
	const int *fd = arg;
	char byte;

	if ((events & EPOLLIN) != 0 && read(*fd, &byte, 1) == 1)
		calls++;
	else
		sbx_loop_stop(loop);
}

static void
delete_all(void *arg, uint32_t events)
{
	size_t i;

	(void)arg;
	(void)events;
	calls++;
	for (i = 0; i < 3; i++) {
		sbx_loop_del(loop, watch[i]);
		sbx_loop_del(loop, NULL);
	}
}

static void
test_descriptors(void)
{
	struct sbx_err err = { 0 };
	SBX_AUTO_FD file = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	int ends[2], i;

	if (!ok(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0, "a pipe"))
		return;
	watch[0] = sbx_loop_add(loop, ends[0], EPOLLIN, read_byte, &ends[0], &err);
	ok(watch[0] != NULL, "watched");
	is_int(write(ends[1], "abc", 3), 3, "three bytes");
	is_int(run_for_ms(20), 0, "run");
	is_int(calls, 3, "level-triggered: three calls");
	sbx_loop_mod(loop, watch[0], 0);
	is_int(write(ends[1], "d", 1), 1, "a byte while nothing is watched");
	is_int(run_for_ms(5), 0, "run");
	is_int(calls, 3, "no call");
	sbx_loop_mod(loop, watch[0], EPOLLIN);
	close(ends[1]);
	is_int(sbx_loop_run(loop, &err), 0, "run to the end of file");
	is_int(calls, 4, "the byte came first");
	sbx_loop_del(loop, watch[0]);
	close(ends[0]);

	ok(sbx_loop_add(loop, file, EPOLLIN, read_byte, NULL, &err) == NULL, "a regular file");
	is_int(err.sys, EPERM, "cannot be watched");
	is_int(err.code, SBX_E_IO, "that is an I/O error");

	calls = 0;
	if (!ok(pipe2(ends, O_CLOEXEC) == 0, "a pipe"))
		return;
	is_int(write(ends[1], "x", 1), 1, "that is ready");
	watch[0] = sbx_loop_add(loop, ends[0], EPOLLIN, delete_all, NULL, &err);
	watch[1] = sbx_loop_add(loop, ends[1], EPOLLOUT, delete_all, NULL, &err);
	i = fcntl(ends[1], F_DUPFD_CLOEXEC, 0);
	watch[2] = sbx_loop_add(loop, i, EPOLLOUT, delete_all, NULL, &err);
	is_int(run_for_ms(5), 0, "run");
	is_int(calls, 1, "a callback removes itself and two that were ready");
	close(i);
	close(ends[0]);
	close(ends[1]);
}

static void
stop_on_event(void *arg, uint32_t events)
{
	(void)events;
	stop(arg);
}

static void
note(void *arg)
{
	const int *number = arg;

	order[calls++] = *number;
}

static void
cancel_other(void *arg)
{
	(void)arg;
	sbx_loop_cancel(loop, other);
}

static void
again(void *arg)
{
	int *left = arg;

	calls++;
	sbx_loop_mod(loop, watch[0], EPOLLOUT); /* from now on there is something else to do */
	if (--*left > 0 && sbx_loop_at(loop, 0, again, left) == NULL)
		abort();
}

static void
test_timers(void)
{
	static int numbers[60];
	struct sbx_loop_timer *timers[60], *first;
	int64_t now = sbx_clock_mono_us(), start;
	struct sbx_err err = { 0 };
	int i, wrong = 0, left = 100, ends[2];

	if (!ok(pipe2(ends, O_CLOEXEC) == 0, "a pipe"))
		return;

	calls = 0;
	for (i = 0; i < 60; i++) {
		numbers[i] = i;
		/* 17 is prime to 20: all orders of insertion; three timers share each instant */
		timers[i] = sbx_loop_at(loop, now + 1000 + i * 17 % 20 * 100, note, &numbers[i]);
	}
	for (i = 0; i < 60; i += 3)
		sbx_loop_cancel(loop, timers[i]);
	sbx_loop_cancel(loop, NULL);
	is_int(run_for_ms(20), 0, "run");
	is_int(calls, 40, "cancelled ones do not fire, others do once");
	for (i = 1; i < calls; i++) {
		int a = order[i - 1], b = order[i];

		wrong += a % 3 == 0 || a * 17 % 20 > b * 17 % 20 ||
			(a * 17 % 20 == b * 17 % 20 && a > b);
	}
	is_int(wrong, 0, "by time, then as they were made");

	calls = 0;
	now = sbx_clock_mono_us();
	first = sbx_loop_at(loop, now + 100, cancel_other, NULL);
	other = sbx_loop_at(loop, now + 100, note, &numbers[0]);
	is_int(run_for_ms(5), 0, "run");
	ok(first != NULL && calls == 0, "one that is due is cancelled by another");

	ok(sbx_loop_at(loop, 0, again, &left) != NULL, "one that sets the next in the past");
	watch[0] = sbx_loop_add(loop, ends[1], 0, stop_on_event, NULL, &err);
	is_int(sbx_loop_run(loop, &err), 0, "run until a descriptor is served");
	ok(calls < 5, "it does not keep descriptors waiting");
	calls = 0;
	left = 1;
	sbx_loop_mod(loop, watch[0], 0);
	is_int(sbx_loop_run(loop, &err), 0, "run again");
	is_int(calls, 1, "and fires the next time");
	sbx_loop_del(loop, watch[0]);
	close(ends[0]);
	close(ends[1]);

	start = sbx_clock_mono_us();
	is_int(run_for_ms(30), 0, "run");
	now = sbx_clock_mono_us() - start;
	ok(now >= 30000 && now < 1000000, "never early: %lld us", (long long)now);
}

static void
take_signal(void *arg, const struct signalfd_siginfo *info)
{
	int *last = arg;

	*last = (int)info->ssi_signo;
	calls++;
	if (info->ssi_signo == SIGUSR2)
		sbx_loop_stop(loop);
}

static void
test_signals(void)
{
	struct sbx_err err = { 0 };
	int last = 0;
	sigset_t set;

	calls = 0;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	is_int(sbx_loop_signals(loop, &set, take_signal, &last, &err), 0, "take signals");
	is_int(sbx_loop_signals(loop, &set, take_signal, &last, &err), -1, "once");
	is_str(err.msg, "a loop takes signals once", "it says so");
	ok(kill(getpid(), SIGUSR1) == 0 && kill(getpid(), SIGUSR2) == 0, "two signals");
	is_int(sbx_loop_run(loop, &err), 0, "run until one stops it");
	is_int(calls, 2, "both came");
	is_int(last, SIGUSR2, "in order");
}

int
main(void)
{
	struct sbx_err err = { 0 };
	int ends[2];

	loop = sbx_loop_make(&err);
	if (!ok(loop != NULL, "a loop"))
		return done();
	test_descriptors();
	test_timers();
	test_signals();
	sbx_loop_stop(loop);
	is_int(sbx_loop_run(loop, &err), 0, "stopped before it runs");
	ok(pipe2(ends, O_CLOEXEC) == 0 &&
			sbx_loop_add(loop, ends[0], EPOLLIN, read_byte, NULL, &err) != NULL &&
			sbx_loop_at(loop, INT64_MAX, stop, NULL) != NULL,
		"things that are left");
	sbx_loop_free(loop);
	sbx_loop_free(NULL);
	ok(fcntl(ends[0], F_GETFD) >= 0, "a watched descriptor stays its owner's");
	close(ends[0]);
	close(ends[1]);
	return done();
}
