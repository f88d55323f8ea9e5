// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Two locks in two orders, in a program whose alarm goes off all the time: a
 * deadlock all the same.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static volatile int ticks;

static void tick(int signo)
{
	ticks++;
}

static void *lock_both(void *first)
{
	pthread_mutex_t *second = first == &a ? &b : &a;

	pthread_mutex_lock(first);
	pthread_mutex_lock(second);
	pthread_mutex_unlock(second);
	pthread_mutex_unlock(first);
	return NULL;
}

int main(void)
{
	struct itimerval every = { { 0, 10000 }, { 0, 10000 } };
	pthread_t one, two;

	signal(SIGALRM, tick);
	setitimer(ITIMER_REAL, &every, NULL);
	pthread_create(&one, NULL, lock_both, &a);
	pthread_create(&two, NULL, lock_both, &b);
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	return 0;
}
