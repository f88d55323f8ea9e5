// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A race that only ThreadSanitizer tells of: "ready" is written after the
 * lock was given back, and read before it is taken. Mostly the reader is late
 * and reads behind the lock's order; it does not matter what is read.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready, done;

static void *write_ready(void *arg)
{
	ready = 1;
	pthread_mutex_lock(&lock);
	done = 1;
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *read_ready(void *arg)
{
	int was;

	usleep(20000);
	pthread_mutex_lock(&lock);
	was = done;
	pthread_mutex_unlock(&lock);
	if (ready != was)
		printf("early\n");
	return NULL;
}

int main(void)
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, write_ready, NULL);
	pthread_create(&threads[1], NULL, read_ready, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
