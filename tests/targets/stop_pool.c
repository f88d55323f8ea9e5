// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A pool of workers is stopped by an atomic flag and a broadcast, without the
 * lock. Atomic it is, but a worker that has looked at the flag and does not
 * wait yet sees neither, and is joined for ever.
 *
 * Idiom: 1
 * iRoot: R:27 -> W:61
 * Native: 0 of 1000 runs fail
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { WORKERS = 3, JOBS = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static int waiting, finished;
static atomic_bool stop;

static void *serve(void *arg)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!waiting && !stop) /* e0 */
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
		pthread_cond_signal(&work);
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	while (finished < JOBS)
		pthread_cond_wait(&done, &lock);
	pthread_mutex_unlock(&lock);
	for (volatile int i = 0; i < 1000000; i++) /* what came of them */
		;
	stop = true; /* e1 */
	pthread_cond_broadcast(&work);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(worker[i], NULL);
	return 0;
}
