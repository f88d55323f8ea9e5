// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Clean: two threads hand a turn to each other and spin for it, without a
 * yield. On one CPU with fixed priorities the spinner must be made to let go.
 */
#include <assert.h>
#include <pthread.h>

enum { ROUNDS = 5 };

static int turn;
static int passes; /* belongs to whose turn it is */

static void *play(void *arg)
{
	int self = *(int *)arg;

	for (int i = 0; i < ROUNDS; i++) {
		while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != self)
			;
		passes++;
		__atomic_store_n(&turn, !self, __ATOMIC_RELEASE);
	}
	return NULL;
}

int main(void)
{
	int self[] = { 0, 1 };
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, play, &self[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert(passes == 2 * ROUNDS);
	return 0;
}
