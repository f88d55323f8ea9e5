// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A token goes round: each station takes over what its neighbour has, under
 * the lock, but no station waits until the neighbour has it. The inspector
 * comes last and looks whether all have the same, once all have passed it on.
 * No order of two accesses decides alone: three stations have to be through.
 */
#include <assert.h>
#include <pthread.h>
#include "../ends_first.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int first = 1, second = 2, third = 3;
static int passed;
static pthread_t thread[4]; /* each comes later than the one before it */

static void *pass_first(void *arg)
{
	int token = 7;

	pthread_mutex_lock(&lock);
	passed++;
	first = token;
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *pass_second(void *arg)
{
	ends_first(thread[0], ENDS_FIRST_MS);
	pthread_mutex_lock(&lock);
	second = first;
	passed++;
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *pass_third(void *arg)
{
	ends_first(thread[1], ENDS_FIRST_MS);
	pthread_mutex_lock(&lock);
	third = second;
	passed++;
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *inspect(void *arg)
{
	ends_first(thread[2], ENDS_FIRST_MS);
	pthread_mutex_lock(&lock);
	if (passed == 3)
		assert(first == second && second == third);
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	void *(*const station[])(void *) = { pass_first, pass_second,
					     pass_third, inspect };

	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, station[i], NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
