// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Two threads that have a lock in common, and the status that it is told. */
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int shared;

static void *add(void *arg)
{
	pthread_mutex_lock(&lock);
	shared++;
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	pthread_create(&thread, NULL, add, NULL);
	add(NULL);
	pthread_join(thread, NULL);
	return argc > 1 ? atoi(argv[1]) : 0;
}
