// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Clean: two threads count under one mutex, and the sum is right in every
 * order. One of them takes the lock by trylock where it can.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

enum { ROUNDS = 50 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void *count(void *arg)
{
	bool try = *(bool *)arg;

	for (int i = 0; i < ROUNDS; i++) {
		if (!try || pthread_mutex_trylock(&lock) != 0)
			pthread_mutex_lock(&lock);
		counter++;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	bool try[] = { false, true };
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, count, &try[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert(counter == 2 * ROUNDS);
	return 0;
}
