// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The shape of moldyn: threads move their particles, meet at a barrier of their
 * own making, whose flags are read and written without a lock, and read each
 * other's.
 */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { THREADS = 2, ROUNDS = 2 };

static atomic_int here[THREADS];
static int at[THREADS];

static void barrier(int me, int round)
{
	atomic_store(&here[me], round);
	for (int i = 0; i < THREADS; i++)
		while (atomic_load(&here[i]) < round)
			sched_yield();
}

static void *particles(void *arg)
{
	int me = arg == &at[1], other;

	for (int round = 0; round < ROUNDS; round++) {
		at[me] = at[me] + 1;
		barrier(me, 2 * round + 1);
		other = at[1 - me];
		assert(other == round + 1);
		barrier(me, 2 * round + 2);
	}
	return 0;
}

int main(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], 0, particles, &at[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], 0);
	return 0;
}
