// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What lost_update lacks: counters whose updates, one instruction each, no
 * other CPU can come in the middle of. One is under a mutex, one under the
 * write side of a rwlock, one atomic, and one only main's, before and after the
 * threads. Compiled with -O2.
 */
#include <assert.h>
#include <pthread.h>

#define TIMES 20

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static unsigned int locked, written, atomic, ordered;

static void *count(void *arg)
{
	for (int i = 0; i < TIMES; i++) {
		pthread_mutex_lock(&mutex);
		locked++;
		pthread_mutex_unlock(&mutex);
		pthread_rwlock_wrlock(&rwlock);
		written++;
		pthread_rwlock_unlock(&rwlock);
		__atomic_fetch_add(&atomic, 1, __ATOMIC_RELAXED);
	}
	if (arg)
		ordered++; /* the only thread there is besides */
	return NULL;
}

int main(void)
{
	pthread_t a, b;

	ordered++;
	pthread_create(&a, NULL, count, &ordered);
	pthread_join(a, NULL);
	ordered++;
	pthread_create(&a, NULL, count, NULL);
	pthread_create(&b, NULL, count, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	assert(locked == 3 * TIMES && written == 3 * TIMES);
	assert(atomic == 3 * TIMES && ordered == 3);
	return 0;
}
