// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Threads: created, joined, ended; those of C11 as well.
 *
 * A new thread begins in thread_main(), so that it is known before anything
 * of the program runs in it, and it is born with its priority, because the
 * one that it inherits may be above or below what the run wants. It ends in
 * the destructor of a key, however it ends (return, pthread_exit,
 * cancellation), after the destructors of C++ and of the program's own keys:
 * the value is set again until the last round of destructors.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <threads.h>
#include <time.h>
#include "intercept.h"

typedef const struct timespec *until_t;

MAPLE_REAL(pthread_create);
MAPLE_REAL(pthread_exit);

/* What a thread that is being born needs to know, by its number. */
static struct birth {
	void *(*start)(void *);
	thrd_start_t start_c11; /* if start is NULL */
	void *arg;
	void *stack; /* NULL: libc's own */
	size_t size; /* ... of it */
} births[MAPLE_THREADS];

static pthread_key_t exit_key;
static bool exit_key_made;

static void end_now(void)
{
	if (!maple_agent_on())
		return;
	maple_agent_thread_exit();
	maple_timers_end();
}

static void end_round(void *value)
{
	uintptr_t round = (uintptr_t)value;

	if (round < PTHREAD_DESTRUCTOR_ITERATIONS &&
	    pthread_setspecific(exit_key, (void *)(round + 1)) == 0)
		return;
	end_now();
}

__attribute__((constructor(102))) static void make_exit_key(void)
{
	exit_key_made = pthread_key_create(&exit_key, end_round) == 0;
}

/* The calling thread's end will be noticed; asking twice does no harm. */
static void watch_end(void)
{
	if (exit_key_made && !pthread_getspecific(exit_key))
		pthread_setspecific(exit_key, (void *)1);
}

/* Without a key the end by return, and by pthread_exit(), is left. */
static void end_without_key(void)
{
	if (!exit_key_made)
		end_now();
}

/* Of a thread with these attributes; NULL: the default ones. */
static void measure_stack(const pthread_attr_t *attr, struct birth *b)
{
	pthread_attr_t plain;

	pthread_attr_init(&plain);
	/* The address of an unset stack is 0 less its size. */
	if (attr && pthread_attr_getstack(attr, &b->stack, &b->size) == 0 &&
	    (uintptr_t)b->stack + b->size != 0)
		;
	else if (pthread_attr_getstacksize(attr ? attr : &plain, &b->size) == 0)
		b->stack = NULL;
	pthread_attr_destroy(&plain);
}

/*
 * Where libc has made the stack, its own record of the thread, which is what
 * pthread_self() points to, is on the last page. To ask it would allocate
 * memory, and nothing may before a sanitizer, which has put a function of its
 * own behind ours, knows the thread.
 */
static void *own_stack(const struct birth *b)
{
	const uintptr_t page = 4096;

	return b->stack ? b->stack
			: (void *)((((uintptr_t)pthread_self() + page) &
				    ~(page - 1)) -
				   b->size);
}

static void *thread_main(void *arg)
{
	uint32_t number = (uint32_t)(uintptr_t)arg;
	struct birth b = births[number];
	void *ret;

	maple_agent_thread_start(number, own_stack(&b), b.size);
	watch_end();
	if (b.start)
		ret = b.start(b.arg);
	else
		ret = (void *)(uintptr_t)b.start_c11(b.arg);
	end_without_key();
	return ret;
}

/*
 * A copy of the user's attributes without their affinity, which may lie
 * outside the run's CPU, and with our priority. Copied one by one: a plain
 * copy would share what glibc keeps behind a pointer.
 */
static void copy_attr(pthread_attr_t *to, const pthread_attr_t *from)
{
	size_t size, guard;
	sigset_t mask;
	void *stack;
	int detach;

	if (pthread_attr_getdetachstate(from, &detach) == 0)
		pthread_attr_setdetachstate(to, detach);
	if (pthread_attr_getguardsize(from, &guard) == 0)
		pthread_attr_setguardsize(to, guard);
	if (pthread_attr_getsigmask_np(from, &mask) == 0)
		pthread_attr_setsigmask_np(to, &mask);
	/* The address of an unset stack is 0 less its size. */
	if (pthread_attr_getstack(from, &stack, &size) == 0 &&
	    (uintptr_t)stack + size != 0)
		pthread_attr_setstack(to, stack, size);
	else if (pthread_attr_getstacksize(from, &size) == 0)
		pthread_attr_setstacksize(to, size);
}

static int create_with_prio(pthread_t *thread, const pthread_attr_t *user,
			    void *arg, unsigned int prio)
{
	struct sched_param param = { .sched_priority = (int)prio };
	pthread_attr_t attr;
	int ret;

	ret = pthread_attr_init(&attr);
	if (ret)
		return ret;
	if (user)
		copy_attr(&attr, user);
	if (prio) {
		pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
		pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
		pthread_attr_setschedparam(&attr, &param);
	}
	ret = REAL(pthread_create)(thread, &attr, thread_main, arg);
	pthread_attr_destroy(&attr);
	return ret;
}

static int create(uint32_t site, uint32_t number, pthread_t *thread,
		  const pthread_attr_t *attr, struct birth birth)
{
	void *arg = (void *)(uintptr_t)number;
	int ret = EPERM;

	watch_end();
	measure_stack(attr, &birth);
	births[number] = birth;
	maple_native_inherit(number, attr);
	maple_agent_note(MAPLE_EV_CREATE, site, NULL, 0, 0, number);
	if (maple_owns_sched()) {
		ret = create_with_prio(thread, attr, arg,
				       maple_agent_thread_prio(number));
		if (ret == EPERM)
			ret = create_with_prio(thread, attr, arg, 0);
	}
	if (ret == EPERM)
		ret = REAL(pthread_create)(thread, attr, thread_main, arg);
	/* It may be joined before it has run. */
	if (ret)
		maple_agent_thread_drop(number);
	else if (!maple_shm->thread[number].tid)
		maple_shm->thread[number].pthread = *thread;
	if (!ret)
		maple_agent_thread_first(number);
	return ret;
}

/* A thread that the core has no number for is none of ours. */
MAPLE_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
				void *(*start)(void *), void *arg)
{
	struct birth b = { .start = start, .arg = arg };
	uint32_t number = MAPLE_THREAD_NONE;

	if (maple_agent_settle())
		number = maple_agent_thread_new();
	if (number >= MAPLE_THREADS)
		return REAL(pthread_create)(thread, attr, start, arg);
	return create(SITE(MAPLE_EV_CREATE), number, thread, attr, b);
}

bool maple_thread_helper(uint32_t site, void *(*start)(void *), void *arg)
{
	struct birth b = { .start = start, .arg = arg };
	uint32_t number = MAPLE_THREAD_NONE;
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all;
	int ret;

	if (maple_agent_settle())
		number = maple_agent_helper_new();
	if (number >= MAPLE_THREADS)
		return false;
	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setsigmask_np(&attr, &all);
	ret = create(site, number, &thread, &attr, b);
	pthread_attr_destroy(&attr);
	return ret == 0;
}

MAPLE_REAL(thrd_create);

MAPLE_EXPORT int thrd_create(thrd_t *thread, thrd_start_t start, void *arg)
{
	struct birth b = { .start_c11 = start, .arg = arg };
	uint32_t number = MAPLE_THREAD_NONE;

	if (maple_agent_settle())
		number = maple_agent_thread_new();
	if (number >= MAPLE_THREADS)
		return REAL(thrd_create)(thread, start, arg);
	switch (create(SITE(MAPLE_EV_CREATE), number, thread, NULL, b)) {
	case 0:
		return thrd_success;
	case ENOMEM:
		return thrd_nomem;
	default:
		return thrd_error;
	}
}

MAPLE_EXPORT void pthread_exit(void *value)
{
	if (maple_agent_on())
		watch_end();
	end_without_key();
	REAL(pthread_exit)(value);
	__builtin_unreachable();
}

MAPLE_EXPORT void thrd_exit(int value)
{
	pthread_exit((void *)(uintptr_t)value);
}

/* The number is asked before: nobody knows a thread that was joined. */
#define JOIN(name, params, args, forever)                                 \
	MAPLE_REAL(name);                                                 \
	MAPLE_EXPORT int name params                                      \
	{                                                                 \
		uint32_t site, number, *joins;                            \
		int ret;                                                  \
                                                                          \
		if (!maple_agent_on())                                    \
			return REAL(name) args;                           \
		site = SITE(MAPLE_EV_JOIN);                               \
		number = maple_agent_thread_find(t);                      \
		maple_agent_note(MAPLE_EV_BLOCK, site, NULL, 0, 0, 0);    \
		joins = &maple_shm->thread[maple_self.number].joins;      \
		*joins = forever;                                         \
		ret = REAL(name) args;                                    \
		*joins = false;                                           \
		if (ret == 0 && number != MAPLE_THREAD_NONE)              \
			maple_agent_note(MAPLE_EV_JOIN, site, NULL, 0, 0, \
					 number);                         \
		return ret;                                               \
	}

JOIN(pthread_join, (pthread_t t, void **r), (t, r), true)
JOIN(pthread_tryjoin_np, (pthread_t t, void **r), (t, r), false)
JOIN(pthread_timedjoin_np, (pthread_t t, void **r, until_t u), (t, r, u), false)
JOIN(pthread_clockjoin_np, (pthread_t t, void **r, clockid_t c, until_t u),
     (t, r, c, u), false)
JOIN(thrd_join, (thrd_t t, int *r), (t, r), true)
