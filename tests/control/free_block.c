// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A free block is found, and then marked: two sections. Two threads may find the
 * same; the second one notices only if the first has marked it, and not yet freed
 * it again. So each has to be stopped once: two preemptions, at one variable.
 */
#include <assert.h>
#include <pthread.h>

#define BLOCKS 16
#define EACH   3

static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
static int taken[BLOCKS];

static int find_free(void)
{
	int b = 0;

	pthread_mutex_lock(&l);
	while (taken[b])
		b++;
	pthread_mutex_unlock(&l);
	return b;
}

static void mark(int b, int is_taken)
{
	pthread_mutex_lock(&l);
	assert(taken[b] != is_taken);
	taken[b] = is_taken;
	pthread_mutex_unlock(&l);
}

static void *use(void *p)
{
	int mine[EACH];

	for (int i = 0; i < EACH; i++) {
		mine[i] = find_free();
		mark(mine[i], 1); /* bug: it may be taken by now */
	}
	for (int i = 0; i < EACH; i++)
		mark(mine[i], 0);
	return p;
}

int main(void)
{
	pthread_t t[2];

	for (int i = 0; i < BLOCKS / 2; i++)
		mark(2 * i, 1);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], 0, use, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
