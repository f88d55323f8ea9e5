// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A plain counter without a lock. Optimised, selling a ticket is a single
 * instruction: no scheduler can come in its middle, another CPU can. Both
 * clerks then sell the same ticket, and one sale is lost.
 *
 * Idiom: 2
 * iRoot: R:19 -> W:19 -> W:19
 * Native: 0 of 1000 runs fail
 */
#include <assert.h>
#include <pthread.h>

static unsigned int sold;

/* Compiled with -O2. */
static void *clerk(void *arg)
{
	sold++; /* e0 e1 e2 */
	return arg;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, clerk, NULL);
	pthread_create(&b, NULL, clerk, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	assert(sold == 2);
	return 0;
}
