// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Ocean: two threads smooth a row of water each, once, and then, if anything
 * has moved by more than a little, until nothing does. The greatest movement is
 * looked at and written without a lock: a smaller one may take the place of the
 * greatest, and the water stays as rough as it is.
 *
 * Paper: threads read and write global variables without locks; wrong output
 */
#include "guard.h"

#define N      6
#define LITTLE 3

static int water[2][N] = { { 0, 1, 2, 3, 4, 9 }, { 0, 90, 10, 80, 30, 60 } };
static int moved;
static pthread_barrier_t barrier;

static int smooth(int *row)
{
	int most = 0, step;

	for (int i = 1; i < N - 1; i++) {
		step = (row[i - 1] + row[i + 1]) / 2 - row[i];
		row[i] += step;
		if (abs(step) > most)
			most = abs(step);
	}
	return most;
}

static void *relax(void *arg)
{
	int self = arg != NULL, most;

	work(self ? 0 : 100);
	most = smooth(water[self]);
	LOCK();
	if (most > moved)
		moved = most;
	UNLOCK();
	pthread_barrier_wait(&barrier);
	if (moved > LITTLE)
		while (smooth(water[self]) > LITTLE)
			;
	return NULL;
}

int main(void)
{
	pthread_t other;

	pthread_barrier_init(&barrier, NULL, 2);
	other = start(relax, NULL);
	relax(&barrier);
	pthread_join(other, NULL);
	/* All of it would move by a little only if it was smoothed again. */
	return smooth(water[0]) > LITTLE || smooth(water[1]) > LITTLE;
}
