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
 * In a controlled run (algorithms.md 10, rule 9) the wait is at a point, and so
 * is the taking back, where others may be chosen first: a thread waits with a
 * mutex of its own, the stand-in, and comes to a point before it locks the
 * program's. From before that is released until the thread sleeps nobody comes
 * between.
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
	unsigned int flags; /* of WAIT */
	const void *with;   /* mutex, or the stand-in */
	int error;	    /* of letting go of mutex, or taking it back */
};

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

/* Lets go of the program's mutex, if it can. */
static void leave_mutex(struct wait *w)
{
	maple_agent_above();
	REAL(pthread_mutex_lock)(&stand_in);
	w->error = REAL(pthread_mutex_unlock)((pthread_mutex_t *)w->mutex);
	w->with = &stand_in;
	if (!w->error)
		return;
	REAL(pthread_mutex_unlock)(&stand_in);
	maple_agent_back();
}

/* Takes it back; if it @slept, others may come first. */
static void take_mutex(struct wait *w, bool slept)
{
	pthread_mutex_t *mutex = (pthread_mutex_t *)w->mutex;

	REAL(pthread_mutex_unlock)(&stand_in);
	if (slept) {
		maple_agent_back();
		maple_agent_point(w->site, MAPLE_EV_LOCK, mutex,
				  MAPLE_PEEK_MUTEX);
	}
	w->error = REAL(pthread_mutex_lock)(mutex);
	if (!slept)
		maple_agent_back();
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
	if (maple_agent_controls)
		leave_mutex(w);
}

static void wait_cancelled(void *arg)
{
	struct wait *w = arg;

	if (w->with != w->mutex)
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

static bool posix_slept(int ret)
{
	return ret != EINVAL;
}

static bool c11_slept(int ret)
{
	return ret != thrd_error;
}

/* The arguments behind the mutex come last. */
#define WAIT(name, version, params, flags, std, ...)                            \
	MAPLE_REAL_VERSION(name, version);                                      \
	MAPLE_EXPORT int name params                                            \
	{                                                                       \
		struct wait w;                                                  \
		int ret;                                                        \
                                                                                \
		if (!maple_agent_on())                                          \
			return REAL(name)(c, m, ##__VA_ARGS__);                 \
		w = (struct wait){ SITE(MAPLE_EV_UNLOCK), c, m, flags };        \
		wait_begin(&w);                                                 \
		if (w.error) {                                                  \
			wait_end(&w, false, false);                             \
			return std##_result(0, w.error);                        \
		}                                                               \
		pthread_cleanup_push(wait_cancelled, &w);                       \
		ret = REAL(name)(c, (void *)w.with, ##__VA_ARGS__);             \
		pthread_cleanup_pop(0);                                         \
		if (w.with != w.mutex)                                          \
			take_mutex(&w, std##_slept(ret));                       \
		ret = std##_result(ret, w.error);                               \
		wait_end(&w, ret == 0 || ret == EOWNERDEAD, std##_locked(ret)); \
		return ret;                                                     \
	}

#define SIGNAL(name, version, type, kind)                               \
	MAPLE_REAL_VERSION(name, version);                              \
	MAPLE_EXPORT int name(type *c)                                  \
	{                                                               \
		uint32_t site;                                          \
		int ret;                                                \
                                                                        \
		if (!maple_agent_on())                                  \
			return REAL(name)(c);                           \
		site = SITE(kind);                                      \
		maple_agent_point(site, kind, c, MAPLE_PEEK_NONE);      \
		maple_agent_condition(site, MAPLE_EV_NOTIFY, c, false); \
		maple_agent_note(kind, site, c, 0, 0, 0);               \
		ret = REAL(name)(c);                                    \
		maple_agent_condition(site, MAPLE_EV_NOTIFY, c, true);  \
		return ret;                                             \
	}

typedef const struct timespec *until_t;

WAIT(pthread_cond_wait, COND_VERSION, (pthread_cond_t * c, pthread_mutex_t *m),
     0, posix)
WAIT(pthread_cond_timedwait, COND_VERSION,
     (pthread_cond_t * c, pthread_mutex_t *m, until_t t), MAPLE_EVF_MAYWAIT,
     posix, t)
WAIT(pthread_cond_clockwait, NULL,
     (pthread_cond_t * c, pthread_mutex_t *m, clockid_t k, until_t t),
     MAPLE_EVF_MAYWAIT, posix, k, t)
WAIT(cnd_wait, NULL, (cnd_t * c, mtx_t *m), 0, c11)
WAIT(cnd_timedwait, NULL, (cnd_t * c, mtx_t *m, until_t t), MAPLE_EVF_MAYWAIT,
     c11, t)

SIGNAL(pthread_cond_signal, COND_VERSION, pthread_cond_t, MAPLE_EV_SIGNAL)
SIGNAL(pthread_cond_broadcast, COND_VERSION, pthread_cond_t, MAPLE_EV_BROADCAST)
SIGNAL(cnd_signal, NULL, cnd_t, MAPLE_EV_SIGNAL)
SIGNAL(cnd_broadcast, NULL, cnd_t, MAPLE_EV_BROADCAST)
