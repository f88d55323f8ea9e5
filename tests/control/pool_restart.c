// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A pool of connections is opened by whoever wants one, and closed when all are
 * back. To open it, and to take one from it, are two sections: it may be closed
 * in between, and what is taken then is a connection that was shut.
 */
#include <assert.h>
#include <pthread.h>

#define SIZE 3

static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
static volatile int is_open, idle, connected[SIZE], closings;

static void open_pool(void)
{
	pthread_mutex_lock(&l);
	if (!is_open) {
		for (int i = 0; i < SIZE; i++)
			connected[i] = 1;
		idle = SIZE;
		is_open = 1;
	}
	pthread_mutex_unlock(&l);
}

static int borrow(void)
{
	int c;

	open_pool();
	pthread_mutex_lock(&l); /* bug: it may be closed again */
	c = idle > 0 ? --idle : 0;
	pthread_mutex_unlock(&l);
	return c;
}

static void give_back(void)
{
	pthread_mutex_lock(&l);
	idle++;
	pthread_mutex_unlock(&l);
}

static void close_pool(void)
{
	pthread_mutex_lock(&l);
	if (is_open && idle == SIZE) {
		for (int i = 0; i < SIZE; i++)
			connected[i] = 0;
		idle = 0;
		is_open = 0;
		closings++;
	}
	pthread_mutex_unlock(&l);
}

static void *ask(void *p)
{
	int c = borrow();

	assert(connected[c]);
	give_back();
	return p;
}

static void *tidy(void *p)
{
	close_pool();
	return p;
}

int main(void)
{
	pthread_t t[2];

	borrow();
	give_back();
	pthread_create(&t[0], 0, ask, 0);
	pthread_create(&t[1], 0, tidy, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
