// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The waiter looks at the flag before it takes the lock. A signal between its
 * look and its wait reaches nobody, and it waits for ever.
 *
 * Idiom: 1
 * iRoot: R:30 -> W:20
 * Native: 0 of 1000 runs fail
 */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wakeup = PTHREAD_COND_INITIALIZER;
static int ready;

static void *announce(void *arg)
{
	for (volatile int i = 0; i < 1000000; i++) /* what it announces */
		;
	ready = 1; /* e1 */
	pthread_mutex_lock(&lock);
	pthread_cond_signal(&wakeup);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *await(void *arg)
{
	/* 'while' inside of the lock would be right. */
	if (!ready) { /* e0 */
		pthread_mutex_lock(&lock);
		pthread_cond_wait(&wakeup, &lock);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&b, NULL, await, NULL);
	pthread_create(&a, NULL, announce, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
