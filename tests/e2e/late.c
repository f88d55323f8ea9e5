// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Takes much longer under observation than natively: as many milliseconds as
 * its argument says. Two threads share a counter, correctly.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* The environment does not tell. */
static int is_observed(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	int found = 0;

	while (maps && fgets(line, sizeof(line), maps))
		found |= strstr(line, "libmaple-agent") != NULL;
	if (maps)
		fclose(maps);
	return found;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, count, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	if (argc > 1 && is_observed())
		usleep(1000 * atoi(argv[1]));
	return counter != 2;
}
