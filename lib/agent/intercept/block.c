// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Calls in which a thread sleeps, or waits for the world outside: BLOCK says
 * that what it did before has happened, whoever runs next. One row each;
 * calls inside libc (system(), getline()) are not seen. To sleep for no time is
 * to yield: with a real-time priority it returns at once.
 *
 * In a controlled run that has a time of its own, who sleeps stands at a point,
 * and who looks whether something has come by a certain time looks before and
 * after it. A signal handler that runs there ends either (sleepers.c). What may
 * come from outside (standard input; a socket, with which time is the
 * machine's) is waited for as ever.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include "intercept.h"

#define MS 1000000ll

enum slept {
	NOT, /* time is not the run's own */
	OVER,
	CUT, /* short, by a signal */
};

static enum slept sleeps(uint32_t site, uint64_t until)
{
	bool early, handled;

	maple_agent_note(MAPLE_EV_BLOCK, site, NULL, 0, 0, 0);
	if (!until)
		return NOT;
	maple_sleepers_begin();
	early = maple_agent_await(site, MAPLE_EV_BLOCK, NULL,
				  MAPLE_PEEK_SLEEPER, until);
	handled = maple_sleepers_end();
	pthread_testcancel();
	return early && handled ? CUT : OVER;
}

/*
 * @until: in the run's time, if it has one and that will do; else 0. @cut: what
 * it returns when a signal comes before @end, which is that.
 */
#define SLEEPING(type, name, params, args, yields, until, cut)       \
	MAPLE_REAL(name);                                            \
	MAPLE_EXPORT type name params                                \
	{                                                            \
		uint64_t end;                                        \
                                                                     \
		if (maple_agent_on() && (yields)) {                  \
			maple_agent_yield();                         \
		} else if (maple_agent_on()) {                       \
			end = until;                                 \
			switch (sleeps(SITE(MAPLE_EV_BLOCK), end)) { \
			case OVER:                                   \
				return 0;                            \
			case CUT:                                    \
				return cut;                          \
			case NOT:                                    \
				break;                               \
			}                                            \
		}                                                    \
		return REAL(name) args;                              \
	}
#define BLOCKING(type, name, params, args) \
	SLEEPING(type, name, params, args, false, 0, 0)

typedef const struct timespec *time_in_t;
typedef struct timespec *time_out_t;

static bool is_no_time(time_in_t t)
{
	return t && !t->tv_sec && !t->tv_nsec;
}

static bool is_time(time_in_t t)
{
	return t && t->tv_sec >= 0 && t->tv_nsec >= 0 && t->tv_nsec < 1000 * MS;
}

static uint64_t in(uint64_t ns)
{
	return maple_time_own() ? maple_time_in(ns) : 0;
}

static uint64_t in_time(time_in_t t)
{
	return is_time(t) ? in(t->tv_sec * 1000 * MS + t->tv_nsec) : 0;
}

/* CPU time does not go by for who sleeps. */
static uint64_t at_time(clockid_t clock, int flags, time_in_t t)
{
	if (!maple_time_own() || !is_time(t) ||
	    (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC &&
	     clock != CLOCK_BOOTTIME))
		return 0;
	return flags & TIMER_ABSTIME ? maple_time_at(clock, t) : in_time(t);
}

static int interrupted(void)
{
	errno = EINTR;
	return -1;
}

/* @left: what is to be told of the time up to @end, or NULL. */
static int interrupted_before(uint64_t end, time_out_t left)
{
	uint64_t ns = maple_time_left(end);

	if (left) {
		left->tv_sec = ns / (1000 * MS);
		left->tv_nsec = ns % (1000 * MS);
	}
	return interrupted();
}

/* What clock_nanosleep() hands on. */
static time_in_t outside(clockid_t clock, int flags, time_in_t t,
			 time_out_t room)
{
	return flags & TIMER_ABSTIME ? maple_time_real(clock, t, room) : t;
}

SLEEPING(unsigned int, sleep, (unsigned int seconds), (seconds), !seconds,
	 in(seconds * 1000 * MS), maple_time_left(end) / (1000 * MS))
SLEEPING(int, usleep, (useconds_t us), (us), !us, in(us * 1000ll), interrupted())
SLEEPING(int, nanosleep, (time_in_t t, time_out_t left), (t, left),
	 is_no_time(t), in_time(t), interrupted_before(end, left))
SLEEPING(int, clock_nanosleep,
	 (clockid_t clock, int flags, time_in_t t, time_out_t left),
	 (clock, flags, outside(clock, flags, t, &(struct timespec){ 0 }), left),
	 is_no_time(t), at_time(clock, flags, t),
	 (interrupted_before(end, flags &TIMER_ABSTIME ? NULL : left), EINTR))
SLEEPING(int, thrd_sleep, (time_in_t t, time_out_t left), (t, left),
	 is_no_time(t), in_time(t), interrupted_before(end, left))
BLOCKING(int, pause, (void), ())

/* Whether none of them is standard input, output or error. */
static bool are_inside(const struct pollfd *fds, nfds_t n)
{
	for (nfds_t i = 0; i < n; i++)
		if (fds[i].fd >= 0 && fds[i].fd <= STDERR_FILENO)
			return false;
	return true;
}

/* As SLEEPING; @now: the same call, which looks and does not wait. */
#define LOOKING(type, name, params, args, until, now)                  \
	MAPLE_REAL(name);                                              \
	MAPLE_EXPORT type name params                                  \
	{                                                              \
		uint64_t end = maple_time_own() ? (until) : 0;         \
		enum slept slept;                                      \
		type ret;                                              \
                                                                       \
		if (!maple_agent_on())                                 \
			return REAL(name) args;                        \
		if (end) {                                             \
			ret = REAL(name) now;                          \
			if (ret != 0)                                  \
				return ret;                            \
		}                                                      \
		slept = sleeps(SITE(MAPLE_EV_BLOCK), end);             \
		if (slept == NOT)                                      \
			return REAL(name) args;                        \
		ret = REAL(name) now;                                  \
		return ret == 0 && slept == CUT ? interrupted() : ret; \
	}

static const struct timespec no_time;

LOOKING(int, poll, (struct pollfd * fds, nfds_t n, int ms), (fds, n, ms),
	ms > 0 && are_inside(fds, n) ? in(ms * MS) : 0, (fds, n, 0))
LOOKING(int, ppoll,
	(struct pollfd * fds, nfds_t n, time_in_t t, const sigset_t *mask),
	(fds, n, t, mask), are_inside(fds, n) && !mask ? in_time(t) : 0,
	(fds, n, &no_time, mask))
SLEEPING(int, select,
	 (int n, fd_set *r, fd_set *w, fd_set *x, struct timeval *t),
	 (n, r, w, x, t), false,
	 !r && !w && !x && t ? in(t->tv_sec * 1000 * MS + t->tv_usec * 1000) : 0,
	 interrupted())
SLEEPING(int, pselect,
	 (int n, fd_set *r, fd_set *w, fd_set *x, time_in_t t,
	  const sigset_t *mask),
	 (n, r, w, x, t, mask), false, !r && !w && !x && !mask ? in_time(t) : 0,
	 interrupted())
LOOKING(int, epoll_wait, (int fd, struct epoll_event *e, int n, int ms),
	(fd, e, n, ms), ms > 0 ? in(ms * MS) : 0, (fd, e, n, 0))
LOOKING(int, epoll_pwait,
	(int fd, struct epoll_event *e, int n, int ms, const sigset_t *mask),
	(fd, e, n, ms, mask), ms > 0 && !mask ? in(ms * MS) : 0,
	(fd, e, n, 0, mask))

MAPLE_REAL(read);

MAPLE_EXPORT ssize_t read(int fd, void *buf, size_t n)
{
	ssize_t got;

	if (maple_agent_on())
		maple_agent_note(MAPLE_EV_BLOCK, SITE(MAPLE_EV_BLOCK), NULL, 0,
				 0, 0);
	got = REAL(read)(fd, buf, n);
	maple_signals_read(fd, buf, got);
	return got;
}

BLOCKING(ssize_t, recv, (int fd, void *buf, size_t n, int flags),
	 (fd, buf, n, flags))

MAPLE_REAL(socket);

MAPLE_EXPORT int socket(int domain, int type, int protocol)
{
	maple_time_machine();
	return REAL(socket)(domain, type, protocol);
}

/* A server serves from its first connection on. */
static int accepted(int fd, const void *caller)
{
	static bool serves;

	if (fd >= 0 && !serves && maple_agent_on()) {
		serves = true;
		maple_agent_note(MAPLE_EV_SERVE,
				 maple_agent_call(caller, MAPLE_EV_SERVE), NULL,
				 0, 0, 0);
	}
	return fd;
}

#define ACCEPTING(name, params, args)                                          \
	MAPLE_REAL(name);                                                      \
	MAPLE_EXPORT int name params                                           \
	{                                                                      \
		if (maple_agent_on())                                          \
			maple_agent_note(MAPLE_EV_BLOCK, SITE(MAPLE_EV_BLOCK), \
					 NULL, 0, 0, 0);                       \
		return accepted(REAL(name) args, CALLER);                      \
	}

ACCEPTING(accept4, (int fd, __SOCKADDR_ARG a, socklen_t *len, int flags),
	  (fd, a, len, flags))
ACCEPTING(accept, (int fd, __SOCKADDR_ARG a, socklen_t *len), (fd, a, len))

BLOCKING(pid_t, wait, (int *status), (status))
BLOCKING(pid_t, waitpid, (pid_t pid, int *status, int options),
	 (pid, status, options))
