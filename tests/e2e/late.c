// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Takes much longer under observation than natively: as many milliseconds as
 * its argument says. Two threads share a counter, correctly.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void *count(void *arg)
{
	pthread_mutex_lock(&lock);
	counter++;
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, count, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	if (argc > 1 && getenv("MAPLE_AGENT"))
		usleep(1000 * atoi(argv[1]));
	return counter != 2;
}
