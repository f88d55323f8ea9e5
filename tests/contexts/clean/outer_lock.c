// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Two values that belong together have a getter and a setter each, with a lock
 * inside; who reads or writes both holds another lock around the two calls.
 */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static int pair[2];

static int get(int which)
{
	int v;

	pthread_mutex_lock(&inner);
	v = pair[which];
	pthread_mutex_unlock(&inner);
	return v;
}

static void set(int which, int v)
{
	pthread_mutex_lock(&inner);
	pair[which] = v;
	pthread_mutex_unlock(&inner);
}

static void *reader(void *arg)
{
	for (int i = 0; i < 5; i++) {
		int first;

		pthread_mutex_lock(&outer);
		first = get(0);
		assert(first == get(1));
		pthread_mutex_unlock(&outer);
	}
	return arg;
}

static void *writer(void *arg)
{
	for (int i = 0; i < 5; i++) {
		pthread_mutex_lock(&outer);
		set(0, i);
		set(1, i);
		pthread_mutex_unlock(&outer);
	}
	return arg;
}

int main(void)
{
	pthread_t t[2];

	pthread_create(&t[0], 0, reader, 0);
	pthread_create(&t[1], 0, writer, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
