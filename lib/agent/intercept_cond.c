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
};

static void wait_begin(const struct wait *w)
{
	maple_agent_before(w->site, MAPLE_EV_UNLOCK, w->mutex, 1, 0);
	maple_agent_after(w->site, MAPLE_EV_UNLOCK, w->mutex, 1, 0, true);
	maple_agent_condition(w->site, MAPLE_EV_SLEEP, w->cond, false);
	maple_agent_note(MAPLE_EV_WAIT, w->site, w->cond, 0, w->flags, 0);
	maple_agent_condition(w->site, MAPLE_EV_SLEEP, w->cond, true);
	maple_agent_note(MAPLE_EV_BLOCK, w->site, NULL, 0, 0, 0);
}

/* TIMEOUT stands for every end without a signal. */
static void wait_end(const struct wait *w, bool signalled, bool locked)
{
	maple_agent_note(MAPLE_EV_WAKE, w->site, w->cond, 0,
			 signalled ? 0 : MAPLE_EVF_TIMEOUT, 0);
	if (locked)
		maple_agent_after(w->site, MAPLE_EV_LOCK, w->mutex, 1, 0, true);
}

static void wait_cancelled(void *arg)
{
	wait_end(arg, false, true);
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

#define WAIT(name, version, params, args, flags, locked)                  \
	MAPLE_REAL_VERSION(name, version);                                \
	MAPLE_EXPORT int name params                                      \
	{                                                                 \
		struct wait w;                                            \
		int ret;                                                  \
                                                                          \
		if (!maple_agent_on())                                    \
			return REAL(name) args;                           \
		w = (struct wait){ SITE(MAPLE_EV_UNLOCK), c, m, flags };  \
		wait_begin(&w);                                           \
		pthread_cleanup_push(wait_cancelled, &w);                 \
		ret = REAL(name) args;                                    \
		pthread_cleanup_pop(0);                                   \
		wait_end(&w, ret == 0 || ret == EOWNERDEAD, locked(ret)); \
		return ret;                                               \
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
		maple_agent_condition(site, MAPLE_EV_NOTIFY, c, false); \
		maple_agent_note(kind, site, c, 0, 0, 0);               \
		ret = REAL(name)(c);                                    \
		maple_agent_condition(site, MAPLE_EV_NOTIFY, c, true);  \
		return ret;                                             \
	}

typedef const struct timespec *until_t;

WAIT(pthread_cond_wait, COND_VERSION, (pthread_cond_t * c, pthread_mutex_t *m),
     (c, m), 0, posix_locked)
WAIT(pthread_cond_timedwait, COND_VERSION,
     (pthread_cond_t * c, pthread_mutex_t *m, until_t t), (c, m, t),
     MAPLE_EVF_MAYWAIT, posix_locked)
WAIT(pthread_cond_clockwait, NULL,
     (pthread_cond_t * c, pthread_mutex_t *m, clockid_t k, until_t t),
     (c, m, k, t), MAPLE_EVF_MAYWAIT, posix_locked)
WAIT(cnd_wait, NULL, (cnd_t * c, mtx_t *m), (c, m), 0, c11_locked)
WAIT(cnd_timedwait, NULL, (cnd_t * c, mtx_t *m, until_t t), (c, m, t),
     MAPLE_EVF_MAYWAIT, c11_locked)

SIGNAL(pthread_cond_signal, COND_VERSION, pthread_cond_t, MAPLE_EV_SIGNAL)
SIGNAL(pthread_cond_broadcast, COND_VERSION, pthread_cond_t, MAPLE_EV_BROADCAST)
SIGNAL(cnd_signal, NULL, cnd_t, MAPLE_EV_SIGNAL)
SIGNAL(cnd_broadcast, NULL, cnd_t, MAPLE_EV_BROADCAST)
