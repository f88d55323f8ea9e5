// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Spins in so many threads, one of which waits for a flag that only the last
 * one sets: with an argument for good, without one until it is set.
 */
#include <pthread.h>
#include <stdlib.h>

static volatile int flag;

static void *setter(void *arg)
{
	flag = 1;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	pthread_create(&thread, NULL, setter, NULL);
	while (!flag || argc > 1)
		;
	pthread_join(thread, NULL);
	return 0;
}
