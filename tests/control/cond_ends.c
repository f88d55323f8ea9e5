// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * No bug: the ends that a wait on a condition can have. It is cancelled, and
 * its handler has the mutex; the mutex is recursive, checks errors, hands on
 * priorities, or is robust and its owner dies; the time is none; the waiter
 * does not own the mutex.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t m;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static volatile int waiting, handled, ready;

static void make(int type, int robust, int protocol)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, type);
	pthread_mutexattr_setrobust(&a, robust);
	pthread_mutexattr_setprotocol(&a, protocol);
	assert(!pthread_mutex_init(&m, &a));
	pthread_mutexattr_destroy(&a);
	waiting = ready = 0;
}

static void let_go(void *arg)
{
	handled++;
	assert(!pthread_mutex_unlock(&m));
}

static void *wait_forever(void *arg)
{
	pthread_mutex_lock(&m);
	pthread_cleanup_push(let_go, NULL);
	waiting = 1;
	for (;;)
		pthread_cond_wait(&c, &m);
	pthread_cleanup_pop(0);
	return NULL;
}

static void *wait_ready(void *arg)
{
	pthread_mutex_lock(&m);
	while (!ready)
		assert(!pthread_cond_wait(&c, &m));
	assert(!pthread_mutex_unlock(&m));
	return NULL;
}

static void *wait_for_the_dead(void *arg)
{
	int ret = 0;

	pthread_mutex_lock(&m);
	waiting = 1;
	while (!ready && !ret)
		ret = pthread_cond_wait(&c, &m);
	if (ret) {
		assert(ret == EOWNERDEAD);
		pthread_mutex_consistent(&m);
		handled++;
	}
	assert(!pthread_mutex_unlock(&m));
	return NULL;
}

/* Signals, and ends with the mutex. */
static void *die(void *arg)
{
	while (!handled) {
		assert(!pthread_mutex_lock(&m));
		if (waiting) {
			ready = handled = 1;
			pthread_cond_signal(&c);
			return NULL;
		}
		pthread_mutex_unlock(&m);
	}
	return NULL;
}

static void cancelled(void)
{
	pthread_t t;
	int seen = 0;

	make(PTHREAD_MUTEX_ERRORCHECK, 0, 0);
	handled = 0;
	pthread_create(&t, NULL, wait_forever, NULL);
	while (!seen) {
		pthread_mutex_lock(&m);
		seen = waiting;
		pthread_mutex_unlock(&m);
	}
	pthread_cancel(t);
	pthread_join(t, NULL);
	assert(handled == 1);
	assert(!pthread_mutex_lock(&m));
	assert(!pthread_mutex_unlock(&m));
}

static void signalled(int type, int protocol)
{
	pthread_t t;

	make(type, 0, protocol);
	pthread_create(&t, NULL, wait_ready, NULL);
	pthread_mutex_lock(&m);
	ready = 1;
	pthread_cond_signal(&c);
	pthread_mutex_unlock(&m);
	pthread_join(t, NULL);
}

static void owner_died(void)
{
	pthread_t t, u;

	make(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, 0);
	handled = 0;
	pthread_create(&t, NULL, wait_for_the_dead, NULL);
	pthread_create(&u, NULL, die, NULL);
	pthread_join(u, NULL);
	pthread_join(t, NULL);
	assert(handled == 2);
}

static void refused(void)
{
	struct timespec none = { 0, -1 }, past = { 0, 0 };

	make(PTHREAD_MUTEX_ERRORCHECK, 0, 0);
	assert(pthread_cond_wait(&c, &m) == EPERM);
	assert(!pthread_mutex_lock(&m));
	assert(pthread_cond_timedwait(&c, &m, &none) == EINVAL);
	assert(pthread_cond_timedwait(&c, &m, &past) == ETIMEDOUT);
	assert(!pthread_mutex_unlock(&m));
}

int main(void)
{
	cancelled();
	signalled(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE);
	signalled(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE);
	signalled(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT);
	owner_died();
	refused();
	return 0;
}
