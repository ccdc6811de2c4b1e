/*
 * The event loop. Callbacks may remove any registration, also one whose event is already fetched,
 * so a removed one is only marked and kept until the batch is over. Timers are a binary heap; those
 * of one instant fire in the order they were made. Never closes or reads a descriptor that it was
 * given.
 */
#include "base/loop.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/scoped.h"

#define BATCH 32

struct sbx_loop_io {
	sbx_loop_io_fn *fn;
	void *arg;
	int fd;
	int dead;
	struct sbx_loop_io *next, **link; /* in loop->ios, or in loop->dead */
};

struct sbx_loop_timer {
	sbx_loop_timer_fn *fn;
	void *arg;
	int64_t at_us;
	uint64_t serial; /* order among equal times */
	size_t place; /* in loop->timers */
};

struct sbx_loop {
	int epoll_fd, signal_fd; /* -1: no signals */
	int stopped;
	struct sbx_loop_io *ios, *dead;
	struct sbx_loop_timer **timers; /* a heap, the next to fire first */
	size_t timer_count, timer_room;
	uint64_t serial;
	sbx_loop_signal_fn *signal_fn;
	void *signal_arg;
};

static void
link_io(struct sbx_loop_io **list, struct sbx_loop_io *io)
{
	io->next = *list;
	io->link = list;
	if (io->next != NULL)
		io->next->link = &io->next;
	*list = io;
}

static void
unlink_io(struct sbx_loop_io *io)
{
	*io->link = io->next;
	if (io->next != NULL)
		io->next->link = io->link;
}

static void
free_ios(struct sbx_loop_io **list)
{
	struct sbx_loop_io *io;

	while ((io = *list) != NULL) {
		*list = io->next;
		free(io);
	}
}

struct sbx_loop *
sbx_loop_make(struct sbx_err *err)
{
	struct sbx_loop *loop;
	int fd = epoll_create1(EPOLL_CLOEXEC);

	if (fd < 0) {
		sbx_fail_sys(err, SBX_E_IO, "make an epoll instance");
		return NULL;
	}
	loop = sbx_mem_alloc(1, sizeof(*loop));
	loop->epoll_fd = fd;
	loop->signal_fd = -1;
	return loop;
}

void
sbx_loop_free(struct sbx_loop *loop)
{
	size_t i;

	if (loop == NULL)
		return;
	sbx_scoped_close(&loop->epoll_fd);
	sbx_scoped_close(&loop->signal_fd);
	free_ios(&loop->ios);
	free_ios(&loop->dead);
	for (i = 0; i < loop->timer_count; i++)
		free(loop->timers[i]);
	free(loop->timers);
	free(loop);
}

struct sbx_loop_io *
sbx_loop_add(struct sbx_loop *loop, int fd, uint32_t events, sbx_loop_io_fn *fn, void *arg,
	struct sbx_err *err)
{
	struct sbx_loop_io *io = sbx_mem_alloc(1, sizeof(*io));
	struct epoll_event event = { .events = events, .data.ptr = io };

	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
		sbx_fail_sys(err, SBX_E_IO, "watch descriptor %d", fd);
		free(io);
		return NULL;
	}
	io->fd = fd;
	io->fn = fn;
	io->arg = arg;
	link_io(&loop->ios, io);
	return io;
}

void
sbx_loop_mod(struct sbx_loop *loop, struct sbx_loop_io *io, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = io };

	/* Fails only for a descriptor that its owner closed: there is nothing to watch then. */
	epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, io->fd, &event);
}

void
sbx_loop_del(struct sbx_loop *loop, struct sbx_loop_io *io)
{
	if (io == NULL || io->dead)
		return;
	epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, io->fd, NULL);
	io->dead = 1;
	unlink_io(io);
	link_io(&loop->dead, io);
}

static int
is_before(const struct sbx_loop_timer *a, const struct sbx_loop_timer *b)
{
	return a->at_us != b->at_us ? a->at_us < b->at_us : a->serial < b->serial;
}

static void
put_timer(struct sbx_loop *loop, size_t place, struct sbx_loop_timer *timer)
{
	loop->timers[place] = timer;
	timer->place = place;
}

/* Let the timer find its place in the heap, beginning at a free one: up, then down. */
static void
settle(struct sbx_loop *loop, size_t place, struct sbx_loop_timer *timer)
{
	size_t next;

	while (place > 0 && is_before(timer, loop->timers[(place - 1) / 2])) {
		put_timer(loop, place, loop->timers[(place - 1) / 2]);
		place = (place - 1) / 2;
	}
	while ((next = 2 * place + 1) < loop->timer_count) {
		if (next + 1 < loop->timer_count &&
			is_before(loop->timers[next + 1], loop->timers[next]))
			next++;
		if (!is_before(loop->timers[next], timer))
			break;
		put_timer(loop, place, loop->timers[next]);
		place = next;
	}
	put_timer(loop, place, timer);
}

struct sbx_loop_timer *
sbx_loop_at(struct sbx_loop *loop, int64_t mono_us, sbx_loop_timer_fn *fn, void *arg)
{
	struct sbx_loop_timer *timer = sbx_mem_alloc(1, sizeof(*timer));

	if (loop->timer_count == loop->timer_room) {
		loop->timer_room = loop->timer_room == 0 ? 16 : loop->timer_room * 2;
		loop->timers = sbx_mem_grow(loop->timers, loop->timer_room,
			sizeof(struct sbx_loop_timer *));
	}
	*timer = (struct sbx_loop_timer){ fn, arg, mono_us, loop->serial++, 0 };
	loop->timers[loop->timer_count] = timer;
	settle(loop, loop->timer_count++, timer);
	return timer;
}

void
sbx_loop_cancel(struct sbx_loop *loop, struct sbx_loop_timer *timer)
{
	struct sbx_loop_timer *last;

	if (timer == NULL)
		return;
	last = loop->timers[--loop->timer_count];
	if (last != timer)
		settle(loop, timer->place, last);
	free(timer);
}

static void
read_signals(void *arg, uint32_t events)
{
	struct sbx_loop *loop = arg;
	struct signalfd_siginfo info;

	(void)events;
	while (!loop->stopped &&
		read(loop->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		loop->signal_fn(loop->signal_arg, &info);
}

int
sbx_loop_signals(struct sbx_loop *loop, const sigset_t *set, sbx_loop_signal_fn *fn, void *arg,
	struct sbx_err *err)
{
	if (loop->signal_fd >= 0)
		return sbx_fail(err, SBX_E_INTERNAL, "a loop takes signals once");
	if (sigprocmask(SIG_BLOCK, set, NULL) < 0)
		return sbx_fail_sys(err, SBX_E_IO, "block signals");
	loop->signal_fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (loop->signal_fd < 0)
		return sbx_fail_sys(err, SBX_E_IO, "make a signal descriptor");
	loop->signal_fn = fn;
	loop->signal_arg = arg;
	if (sbx_loop_add(loop, loop->signal_fd, EPOLLIN, read_signals, loop, err) == NULL)
		return -1;
	return 0;
}

/* Milliseconds to the next timer, rounded up so that we never wake early and spin; -1: none. */
static int
next_timeout(const struct sbx_loop *loop)
{
	int64_t left_us;

	if (loop->timer_count == 0)
		return -1;
	left_us = loop->timers[0]->at_us - sbx_clock_mono_us();
	if (left_us <= 0)
		return 0;
	return left_us >= INT64_C(3600000000) ? 3600000 : (int)((left_us + 999) / 1000);
}

/* Only timers that were there at the start: one that sets the next cannot starve descriptors. */
static void
fire_timers(struct sbx_loop *loop)
{
	int64_t now = sbx_clock_mono_us();
	uint64_t serial = loop->serial;
	struct sbx_loop_timer due;

	while (!loop->stopped && loop->timer_count > 0 && loop->timers[0]->at_us <= now &&
		loop->timers[0]->serial < serial) {
		due = *loop->timers[0];
		sbx_loop_cancel(loop, loop->timers[0]);
		due.fn(due.arg);
	}
}

int
sbx_loop_run(struct sbx_loop *loop, struct sbx_err *err)
{
	struct epoll_event events[BATCH];
	const struct sbx_loop_io *io;
	int count, i;

	while (!loop->stopped) {
		count = epoll_wait(loop->epoll_fd, events, BATCH, next_timeout(loop));
		if (count < 0 && errno != EINTR)
			return sbx_fail_sys(err, SBX_E_IO, "wait for events");
		for (i = 0; i < count && !loop->stopped; i++) {
			io = events[i].data.ptr;
			if (!io->dead)
				io->fn(io->arg, events[i].events);
		}
		free_ios(&loop->dead);
		fire_timers(loop);
		free_ios(&loop->dead);
	}
	loop->stopped = 0; /* it may be run again */
	return 0;
}

void
sbx_loop_stop(struct sbx_loop *loop)
{
	loop->stopped = 1;
}
