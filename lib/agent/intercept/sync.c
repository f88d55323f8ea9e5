// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Barriers, semaphores, and what runs once. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>
#include "intercept.h"

typedef const struct timespec *until_t;

MAPLE_REAL(pthread_barrier_wait);
MAPLE_REAL(sem_post);
MAPLE_REAL(pthread_once);

MAPLE_EXPORT int pthread_barrier_wait(pthread_barrier_t *b)
{
	uint32_t site;
	int ret;

	if (!maple_agent_on())
		return REAL(pthread_barrier_wait)(b);
	site = SITE(MAPLE_EV_BARRIER_IN);
	maple_agent_point(site, MAPLE_EV_BARRIER_IN, b, MAPLE_PEEK_NONE);
	maple_agent_note(MAPLE_EV_BARRIER_IN, site, b, 0, 0, 0);
	maple_agent_note(MAPLE_EV_BLOCK, site, NULL, 0, 0, 0);
	ret = REAL(pthread_barrier_wait)(b);
	if (ret == 0 || ret == PTHREAD_BARRIER_SERIAL_THREAD)
		maple_agent_note(MAPLE_EV_BARRIER_OUT, site, b, 0, 0, 0);
	return ret;
}

MAPLE_EXPORT int sem_post(sem_t *s)
{
	uint32_t site;

	if (maple_agent_on()) {
		site = SITE(MAPLE_EV_POST);
		maple_agent_point(site, MAPLE_EV_POST, s, MAPLE_PEEK_NONE);
		maple_agent_note(MAPLE_EV_POST, site, s, 0, 0, 0);
	}
	return REAL(sem_post)(s);
}

/* The caller is before @s; false: its time is up. */
static bool comes_to(uint32_t site, sem_t *s, enum maple_agent_peek peek,
		     uint64_t end)
{
	if (!end)
		maple_agent_point(site, MAPLE_EV_TAKE, s, peek);
	else if (!maple_agent_await(site, MAPLE_EV_TAKE, s, peek, end))
		errno = ETIMEDOUT;
	else
		return true;
	return !end;
}

/* A failed attempt takes nothing. */
#define TAKE(name, params, args, flags, peek, end)                             \
	MAPLE_REAL(name);                                                      \
	MAPLE_EXPORT int name params                                           \
	{                                                                      \
		uint32_t site;                                                 \
		int ret;                                                       \
                                                                               \
		if (!maple_agent_on())                                         \
			return REAL(name) args;                                \
		maple_agent_turn();                                            \
		site = SITE(MAPLE_EV_TAKE);                                    \
		if (!comes_to(site, s, peek, end))                             \
			return -1;                                             \
		maple_agent_note(MAPLE_EV_BLOCK, site, NULL, 0, 0, 0);         \
		ret = REAL(name) args;                                         \
		if (ret == 0)                                                  \
			maple_agent_note(MAPLE_EV_TAKE, site, s, 0, flags, 0); \
		return ret;                                                    \
	}

#define OUTSIDE(clock, t) maple_time_real(clock, t, &(struct timespec){ 0 })

TAKE(sem_wait, (sem_t * s), (s), 0, MAPLE_PEEK_SEM, 0)
TAKE(sem_trywait, (sem_t * s), (s), 0, MAPLE_PEEK_NONE, 0)
TAKE(sem_timedwait, (sem_t * s, until_t t), (s, OUTSIDE(CLOCK_REALTIME, t)),
     MAPLE_EVF_MAYWAIT, MAPLE_PEEK_SEM, maple_time_until(CLOCK_REALTIME, t))
TAKE(sem_clockwait, (sem_t * s, clockid_t c, until_t t), (s, c, OUTSIDE(c, t)),
     MAPLE_EVF_MAYWAIT, MAPLE_PEEK_SEM, maple_time_until(c, t))

/*
 * Which of the callers runs the initialiser is known only inside it. What it
 * needs to tell stands on a list per thread, since initialisers nest. One
 * that throws leaves its entry behind: entries are read only by the call
 * that has just put them there.
 */
struct once {
	uint32_t site;
	const void *control;
	void (*init)(void);
	struct once *outer;
};

static __thread struct once *once_now
	__attribute__((tls_model("initial-exec")));

static void once_run(void)
{
	struct once o = *once_now;

	o.init();
	if (maple_agent_on())
		maple_agent_note(MAPLE_EV_ONCE, o.site, o.control, 0, 0, 0);
}

static int once(uint32_t site, pthread_once_t *control, void (*init)(void))
{
	struct once o = { site, control, init, once_now };
	int ret;

	once_now = &o;
	maple_agent_note(MAPLE_EV_BLOCK, site, NULL, 0, 0, 0);
	ret = REAL(pthread_once)(control, once_run);
	once_now = o.outer;
	if (ret == 0)
		maple_agent_note(MAPLE_EV_ONCED, site, control, 0, 0, 0);
	return ret;
}

MAPLE_EXPORT int pthread_once(pthread_once_t *control, void (*init)(void))
{
	if (!maple_agent_on())
		return REAL(pthread_once)(control, init);
	return once(SITE(MAPLE_EV_ONCED), control, init);
}

static_assert(sizeof(once_flag) == sizeof(pthread_once_t),
	      "call_once() is pthread_once()");

MAPLE_EXPORT void call_once(once_flag *flag, void (*init)(void))
{
	pthread_once_t *control = (pthread_once_t *)flag;

	if (!maple_agent_on())
		REAL(pthread_once)(control, init);
	else
		once(SITE(MAPLE_EV_ONCED), control, init);
}
