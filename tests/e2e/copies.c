// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * No bug: two threads that copy and compare memory very often, in buffers of
 * their own, and in one that both have, under its lock. None of these accesses
 * races: all that a schedule decides is who has the lock next. Each thread ends
 * with a counter that is nobody's in particular, without a lock.
 */
#include <assert.h>
#include <pthread.h>
#include <string.h>

#define TIMES 5000
#define BYTES 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char both[BYTES];
static int ended;
/* Not known when this is compiled: they stay calls. */
static volatile size_t size = BYTES;

static void *work(void *arg)
{
	char own[BYTES], other[BYTES];

	memset(own, (int)(size_t)arg, size);
	for (int i = 0; i < TIMES; i++) {
		memcpy(other, own, size);
		assert(!memcmp(other, own, size));
		if (i % 100)
			continue;
		pthread_mutex_lock(&lock);
		for (int k = 0; k < 50; k++) {
			memcpy(both, own, size);
			assert(!memcmp(both, own, size));
		}
		pthread_mutex_unlock(&lock);
	}
	__atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
	return NULL;
}

int main(void)
{
	pthread_t thread[2];

	for (size_t i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	assert(ended == 2);
	return 0;
}
