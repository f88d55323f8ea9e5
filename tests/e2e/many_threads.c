// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* 500 threads, all alive at the same time, each waiting for the last one. */
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 500 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_here = PTHREAD_COND_INITIALIZER;
static int here;

static void *meet(void *arg)
{
	pthread_mutex_lock(&lock);
	if (++here == THREADS)
		pthread_cond_broadcast(&all_here);
	while (here < THREADS)
		pthread_cond_wait(&all_here, &lock);
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	static pthread_t threads[THREADS];
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 * 1024);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], &attr, meet, NULL) != 0)
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("met %d\n", here);
	return 0;
}
