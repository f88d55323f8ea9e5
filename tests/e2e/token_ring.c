// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A token goes round: each station takes over what its neighbour has, under
 * the lock, but no station waits until the neighbour has it. The inspector
 * comes last and looks whether all have the same, once all have passed it on.
 * No order of two accesses decides alone: three stations have to be through.
 */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int first = 1, second = 2, third = 3;
static int passed;

/*
 * What a station does before the token is its own: so much more than the one
 * before it that it comes later even if that has a third of a CPU.
 */
static void work(int much)
{
	for (volatile int i = 0; i < much * 4000000; i++)
		;
}

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
	work(1);
	pthread_mutex_lock(&lock);
	second = first;
	passed++;
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *pass_third(void *arg)
{
	work(4);
	pthread_mutex_lock(&lock);
	third = second;
	passed++;
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *inspect(void *arg)
{
	work(12);
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
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, station[i], NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
