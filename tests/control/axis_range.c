// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * An axis of a chart has two ends, each under the lock. To zoom reads both, and
 * writes one after the other; who sets another range in between leaves the lower
 * end of his own with the upper one of what was zoomed, which is below it.
 */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
static volatile int lower, upper, drawn;

static int get(volatile int *end)
{
	int v;

	pthread_mutex_lock(&l);
	v = *end;
	pthread_mutex_unlock(&l);
	return v;
}

static void set(volatile int *end, int v)
{
	pthread_mutex_lock(&l);
	*end = v;
	drawn = 0;
	pthread_mutex_unlock(&l);
}

static void set_range(int from, int to)
{
	set(&lower, from);
	set(&upper, to); /* bug: two sections */
}

static void draw(void)
{
	pthread_mutex_lock(&l);
	drawn = 1;
	pthread_mutex_unlock(&l);
}

static void *zoom(void *p)
{
	int from = get(&lower), to = get(&upper);

	set_range(from + (to - from) / 4, to - (to - from) / 4);
	draw();
	return p;
}

static void *show(void *p)
{
	set_range(200, 300);
	draw();
	return p;
}

int main(void)
{
	pthread_t t[2];

	set_range(0, 100);
	pthread_create(&t[0], 0, zoom, 0);
	pthread_create(&t[1], 0, show, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	assert(lower < upper);
	return 0;
}
