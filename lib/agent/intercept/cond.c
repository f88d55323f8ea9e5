// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Condition variables of POSIX and C11.
 *
 * A wait releases its mutex at entry and takes it back before it returns,
 * both at the wait's call site: UNLOCK, WAIT, BLOCK, the wait itself, WAKE,
 * LOCK; an enforced run's plan may name WAIT and the signals, as SLEEP and
 * NOTIFY. The release is reported as done right before the wait, since nothing
 * can be told from inside it; on one CPU nobody sees the difference: a thread
 * that the automaton lets run for this mutex blocks on it until we are in.
 * That it is taken back cannot be announced, so only after() is called.
 *
 * A cancelled wait has the mutex again when its handlers run: the same end,
 * by a cleanup handler.
 *
 * In a controlled run (algorithms.md 10, rule 9) the wait is at a point, its
 * end is one, and so is the taking back, where others may be chosen first. A
 * waiter stands on a list (waiters.c) and does not sleep. If nobody can go on,
 * or the condition is shared with other processes, or time is the machine's,
 * the wait is libc's: with a mutex of the thread's own, the stand-in, and a
 * point before it locks the program's. From before the one is released until
 * the thread sleeps nobody comes between. Where a run was let go somebody
 * might: there who is on the list and neither woken nor out of time wakes for
 * nothing, and what cannot be on it is libc's, with the program's mutex.
 */
#include <errno.h>
#include <pthread.h>
#include <threads.h>
#include <time.h>
#include "intercept.h"

#define COND_VERSION "GLIBC_2.3.2"

struct wait {
	uint32_t site;
	const void *cond;
	const void *mutex;
	unsigned int flags;    /* of WAIT */
	uint64_t until;	       /* in the run's time; 0: no end */
	bool listed;	       /* it is on the list */
	bool left;	       /* the program's mutex was let go */
	enum ending {	       /* of the wait on the list */
		      IN_LIBC, /* there was none, or it goes on in libc */
		      WOKEN,
		      TIMED_OUT
	} ending;
	const void *with; /* mutex, or the stand-in */
	int error;	  /* of letting go of mutex, or taking it back */
};

/* Bits of glibc's __wrefs. */
#define COND_SHARED    1u
#define COND_MONOTONIC 2u

MAPLE_REAL(pthread_mutex_lock);
MAPLE_REAL(pthread_mutex_unlock);

static __thread pthread_mutex_t stand_in
	__attribute__((tls_model("initial-exec"))) = PTHREAD_MUTEX_INITIALIZER;

/* TIMEOUT stands for every end without a signal. */
static void wait_end(const struct wait *w, bool signalled, bool locked)
{
	maple_agent_note(MAPLE_EV_WAKE, w->site, w->cond, 0,
			 signalled ? 0 : MAPLE_EVF_TIMEOUT, 0);
	if (locked)
		maple_agent_after(w->site, MAPLE_EV_LOCK, w->mutex, 1, 0, true);
}

static unsigned int bits_of(const void *cond)
{
	return ((const pthread_cond_t *)cond)->__data.__wrefs;
}

static int clock_of(const void *cond)
{
	return bits_of(cond) & COND_MONOTONIC ? CLOCK_MONOTONIC
					      : CLOCK_REALTIME;
}

static void take_stand_in(struct wait *w)
{
	maple_agent_above();
	REAL(pthread_mutex_lock)(&stand_in);
	w->with = &stand_in;
}

/* Lets go of the program's mutex, if it can. */
static void leave_mutex(struct wait *w)
{
	if (w->listed)
		maple_waiters_begin(w->cond);
	else
		take_stand_in(w);
	w->error = REAL(pthread_mutex_unlock)((pthread_mutex_t *)w->mutex);
	w->left = !w->error;
	if (w->left)
		return;
	if (w->listed) {
		maple_waiters_end();
	} else {
		REAL(pthread_mutex_unlock)(&stand_in);
		maple_agent_back();
	}
}

/* Takes it back; if it @slept, others may come first. */
static void take_mutex(struct wait *w, bool slept)
{
	pthread_mutex_t *mutex = (pthread_mutex_t *)w->mutex;
	bool slow = w->with == &stand_in;

	if (slow)
		REAL(pthread_mutex_unlock)(&stand_in);
	if (slept) {
		if (slow)
			maple_agent_back();
		maple_agent_point(w->site, MAPLE_EV_LOCK, mutex,
				  MAPLE_PEEK_MUTEX);
	}
	w->error = REAL(pthread_mutex_lock)(mutex);
	if (!slept && slow)
		maple_agent_back();
}

static void wait_listed(struct wait *w)
{
	bool there;

	/* Let go, it comes back now and then to be cancelled. */
	do {
		pthread_testcancel();
		there = maple_agent_await(w->site, MAPLE_EV_WAKE, w->cond,
					  MAPLE_PEEK_WAITER, w->until);
	} while (!there && !maple_control_decides() && !maple_agent_sealed &&
		 !(w->until && !maple_time_left(w->until)));
	w->listed = false;
	if (maple_waiters_end()) {
		w->ending = WOKEN;
		return;
	}
	pthread_testcancel();
	if (w->until && (maple_control_decides() || !maple_time_left(w->until)))
		w->ending = TIMED_OUT;
	else if (!maple_control_decides())
		w->ending = WOKEN;
	else
		take_stand_in(w);
}

/* Whether the list will do, until @t of @clock; NULL: for good. */
static void choose_list(struct wait *w, int clock, const struct timespec *t)
{
	w->listed = maple_agent_controls && !(bits_of(w->cond) & COND_SHARED) &&
		    (!t || (w->until = maple_time_until(clock, t)));
}

static void wait_begin(struct wait *w)
{
	maple_agent_point(w->site, MAPLE_EV_WAIT, w->cond, MAPLE_PEEK_NONE);
	maple_agent_before(w->site, MAPLE_EV_UNLOCK, w->mutex, 1, 0);
	maple_agent_after(w->site, MAPLE_EV_UNLOCK, w->mutex, 1, 0, true);
	maple_agent_condition(w->site, MAPLE_EV_SLEEP, w->cond, false);
	maple_agent_note(MAPLE_EV_WAIT, w->site, w->cond, 0, w->flags, 0);
	maple_agent_condition(w->site, MAPLE_EV_SLEEP, w->cond, true);
	maple_agent_note(MAPLE_EV_BLOCK, w->site, NULL, 0, 0, 0);
	w->with = w->mutex;
	if (w->listed || maple_control_decides())
		leave_mutex(w);
}

static void wait_cancelled(void *arg)
{
	struct wait *w = arg;

	if (w->listed)
		maple_waiters_end();
	if (w->left)
		take_mutex(w, true);
	wait_end(w, false, true);
}

/*
 * A wait that fails for its arguments (EINVAL) has not let go of the mutex;
 * the two others mean that the caller does not own it.
 */
static bool posix_locked(int ret)
{
	return ret != EPERM && ret != ENOTRECOVERABLE;
}

static bool c11_locked(int ret)
{
	return true;
}

/* What went wrong with the mutex is what the wait returns, as in libc. */
static int posix_result(int ret, int mutex)
{
	return mutex ? mutex : ret;
}

static int c11_result(int ret, int mutex)
{
	return mutex ? thrd_error : ret;
}

#define posix_timed_out ETIMEDOUT
#define c11_timed_out	thrd_timedout

static bool posix_slept(int ret)
{
	return ret != EINVAL;
}

static bool c11_slept(int ret)
{
	return ret != thrd_error;
}

/*
 * @clock and @t: until when, NULL for good. The arguments behind the mutex come
 * last, as libc is to have them.
 */
#define WAIT(name, version, params, flags, std, clock, t, ...)                  \
	MAPLE_REAL_VERSION(name, version);                                      \
	MAPLE_EXPORT int name params                                            \
	{                                                                       \
		struct timespec room __attribute__((unused));                   \
		struct wait w;                                                  \
		int ret;                                                        \
                                                                                \
		if (!maple_agent_on())                                          \
			return REAL(name)(c, m, ##__VA_ARGS__);                 \
		w = (struct wait){ SITE(MAPLE_EV_UNLOCK), c, m, flags };        \
		choose_list(&w, clock, t);                                      \
		wait_begin(&w);                                                 \
		if (w.error) {                                                  \
			wait_end(&w, false, false);                             \
			return std##_result(0, w.error);                        \
		}                                                               \
		pthread_cleanup_push(wait_cancelled, &w);                       \
		if (w.listed)                                                   \
			wait_listed(&w);                                        \
		if (w.ending == IN_LIBC)                                        \
			ret = REAL(name)(c, (void *)w.with, ##__VA_ARGS__);     \
		else                                                            \
			ret = w.ending == WOKEN ? 0 : std##_timed_out;          \
		pthread_cleanup_pop(0);                                         \
		if (w.left)                                                     \
			take_mutex(&w, std##_slept(ret));                       \
		ret = std##_result(ret, w.error);                               \
		wait_end(&w, ret == 0 || ret == EOWNERDEAD, std##_locked(ret)); \
		return ret;                                                     \
	}

/* A signal that somebody on the list gets is not libc's. */
static bool wakes_listed(const void *cond, unsigned int kind)
{
	return maple_waiters_wake(cond, kind == MAPLE_EV_BROADCAST) &&
	       kind == MAPLE_EV_SIGNAL;
}

#define SIGNAL(name, version, type, kind)                                 \
	MAPLE_REAL_VERSION(name, version);                                \
	MAPLE_EXPORT int name(type *c)                                    \
	{                                                                 \
		uint32_t site;                                            \
		int ret;                                                  \
                                                                          \
		if (!maple_agent_on())                                    \
			return wakes_listed(c, kind) ? 0 : REAL(name)(c); \
		site = SITE(kind);                                        \
		maple_agent_point(site, kind, c, MAPLE_PEEK_NONE);        \
		maple_agent_condition(site, MAPLE_EV_NOTIFY, c, false);   \
		maple_agent_note(kind, site, c, 0, 0, 0);                 \
		ret = wakes_listed(c, kind) ? 0 : REAL(name)(c);          \
		maple_agent_condition(site, MAPLE_EV_NOTIFY, c, true);    \
		return ret;                                               \
	}

typedef const struct timespec *until_t;

#define OUTSIDE(clock, t) maple_time_real(clock, t, &room)

WAIT(pthread_cond_wait, COND_VERSION, (pthread_cond_t * c, pthread_mutex_t *m),
     0, posix, 0, NULL)
WAIT(pthread_cond_timedwait, COND_VERSION,
     (pthread_cond_t * c, pthread_mutex_t *m, until_t t), MAPLE_EVF_MAYWAIT,
     posix, clock_of(c), t, OUTSIDE(clock_of(c), t))
WAIT(pthread_cond_clockwait, NULL,
     (pthread_cond_t * c, pthread_mutex_t *m, clockid_t k, until_t t),
     MAPLE_EVF_MAYWAIT, posix, k, t, k, OUTSIDE(k, t))
WAIT(cnd_wait, NULL, (cnd_t * c, mtx_t *m), 0, c11, 0, NULL)
WAIT(cnd_timedwait, NULL, (cnd_t * c, mtx_t *m, until_t t), MAPLE_EVF_MAYWAIT,
     c11, CLOCK_REALTIME, t, OUTSIDE(CLOCK_REALTIME, t))

SIGNAL(pthread_cond_signal, COND_VERSION, pthread_cond_t, MAPLE_EV_SIGNAL)
SIGNAL(pthread_cond_broadcast, COND_VERSION, pthread_cond_t, MAPLE_EV_BROADCAST)
SIGNAL(cnd_signal, NULL, cnd_t, MAPLE_EV_SIGNAL)
SIGNAL(cnd_broadcast, NULL, cnd_t, MAPLE_EV_BROADCAST)
