// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * reorder [N]: all but one of N threads write a, then b; the last must see both
 * or none. It has to come between the two writes of the first to make them: the
 * more threads there are, the fewer orders of them have that.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static volatile int a, b;

static void *set(void *p)
{
	a = 1;
	b = -1;
	return p;
}

static void *check(void *p)
{
	int x = a, y = b;
	assert((x == 0 && y == 0) || (x == 1 && y == -1));
	return p;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 3;
	pthread_t t[128];

	for (int i = 0; i < n - 1; i++)
		pthread_create(&t[i], 0, set, 0);
	pthread_create(&t[n - 1], 0, check, 0);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], 0);
	return 0;
}
