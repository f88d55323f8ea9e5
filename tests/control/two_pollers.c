// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Two threads that wait for each other by looking once a second, ten times
 * each. Natively that takes some 20 s; in a controlled run time jumps.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 10

static atomic_int turn;

static void *play(void *arg)
{
	int self = arg != NULL;

	for (int i = 0; i < ROUNDS; i++) {
		while (atomic_load(&turn) % 2 != self)
			sleep(1);
		sleep(1);
		atomic_fetch_add(&turn, 1);
	}
	return NULL;
}

int main(void)
{
	struct timespec from, to;
	pthread_t a, b;

	clock_gettime(CLOCK_MONOTONIC, &from);
	pthread_create(&a, NULL, play, NULL);
	pthread_create(&b, NULL, play, &a);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	clock_gettime(CLOCK_MONOTONIC, &to);
	assert(atomic_load(&turn) == 2 * ROUNDS);
	/* It says that it took as long as it would have. */
	assert(to.tv_sec - from.tv_sec >= ROUNDS);
	return 0;
}
