// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A lock that is waited for a minute, and always had in time: where it is
 * not, what it guards is used before it is there.
 *	timed_lock mutex, timed_lock rwlock
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static volatile int begun, result;
static int reads;

static struct timespec in(int seconds)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += seconds;
	return t;
}

static void *work(void *arg)
{
	if (reads)
		pthread_rwlock_wrlock(&rwlock);
	else
		pthread_mutex_lock(&mutex);
	begun = 1;
	usleep(100000);
	result = 42;
	if (reads)
		pthread_rwlock_unlock(&rwlock);
	else
		pthread_mutex_unlock(&mutex);
	return NULL;
}

int main(int argc, char **argv)
{
	struct timespec until;
	pthread_t worker;

	reads = argc > 1 && !strcmp(argv[1], "rwlock");
	pthread_create(&worker, NULL, work, NULL);
	while (!begun)
		usleep(1000);
	until = in(60);
	if (reads)
		pthread_rwlock_timedrdlock(&rwlock, &until);
	else
		pthread_mutex_timedlock(&mutex, &until);
	assert(result == 42);
	pthread_join(worker, NULL);
	return 0;
}
