// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Clean: a pool of workers that is stopped under the lock. Jobs are signalled
 * once the lock is free again, which is right as well: the predicate was set
 * under it, and is looked at in a loop.
 */
#include <pthread.h>
#include <stdbool.h>

enum { WORKERS = 3, JOBS = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static int waiting, finished;
static bool stop;

static void *serve(void *arg)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!waiting && !stop)
			pthread_cond_wait(&work, &lock);
		if (!waiting)
			break;
		waiting--;
		pthread_mutex_unlock(&lock);
		for (volatile int i = 0; i < 10000; i++) /* the job */
			;
		pthread_mutex_lock(&lock);
		finished++;
		pthread_cond_signal(&done);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t worker[WORKERS];

	for (int i = 0; i < WORKERS; i++)
		pthread_create(&worker[i], NULL, serve, NULL);
	for (int i = 0; i < JOBS; i++) {
		pthread_mutex_lock(&lock);
		waiting++;
		pthread_mutex_unlock(&lock);
		pthread_cond_signal(&work);
	}
	pthread_mutex_lock(&lock);
	while (finished < JOBS)
		pthread_cond_wait(&done, &lock);
	pthread_mutex_unlock(&lock);
	for (volatile int i = 0; i < 1000000; i++) /* what came of them */
		;
	pthread_mutex_lock(&lock);
	stop = true;
	pthread_cond_broadcast(&work);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(worker[i], NULL);
	return 0;
}
