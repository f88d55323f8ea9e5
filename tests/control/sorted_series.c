// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A series of points is kept in order. Where a new one belongs is searched
 * without the lock under which it is put there: a second point that came in
 * between moved the place.
 */
#include <assert.h>
#include <pthread.h>

#define MOST 16

static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
static volatile int x[MOST], count;

static int place_of(int v)
{
	int low = 0, high = count;

	while (low < high) {
		int middle = (low + high) / 2;

		if (x[middle] < v)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void put(int at, int v)
{
	pthread_mutex_lock(&l);
	for (int i = count; i > at; i--)
		x[i] = x[i - 1];
	x[at] = v;
	count = count + 1;
	pthread_mutex_unlock(&l);
}

static void add(int v)
{
	put(place_of(v), v); /* bug: the place may have moved */
}

static void *high(void *p)
{
	add(9);
	return p;
}

static void *low(void *p)
{
	add(1);
	return p;
}

int main(void)
{
	pthread_t t[2];

	for (int i = 2; i < 8; i += 2)
		add(i);
	pthread_create(&t[0], 0, high, 0);
	pthread_create(&t[1], 0, low, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	for (int i = 1; i < count; i++)
		assert(x[i - 1] < x[i]);
	return 0;
}
