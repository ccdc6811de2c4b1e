/*
 * Whether the channel still lives. docker 20.10 keeps the exec of a gVisor sandbox that is gone, and
 * mostly says nothing. So while commands run and nothing was heard for a while, the inside is asked;
 * if no answer comes either, the engine is asked whether the container runs. One that is only busy
 * is left alone.
 */
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "mech/docker/session.h"

#define QUIET_MS 2000
#define ANSWER_MS 3000

static void
arm(struct sbx_session *session, int on)
{
	const struct itimerspec every = { .it_interval.tv_sec = on, .it_value.tv_sec = on };

	if (session->beating == on)
		return;
	session->beating = on;
	(void)timerfd_settime(session->pulse_fd, 0, &every, NULL); /* it cannot fail */
}

int
sbx_pulse_open(struct sbx_session *session)
{
	session->pulse_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (session->pulse_fd < 0)
		return -1;
	return sbx_session_watch(session, session->pulse_fd, EPOLLIN, 0, SBX_PART_PULSE);
}

void
sbx_pulse_start(struct sbx_session *session)
{
	if (session->beating)
		return;
	session->heard_ms = sbx_clock_mono_ms();
	session->asked_ms = 0;
	arm(session, 1);
}

static void
ask(struct sbx_session *session, int64_t now_ms)
{
	if (sbx_frames_add(&session->link.frames, SBX_CHAN_PING, 0, 0, NULL, 0) == 0)
		session->asked_ms = now_ms;
}

void
sbx_pulse_beat(struct sbx_session *session)
{
	int64_t now_ms = sbx_clock_mono_ms();
	uint64_t beats;

	if (read(session->pulse_fd, &beats, sizeof(beats)) < 0)
		return;
	if (!session->link.up || !sbx_session_runs(session)) {
		arm(session, 0);
		return;
	}
	if (session->asked_ms == 0 && now_ms - session->heard_ms >= QUIET_MS) {
		ask(session, now_ms);
	} else if (session->asked_ms != 0 && now_ms - session->asked_ms >= ANSWER_MS) {
		session->heard_ms = now_ms;
		session->asked_ms = 0;
		if (sbx_restart_has_stopped(&session->restart, 0))
			sbx_session_lose(session, 0);
	}
}
