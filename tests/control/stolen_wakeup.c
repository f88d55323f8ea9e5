// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A consumer waits once where it should wait as long as there is nothing:
 * between the signal and its waking up another one takes what was signalled.
 */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static volatile int items;

static void *consumer(void *p)
{
	pthread_mutex_lock(&l);
	if (items == 0)
		pthread_cond_wait(&c, &l);
	items = items - 1;
	assert(items >= 0);
	pthread_mutex_unlock(&l);
	return p;
}

static void *producer(void *p)
{
	for (int i = 0; i < 2; i++) {
		pthread_mutex_lock(&l);
		items = items + 1;
		pthread_cond_signal(&c);
		pthread_mutex_unlock(&l);
	}
	return p;
}

int main(void)
{
	pthread_t t[3];

	pthread_create(&t[0], 0, consumer, 0);
	pthread_create(&t[1], 0, consumer, 0);
	pthread_create(&t[2], 0, producer, 0);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], 0);
	return 0;
}
