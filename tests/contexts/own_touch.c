// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A stock is looked at and then, in another section, counted down: a load and a
 * store. So the local pair that matters, the look and the store, has the load
 * of the same variable in between.
 *
 * Bug: what sell() has seen need not be there any more when it takes it.
 */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int stock = 1;

static void *sell(void *arg)
{
	int seen;

	pthread_mutex_lock(&lock);
	seen = stock;
	pthread_mutex_unlock(&lock);
	if (seen > 0) {
		pthread_mutex_lock(&lock);
		stock = stock - 1;
		assert(stock >= 0);
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

int main(void)
{
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], 0, sell, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
