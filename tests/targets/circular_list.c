// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A worker takes the list's first unit, works on it and puts it back at the
 * end: three steps. Another worker that overtakes it upsets the order.
 *
 * Idiom: 3
 * iRoot: U:27 -> L:25, U:35 -> L:33
 * Native: 0 of 1000 runs fail
 */
#include <assert.h>
#include <pthread.h>

enum { UNITS = 4, SLOTS = 8 };

static struct {
	pthread_mutex_t lock;
	int units[SLOTS];
	int head, tail;
} list = { PTHREAD_MUTEX_INITIALIZER, { 0, 1, 2, 3 }, 0, UNITS };

static int take(void)
{
	int unit;

	pthread_mutex_lock(&list.lock); /* e1 */
	unit = list.units[list.head++];
	pthread_mutex_unlock(&list.lock); /* e0 */
	return unit;
}

static void put(int unit)
{
	pthread_mutex_lock(&list.lock); /* e3 */
	list.units[list.tail++] = unit;
	pthread_mutex_unlock(&list.lock); /* e2 */
}

static void *work(void *arg)
{
	int think = 0;

	for (int i = 0; i < *(int *)arg; i++)
		think += i;
	put(take());
	return NULL;
}

int main(void)
{
	int short_time = 0, long_time = 100000;
	pthread_t a, b;

	pthread_create(&a, NULL, work, &short_time);
	pthread_create(&b, NULL, work, &long_time);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	assert(list.units[UNITS] < list.units[UNITS + 1]);
	return 0;
}
