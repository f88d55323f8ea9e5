// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Locks: mutexes of POSIX and C11, reader-writer locks, spin locks.
 *
 * LOCK is an acquisition that succeeded, also of a robust mutex whose owner
 * died; an attempt that failed is told to the automaton and changes nothing
 * else. Each function below is one row: name, parameters, arguments, flags; and
 * until when it waits. In a controlled run that has a time of its own that is
 * for the policy to end, before it is attempted.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <threads.h>
#include <time.h>
#include "intercept.h"

static_assert(thrd_success == 0, "C11 and POSIX report success alike");

static bool acquired(int ret)
{
	return ret == 0 || ret == EOWNERDEAD;
}

/* What tells whether it can be had; a trylock always returns. */
#define PEEK(l, flags)                                                      \
	((flags)&MAPLE_EVF_MAYFAIL                                          \
		 ? MAPLE_PEEK_NONE                                          \
		 : _Generic((l), pthread_mutex_t *                          \
			    : MAPLE_PEEK_MUTEX, mtx_t *                     \
			    : MAPLE_PEEK_MUTEX, pthread_rwlock_t *          \
			    : (flags)&MAPLE_EVF_SHARED ? MAPLE_PEEK_RDLOCK  \
						       : MAPLE_PEEK_WRLOCK, \
			      default                                       \
			    : MAPLE_PEEK_SPIN))

#define ACQUIRE_BY(name, params, args, flags, call, until, timed_out)           \
	MAPLE_REAL(name);                                                       \
	MAPLE_EXPORT int name params                                            \
	{                                                                       \
		uint64_t end;                                                   \
		uint32_t site;                                                  \
		int ret;                                                        \
                                                                                \
		if (!maple_agent_on())                                          \
			return REAL(name) args;                                 \
		maple_agent_turn();                                             \
		end = until;                                                    \
		if (!maple_agent_wants(CALLER, MAPLE_EV_LOCK, &site) && !end) { \
			ret = call;                                             \
			if (acquired(ret))                                      \
				maple_agent_locked(site, (void *)l, flags);     \
			return ret;                                             \
		}                                                               \
		if (end && !maple_agent_await(site, MAPLE_EV_LOCK, (void *)l,   \
					      PEEK(l, flags), end))             \
			return timed_out;                                       \
		maple_agent_before(                                             \
			site, MAPLE_EV_LOCK, (void *)l, 1,                      \
			(flags) | (end ? MAPLE_AGENT_CAME                       \
				       : PEEK(l, flags) << MAPLE_PEEK_SHIFT));  \
		ret = call;                                                     \
		maple_agent_after(site, MAPLE_EV_LOCK, (void *)l, 1,            \
				  (flags) | (end ? MAPLE_EVF_MAYWAIT : 0),      \
				  acquired(ret));                               \
		return ret;                                                     \
	}

#define ACQUIRE(name, params, args, flags) \
	ACQUIRE_BY(name, params, args, flags, REAL(name) args, 0, 0)

/* @clock says when the time @t is up. */
#define ACQUIRE_TIMED(name, params, args, flags, clock, timed_out) \
	ACQUIRE_BY(name, params, args, flags, REAL(name) args,     \
		   maple_time_until(clock, t), timed_out)

#define OUTSIDE(clock, t) maple_time_real(clock, t, &(struct timespec){ 0 })

#define RELEASE(name, type, shared)                                             \
	MAPLE_REAL(name);                                                       \
	MAPLE_EXPORT int name(type *l)                                          \
	{                                                                       \
		unsigned int flags;                                             \
		uint32_t site;                                                  \
		int ret;                                                        \
                                                                                \
		if (!maple_agent_on())                                          \
			return REAL(name)(l);                                   \
		flags = (shared) ? MAPLE_EVF_SHARED : 0;                        \
		if (!maple_agent_wants(CALLER, MAPLE_EV_UNLOCK, &site)) {       \
			maple_agent_unlocks(site, (void *)l, flags);            \
			return REAL(name)(l);                                   \
		}                                                               \
		maple_agent_before(site, MAPLE_EV_UNLOCK, (void *)l, 1, flags); \
		ret = REAL(name)(l);                                            \
		maple_agent_after(site, MAPLE_EV_UNLOCK, (void *)l, 1, flags,   \
				  ret == 0);                                    \
		return ret;                                                     \
	}

typedef const struct timespec *until_t;

ACQUIRE(pthread_mutex_lock, (pthread_mutex_t * l), (l), 0)
ACQUIRE(pthread_mutex_trylock, (pthread_mutex_t * l), (l), MAPLE_EVF_MAYFAIL)
ACQUIRE_TIMED(pthread_mutex_timedlock, (pthread_mutex_t * l, until_t t),
	      (l, OUTSIDE(CLOCK_REALTIME, t)), 0, CLOCK_REALTIME, ETIMEDOUT)
ACQUIRE_TIMED(pthread_mutex_clocklock,
	      (pthread_mutex_t * l, clockid_t c, until_t t),
	      (l, c, OUTSIDE(c, t)), 0, c, ETIMEDOUT)
RELEASE(pthread_mutex_unlock, pthread_mutex_t, false)

ACQUIRE(mtx_lock, (mtx_t * l), (l), 0)
ACQUIRE(mtx_trylock, (mtx_t * l), (l), MAPLE_EVF_MAYFAIL)
ACQUIRE_TIMED(mtx_timedlock, (mtx_t * l, until_t t),
	      (l, OUTSIDE(CLOCK_REALTIME, t)), 0, CLOCK_REALTIME, thrd_timedout)
RELEASE(mtx_unlock, mtx_t, false)

ACQUIRE(pthread_rwlock_wrlock, (pthread_rwlock_t * l), (l), 0)
ACQUIRE(pthread_rwlock_trywrlock, (pthread_rwlock_t * l), (l), MAPLE_EVF_MAYFAIL)
ACQUIRE_TIMED(pthread_rwlock_timedwrlock, (pthread_rwlock_t * l, until_t t),
	      (l, OUTSIDE(CLOCK_REALTIME, t)), 0, CLOCK_REALTIME, ETIMEDOUT)
ACQUIRE_TIMED(pthread_rwlock_clockwrlock,
	      (pthread_rwlock_t * l, clockid_t c, until_t t),
	      (l, c, OUTSIDE(c, t)), 0, c, ETIMEDOUT)
ACQUIRE(pthread_rwlock_rdlock, (pthread_rwlock_t * l), (l), MAPLE_EVF_SHARED)
ACQUIRE(pthread_rwlock_tryrdlock, (pthread_rwlock_t * l), (l),
	MAPLE_EVF_SHARED | MAPLE_EVF_MAYFAIL)
ACQUIRE_TIMED(pthread_rwlock_timedrdlock, (pthread_rwlock_t * l, until_t t),
	      (l, OUTSIDE(CLOCK_REALTIME, t)), MAPLE_EVF_SHARED, CLOCK_REALTIME,
	      ETIMEDOUT)
ACQUIRE_TIMED(pthread_rwlock_clockrdlock,
	      (pthread_rwlock_t * l, clockid_t c, until_t t),
	      (l, c, OUTSIDE(c, t)), MAPLE_EVF_SHARED, c, ETIMEDOUT)

/*
 * Which side is released: whoever holds a side knows the current writer, and
 * that is how glibc decides as well. It is right for locks taken before the
 * agent was at work, too, which a table of ours would not be.
 */
RELEASE(pthread_rwlock_unlock, pthread_rwlock_t, l->__data.__cur_writer == 0)

/*
 * On one CPU a thread that spins above the lock's owner would spin forever;
 * each failed round is a yield of the program, so that the core sees it.
 */
static int spin_lock(pthread_spinlock_t *lock);

ACQUIRE_BY(pthread_spin_lock, (pthread_spinlock_t * l), (l), 0, spin_lock(l), 0,
	   0)
ACQUIRE(pthread_spin_trylock, (pthread_spinlock_t * l), (l), MAPLE_EVF_MAYFAIL)
RELEASE(pthread_spin_unlock, pthread_spinlock_t, false)

MAPLE_REAL(sched_yield);

static int spin_lock(pthread_spinlock_t *lock)
{
	if (!maple_owns_sched())
		return REAL(pthread_spin_lock)(lock);
	while (REAL(pthread_spin_trylock)(lock) != 0) {
		maple_agent_yield();
		REAL(sched_yield)();
	}
	return 0;
}

/* What is destroyed has no history when it is used again. */
#define DESTROY(name, type)                                               \
	MAPLE_REAL(name);                                                 \
	MAPLE_EXPORT int name(type *l)                                    \
	{                                                                 \
		int ret = REAL(name)(l);                                  \
                                                                          \
		if (ret == 0)                                             \
			maple_agent_freed(CALLER, (void *)l, sizeof(*l)); \
		return ret;                                               \
	}

DESTROY(pthread_mutex_destroy, pthread_mutex_t)
DESTROY(pthread_rwlock_destroy, pthread_rwlock_t)
DESTROY(pthread_spin_destroy, pthread_spinlock_t)

MAPLE_REAL(mtx_destroy);

MAPLE_EXPORT void mtx_destroy(mtx_t *mutex)
{
	REAL(mtx_destroy)(mutex);
	maple_agent_freed(CALLER, mutex, sizeof(*mutex));
}
