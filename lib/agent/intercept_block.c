// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Calls in which a thread sleeps, or waits for the world outside: BLOCK says
 * that what it did before has happened, whoever runs next. One row each;
 * calls inside libc (system(), getline()) are not seen. To sleep for no time is
 * to yield: with a real-time priority it returns at once.
 */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include "intercept.h"

#define SLEEPING(type, name, params, args, yields)                             \
	MAPLE_REAL(name);                                                      \
	MAPLE_EXPORT type name params                                          \
	{                                                                      \
		if (maple_agent_on() && (yields))                              \
			maple_agent_yield();                                   \
		else if (maple_agent_on())                                     \
			maple_agent_note(MAPLE_EV_BLOCK, SITE(MAPLE_EV_BLOCK), \
					 NULL, 0, 0, 0);                       \
		return REAL(name) args;                                        \
	}
#define BLOCKING(type, name, params, args) \
	SLEEPING(type, name, params, args, false)

typedef const struct timespec *time_in_t;
typedef struct timespec *time_out_t;

static bool is_no_time(time_in_t t)
{
	return t && !t->tv_sec && !t->tv_nsec;
}

SLEEPING(unsigned int, sleep, (unsigned int seconds), (seconds), !seconds)
SLEEPING(int, usleep, (useconds_t us), (us), !us)
SLEEPING(int, nanosleep, (time_in_t t, time_out_t left), (t, left),
	 is_no_time(t))
SLEEPING(int, clock_nanosleep,
	 (clockid_t clock, int flags, time_in_t t, time_out_t left),
	 (clock, flags, t, left), is_no_time(t))
SLEEPING(int, thrd_sleep, (time_in_t t, time_out_t left), (t, left),
	 is_no_time(t))
BLOCKING(int, pause, (void), ())

BLOCKING(int, poll, (struct pollfd * fds, nfds_t n, int ms), (fds, n, ms))
BLOCKING(int, ppoll,
	 (struct pollfd * fds, nfds_t n, time_in_t t, const sigset_t *mask),
	 (fds, n, t, mask))
BLOCKING(int, select,
	 (int n, fd_set *r, fd_set *w, fd_set *x, struct timeval *t),
	 (n, r, w, x, t))
BLOCKING(int, pselect,
	 (int n, fd_set *r, fd_set *w, fd_set *x, time_in_t t,
	  const sigset_t *mask),
	 (n, r, w, x, t, mask))
BLOCKING(int, epoll_wait, (int fd, struct epoll_event *e, int n, int ms),
	 (fd, e, n, ms))
BLOCKING(int, epoll_pwait,
	 (int fd, struct epoll_event *e, int n, int ms, const sigset_t *mask),
	 (fd, e, n, ms, mask))

BLOCKING(ssize_t, read, (int fd, void *buf, size_t n), (fd, buf, n))
BLOCKING(ssize_t, recv, (int fd, void *buf, size_t n, int flags),
	 (fd, buf, n, flags))

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
