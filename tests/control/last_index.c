// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * An array is searched from its end, under its lock. Where the end is was asked
 * before that; the last one may be taken away until the search begins.
 */
#include <assert.h>
#include <pthread.h>

#define MOST 8

static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
static volatile int item[MOST], count;

static void push(int v)
{
	pthread_mutex_lock(&l);
	item[count] = v;
	count = count + 1;
	pthread_mutex_unlock(&l);
}

static int last_index_from(int v, int from)
{
	int i;

	pthread_mutex_lock(&l);
	assert(from < count);
	for (i = from; i >= 0 && item[i] != v; i--)
		;
	pthread_mutex_unlock(&l);
	return i;
}

static int last_index(int v)
{
	return last_index_from(v, count - 1); /* bug: no lock */
}

static void drop_all(void)
{
	pthread_mutex_lock(&l);
	for (int i = 0; i < count; i++)
		item[i] = 0;
	count = 0;
	pthread_mutex_unlock(&l);
}

static void *find(void *p)
{
	last_index(2);
	return p;
}

static void *empty(void *p)
{
	drop_all();
	return p;
}

int main(void)
{
	pthread_t t[2];

	for (int i = 0; i < 3; i++)
		push(i);
	pthread_create(&t[0], 0, find, 0);
	pthread_create(&t[1], 0, empty, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
