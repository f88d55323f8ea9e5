// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A wait of a minute that nobody expects to time out: where it does, the result
 * is used before it is there.
 */
#include <assert.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static int result;

static void *work(void *arg)
{
	pthread_mutex_lock(&lock);
	result = 42;
	pthread_cond_signal(&done);
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	struct timespec until;
	pthread_t worker;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 60;
	pthread_create(&worker, NULL, work, NULL);
	pthread_mutex_lock(&lock);
	if (!result)
		pthread_cond_timedwait(&done, &lock, &until);
	assert(result == 42);
	pthread_mutex_unlock(&lock);
	pthread_join(worker, NULL);
	return 0;
}
