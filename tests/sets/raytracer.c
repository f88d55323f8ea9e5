// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * raytracer: each worker renders some rows and adds them to the checksum of
 * all, which it holds a lock for.
 *
 * Bug: it is the lock of the worker's own scene, and keeps nobody else away.
 */
#include <assert.h>
#include <pthread.h>

struct scene {
	pthread_mutex_t lock;
	int rows;
};

static struct scene scene[2] = {
	{ PTHREAD_MUTEX_INITIALIZER, 10 },
	{ PTHREAD_MUTEX_INITIALIZER, 100000 },
};
static long checksum;

static void *render(void *arg)
{
	struct scene *s = arg;
	long sum = 0;

	for (int i = 0; i < s->rows * 10; i++)
		sum += i % 7;
	pthread_mutex_lock(&s->lock);
	checksum = checksum + s->rows;
	pthread_mutex_unlock(&s->lock);
	return sum < 0 ? arg : 0;
}

int main(void)
{
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], 0, render, &scene[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	assert(checksum == scene[0].rows + scene[1].rows);
	return 0;
}
