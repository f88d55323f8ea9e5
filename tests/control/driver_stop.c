// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A driver is stopped when its last request has ended. A request looks whether
 * it is being stopped before it is counted; in between, the driver may have
 * stopped.
 */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
static volatile int pending = 1, stopping, stopped, event;

static int inc(void)
{
	if (stopping)
		return -1;
	pthread_mutex_lock(&l);
	pending = pending + 1;
	pthread_mutex_unlock(&l);
	return 0;
}

static void dec(void)
{
	int x;
	pthread_mutex_lock(&l);
	pending = pending - 1;
	x = pending;
	pthread_mutex_unlock(&l);
	if (x == 0)
		event = 1;
}

static void *add(void *p)
{
	int s = inc();
	if (s == 0) {
		assert(!stopped);
	}
	dec();
	return p;
}

static void *stop(void *p)
{
	stopping = 1;
	dec();
	if (event)
		stopped = 1;
	return p;
}

int main(void)
{
	pthread_t t[2];

	pthread_create(&t[0], 0, stop, 0);
	pthread_create(&t[1], 0, add, 0);
	pthread_join(t[0], 0);
	pthread_join(t[1], 0);
	return 0;
}
