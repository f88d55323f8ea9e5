// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Settings are read by one function and written by another, by their number,
 * under a lock. Thirty of them are read twice by who only wants to print them,
 * and may have changed in between. One is a divisor.
 *
 * Bug: rate() asks whether the divisor is 0, and then asks again for it.
 */
#include <pthread.h>

#define N     31
#define SCALE 30

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value[N];
static int printed;

static int get(int which)
{
	int v;

	pthread_mutex_lock(&lock);
	v = value[which];
	pthread_mutex_unlock(&lock);
	return v;
}

static void set(int which, int v)
{
	pthread_mutex_lock(&lock);
	value[which] = v;
	pthread_mutex_unlock(&lock);
}

static int rate(void)
{
	return get(SCALE) ? 100 / get(SCALE) : 0;
}

static void *reader(void *arg)
{
	for (int i = 0; i < SCALE; i++)
		if (get(i))
			printed += get(i);
	printed += rate();
	for (int i = 0; i < SCALE; i++)
		if (get(i))
			printed += get(i);
	return arg;
}

static void *writer(void *arg)
{
	for (int i = 0; i < N; i++)
		set(i, 0);
	for (int i = 0; i < N; i++)
		set(i, 1);
	return arg;
}

int main(void)
{
	pthread_t t[2];

	for (int i = 0; i < N; i++)
		value[i] = 1;
	pthread_create(&t[0], 0, reader, 0);
	pthread_create(&t[1], 0, writer, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
