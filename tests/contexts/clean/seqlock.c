// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Two values that belong together are written between two steps of a counter,
 * and read again where the counter has moved: what is used belongs together.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int steps, low, high;

static void *writer(void *arg)
{
	for (int i = 1; i <= 4; i++) {
		atomic_fetch_add(&steps, 1);
		low = i;
		high = i;
		atomic_fetch_add(&steps, 1);
	}
	return arg;
}

static void *reader(void *arg)
{
	for (int i = 0; i < 4; i++) {
		int before, l, h;

		do {
			before = steps;
			l = low;
			h = high;
		} while (before & 1 || before != steps);
		assert(l == h);
	}
	return arg;
}

int main(void)
{
	pthread_t t[2];

	pthread_create(&t[0], 0, reader, 0);
	pthread_create(&t[1], 0, writer, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
