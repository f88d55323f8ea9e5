// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A table's size is read under its lock, then 3,000 accesses to memory that is
 * shared follow, then the table is used: further apart than the window in which
 * local pairs are looked for.
 *
 * Bug: the table may have shrunk in between.
 */
#include <assert.h>
#include <pthread.h>

#define STEPS 1500

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int size = 8, sum;

static void *use(void *arg)
{
	int seen;

	pthread_mutex_lock(&lock);
	seen = size;
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < STEPS; i++)
		sum += i;
	pthread_mutex_lock(&lock);
	assert(seen <= size);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *shrink(void *arg)
{
	pthread_mutex_lock(&lock);
	size = 4;
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	pthread_t t[2];

	pthread_create(&t[0], 0, use, 0);
	pthread_create(&t[1], 0, shrink, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return sum < 0;
}
