/*
 * A small event loop over epoll: descriptors, absolute monotonic timers, signals by signalfd. One
 * thread; callbacks may add and remove anything, themselves included.
 */
#ifndef SBX_BASE_LOOP_H
#define SBX_BASE_LOOP_H

#include <signal.h>
#include <stdint.h>

#include "base/err.h"

struct sbx_loop;
struct sbx_loop_io; /* a registration; owned by the loop, valid until removed */
struct sbx_loop_timer;

typedef void sbx_loop_io_fn(void *arg, uint32_t epoll_events);
typedef void sbx_loop_timer_fn(void *arg);
struct signalfd_siginfo;

typedef void sbx_loop_signal_fn(void *arg, const struct signalfd_siginfo *info);

struct sbx_loop *sbx_loop_make(struct sbx_err *err) __attribute__((warn_unused_result));
void sbx_loop_free(struct sbx_loop *loop); /* closes none of the registered descriptors */

/*
 * Watch fd (borrowed) for EPOLLIN, EPOLLOUT, ...; level-triggered. NULL with err on failure
 * (EPERM: a regular file is always ready and cannot be watched).
 */
struct sbx_loop_io *sbx_loop_add(struct sbx_loop *loop, int fd, uint32_t events, sbx_loop_io_fn *fn,
	void *arg, struct sbx_err *err) __attribute__((warn_unused_result));
void sbx_loop_mod(struct sbx_loop *loop, struct sbx_loop_io *io, uint32_t events);
/* NULL is fine. Before the descriptor is closed: else epoll goes on watching a copy of it. */
void sbx_loop_del(struct sbx_loop *loop, struct sbx_loop_io *io);

/* One shot at an absolute time of sbx_clock_mono_us(); the handle is gone once it fired. */
struct sbx_loop_timer *sbx_loop_at(struct sbx_loop *loop, int64_t mono_us, sbx_loop_timer_fn *fn,
	void *arg) __attribute__((warn_unused_result));
void sbx_loop_cancel(struct sbx_loop *loop, struct sbx_loop_timer *timer); /* NULL is fine */

/* Block these signals in the process and deliver them here instead. Once a loop. */
int sbx_loop_signals(struct sbx_loop *loop, const sigset_t *set, sbx_loop_signal_fn *fn, void *arg,
	struct sbx_err *err) __attribute__((warn_unused_result));

/* Run until sbx_loop_stop(): 0, or -1 with err if epoll itself failed. */
int sbx_loop_run(struct sbx_loop *loop, struct sbx_err *err) __attribute__((warn_unused_result));
void sbx_loop_stop(struct sbx_loop *loop);

#endif
