// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Two threads add to a sum without a lock, which fails where they overlap. On
 * several CPUs they do whenever an agent is loaded, hardly ever without one: a
 * race whose odds depend on us. All the same it is the program that is wrong.
 * The pause stands for what makes threads meet on two CPUs and not on one.
 */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static volatile int sum;
static struct timespec between;

static void *add(void *arg)
{
	int before = sum;

	if (between.tv_nsec)
		nanosleep(&between, NULL);
	sum = before + 1;
	return NULL;
}

static int is_watched(void)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	int found = 0;

	while (maps && fgets(line, sizeof(line), maps))
		found |= strstr(line, "libmaple-agent") != NULL;
	if (maps)
		fclose(maps);
	return found;
}

int main(void)
{
	pthread_t thread[2];
	cpu_set_t cpus;

	if (!sched_getaffinity(0, sizeof(cpus), &cpus) &&
	    CPU_COUNT(&cpus) > 1 && is_watched())
		between.tv_nsec = 20000000;
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, add, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	assert(sum == 2);
	return 0;
}
