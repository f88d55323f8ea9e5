// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The walker looks whether a slot is taken and then uses it, 64 times; only
 * the 50th time is it a slot that another thread gives up meanwhile.
 *
 * Idiom: 1
 * iRoot: W:31 -> R:24
 * Native: 0 of 1000 runs fail
 */
#include <pthread.h>
#include <stddef.h>

enum { SLOTS = 64, VICTIM = 49 };

static int values[SLOTS];
static int *slots[SLOTS];

static void *walk(void *arg)
{
	int *sum = arg;

	for (int i = 0; i < SLOTS; i++) {
		if (slots[i])
			*sum += *slots[i]; /* e1 */
	}
	return NULL;
}

static void *give_up(void *arg)
{
	slots[VICTIM] = NULL; /* e0 */
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	int sum = 0;

	for (int i = 0; i < SLOTS; i++)
		slots[i] = &values[i];
	pthread_create(&a, NULL, walk, &sum);
	pthread_create(&b, NULL, give_up, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
