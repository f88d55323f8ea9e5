// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Condition variables of POSIX and C11.
 *
 * A wait releases its mutex at entry and takes it back before it returns,
 * both at the wait's call site: UNLOCK, WAIT, BLOCK, the wait itself, WAKE,
 * LOCK. The release is reported as done right before the wait, since nothing
 * can be told from inside it; on one CPU nobody sees the difference: a thread
 * that the automaton lets run for this mutex blocks on it until we are in.
 * That it is taken back cannot be announced, so only after() is called.
 *
 * A cancelled wait has the mutex again when its handlers run: the same end,
 * by a cleanup handler.
 *
 * A wait with a time may wake for nothing, as POSIX has it, and its caller
 * looks again. Under our priorities a signal may always come when nobody waits,
 * and the program sits out its second, as natively it does once in a thousand
 * runs. So a wait that may last for longer than the program takes natively, and
 * is not signalled, wakes: a thread's first one after a slice, the next one
 * after two, then four: it is not idle for much longer than it has been
 * already. To the automaton that is no wait that ends by itself.
 */
#include <errno.h>
#include <pthread.h>
#include <threads.h>
#include <time.h>
#include "intercept.h"

#define COND_VERSION "GLIBC_2.3.2"

#define USUAL_MS     20 /* a slice, where there is no plan */
#define SLICES	     10 /* that a native run takes */
#define DOUBLED	     8	/* times; later waits last as long as they say */
#define DAY	     86400ll
#define SECOND	     1000000000ll /* in ns */
#define REAL_TIME    1000000000ll /* seconds: no machine is up for so long */

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
	maple_agent_note(MAPLE_EV_WAIT, w->site, w->cond, 0, w->flags, 0);
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
	maple_shm->thread[maple_self.number].woken = 0;
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

#define WAIT(name, version, params, args, locked)                         \
	MAPLE_REAL_VERSION(name, version);                                \
	MAPLE_EXPORT int name params                                      \
	{                                                                 \
		struct wait w;                                            \
		int ret;                                                  \
                                                                          \
		if (!maple_agent_on())                                    \
			return REAL(name) args;                           \
		w = (struct wait){ SITE(MAPLE_EV_UNLOCK), c, m, 0 };      \
		wait_begin(&w);                                           \
		pthread_cleanup_push(wait_cancelled, &w);                 \
		ret = REAL(name) args;                                    \
		pthread_cleanup_pop(0);                                   \
		wait_end(&w, ret == 0 || ret == EOWNERDEAD, locked(ret)); \
		return ret;                                               \
	}

typedef const struct timespec *until_t;

static __thread unsigned int woken __attribute__((tls_model("initial-exec")));

static int64_t slice_ms(void)
{
	return maple_shm->mode == MAPLE_SHM_ENFORCE ? maple_shm->plan.slice_ms
						    : USUAL_MS;
}

/* Whether a wait until @until is to wake sooner, which is then at *@sooner. */
static bool shortened(until_t until, struct timespec *sooner)
{
	clockid_t clock = until->tv_sec > REAL_TIME ? CLOCK_REALTIME
						    : CLOCK_MONOTONIC;
	int64_t slice = slice_ms(), ms = slice << woken, left;

	if (woken == DOUBLED || !maple_shm_owns_sched(maple_shm) ||
	    (uint64_t)until->tv_nsec >= SECOND)
		return false;
	clock_gettime(clock, sooner);
	left = until->tv_sec - sooner->tv_sec;
	left = left > DAY ? DAY * 1000 : left * 1000;
	left += (until->tv_nsec - sooner->tv_nsec) / 1000000;
	if (left <= slice * SLICES || left <= ms)
		return false;
	sooner->tv_sec += ms / 1000;
	sooner->tv_nsec += ms % 1000 * 1000000;
	if (sooner->tv_nsec >= SECOND) {
		sooner->tv_sec++;
		sooner->tv_nsec -= SECOND;
	}
	return true;
}

/* WAIT with a time: @t, or until; @late: what it returns when that is over */
#define WAIT_UNTIL(name, version, params, real, args, locked, late)       \
	MAPLE_REAL_VERSION(name, version);                                \
	MAPLE_EXPORT int name params                                      \
	{                                                                 \
		struct timespec sooner;                                   \
		struct wait w;                                            \
		until_t until;                                            \
		int ret;                                                  \
                                                                          \
		if (!maple_agent_on())                                    \
			return REAL(name) real;                           \
		w = (struct wait){ SITE(MAPLE_EV_UNLOCK), c, m,           \
				   MAPLE_EVF_MAYWAIT };                   \
		until = shortened(t, &sooner) ? &sooner : t;              \
		wait_begin(&w);                                           \
		maple_shm->thread[maple_self.number].woken = until != t;  \
		pthread_cleanup_push(wait_cancelled, &w);                 \
		ret = REAL(name) args;                                    \
		pthread_cleanup_pop(0);                                   \
		maple_shm->thread[maple_self.number].woken = 0;           \
		wait_end(&w, ret == 0 || ret == EOWNERDEAD, locked(ret)); \
		if (until == t || ret != (late))                          \
			return ret;                                       \
		woken++;                                                  \
		return 0;                                                 \
	}

#define SIGNAL(name, version, type, kind)                               \
	MAPLE_REAL_VERSION(name, version);                              \
	MAPLE_EXPORT int name(type *c)                                  \
	{                                                               \
		if (maple_agent_on())                                   \
			maple_agent_note(kind, SITE(kind), c, 0, 0, 0); \
		return REAL(name)(c);                                   \
	}

WAIT(pthread_cond_wait, COND_VERSION, (pthread_cond_t * c, pthread_mutex_t *m),
     (c, m), posix_locked)
WAIT(cnd_wait, NULL, (cnd_t * c, mtx_t *m), (c, m), c11_locked)
WAIT_UNTIL(pthread_cond_timedwait, COND_VERSION,
	   (pthread_cond_t * c, pthread_mutex_t *m, until_t t), (c, m, t),
	   (c, m, until), posix_locked, ETIMEDOUT)
WAIT_UNTIL(pthread_cond_clockwait, NULL,
	   (pthread_cond_t * c, pthread_mutex_t *m, clockid_t k, until_t t),
	   (c, m, k, t), (c, m, k, until), posix_locked, ETIMEDOUT)
WAIT_UNTIL(cnd_timedwait, NULL, (cnd_t * c, mtx_t *m, until_t t), (c, m, t),
	   (c, m, until), c11_locked, thrd_timedout)

SIGNAL(pthread_cond_signal, COND_VERSION, pthread_cond_t, MAPLE_EV_SIGNAL)
SIGNAL(pthread_cond_broadcast, COND_VERSION, pthread_cond_t, MAPLE_EV_BROADCAST)
SIGNAL(cnd_signal, NULL, cnd_t, MAPLE_EV_SIGNAL)
SIGNAL(cnd_broadcast, NULL, cnd_t, MAPLE_EV_BROADCAST)
