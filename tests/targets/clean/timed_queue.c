// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Clean: a queue under a mutex and a condition. When it stays empty the
 * consumer's timed wait runs out, which is how it learns that all is done.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

enum { ITEMS = 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int waiting, taken;
static bool closed;

static void *produce(void *arg)
{
	for (int i = 0; i < ITEMS; i++) {
		pthread_mutex_lock(&lock);
		waiting++;
		closed = i == ITEMS - 1;
		pthread_cond_signal(&filled);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

/* Returns false when nothing has come for five milliseconds. */
static bool take(void)
{
	struct timespec until;
	int err = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 5000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&lock);
	while (waiting == 0 && err != ETIMEDOUT)
		err = pthread_cond_timedwait(&filled, &lock, &until);
	if (waiting > 0) {
		waiting--;
		taken++;
		err = 0;
	}
	pthread_mutex_unlock(&lock);
	return err == 0;
}

static void *consume(void *arg)
{
	bool over = false;

	while (!over) {
		while (take())
			;
		pthread_mutex_lock(&lock);
		over = closed && waiting == 0;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t producer, consumer;

	pthread_create(&consumer, NULL, consume, NULL);
	pthread_create(&producer, NULL, produce, NULL);
	pthread_join(producer, NULL);
	pthread_join(consumer, NULL);
	assert(taken == ITEMS);
	return 0;
}
