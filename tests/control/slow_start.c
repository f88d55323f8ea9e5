// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Two threads that add one each, of which the first does long sums of its own
 * before: until it has come to its first access its creator, and so the second
 * thread, must not go on, or a schedule would be another one each time. The
 * status is 1 if an update is lost.
 */
#include <pthread.h>

static volatile long count;

static void *sum_and_add(void *unused)
{
	unsigned long x = 1;

	for (unsigned long i = 0; i < 20000000; i++)
		__asm__ volatile("imul $3, %0" : "+r"(x));
	count = count + 1;
	return NULL;
}

/* Of which no place need be in a schedule. */
static void *add(void *unused)
{
	count = count + 1;
	return NULL;
}

int main(void)
{
	pthread_t thread[2];

	pthread_create(&thread[0], NULL, sum_and_add, NULL);
	pthread_create(&thread[1], NULL, add, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	return count != 2;
}
