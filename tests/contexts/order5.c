// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Two sums that belong together are raised one after the other, each in a
 * section of its own; who reads them does so the other way round, each in a
 * section of its own as well.
 *
 * Bug: audit() may see the second sum raised and the first one not, or the
 * other way round.
 */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int paid, booked;

static void *book(void *arg)
{
	pthread_mutex_lock(&lock);
	paid = paid + 1;
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&lock);
	booked = booked + 1;
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *audit(void *arg)
{
	int b, p;

	pthread_mutex_lock(&lock);
	b = booked;
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&lock);
	p = paid;
	pthread_mutex_unlock(&lock);
	assert(b == p);
	return arg;
}

int main(void)
{
	pthread_t t[2];

	pthread_create(&t[0], 0, book, 0);
	pthread_create(&t[1], 0, audit, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
