// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * 500 threads, all alive at the same time, each waiting for the last one; with
 * an argument so many, one after the other.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

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

static void *count(void *arg)
{
	pthread_mutex_lock(&lock);
	here++;
	pthread_mutex_unlock(&lock);
	return NULL;
}

static int one_by_one(int n)
{
	pthread_t thread;

	while (n--)
		if (pthread_create(&thread, NULL, count, NULL) ||
		    pthread_join(thread, NULL))
			return 1;
	printf("counted %d\n", here);
	return 0;
}

int main(int argc, char **argv)
{
	static pthread_t threads[THREADS];
	pthread_attr_t attr;

	if (argc > 1)
		return one_by_one(atoi(argv[1]));

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
