// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Crashes in a known function at a known line when the pointer is taken away
 * between the look and the use; never by itself.
 */
#include <pthread.h>
#include <stddef.h>

static int value;
static int *pointer = &value;

static void crash_here(int *where)
{
	*where = 1; /* CRASH */
}

static void *use(void *arg)
{
	if (pointer)
		crash_here(pointer);
	return NULL;
}

static void *take_away(void *arg)
{
	pointer = NULL;
	return NULL;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, use, NULL);
	pthread_create(&b, NULL, take_away, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
