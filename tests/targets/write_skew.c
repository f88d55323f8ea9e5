// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A server may go down while the other one is up. Each checks the other's
 * flag and then clears its own: in the end both may be down.
 *
 * Idiom: 1
 * iRoot: R:25 -> W:19
 * Native: 0 of 1000 runs fail
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

static bool first_up = true, second_up = true;

static void *stop_first(void *arg)
{
	if (second_up)
		first_up = false; /* e1 */
	return NULL;
}

static void *stop_second(void *arg)
{
	if (first_up) /* e0 */
		second_up = false;
	return NULL;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, stop_first, NULL);
	pthread_create(&b, NULL, stop_second, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	assert(first_up || second_up);
	return 0;
}
