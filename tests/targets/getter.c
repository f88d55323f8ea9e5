// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What get() returned the first time need not be what it returns the second
 * time. One line of code does all the reading, so no pair of lines is to blame.
 *
 * Idiom: 2
 * iRoot: R:18 -> W:32 -> R:18
 * Native: 0 of 1000 runs fail
 */
#include <pthread.h>
#include <stddef.h>

static char text[] = "maple";
static char *title = text;

static char *get(void)
{
	return title; /* e0 e2 */
}

static void *show(void *arg)
{
	char *first = arg;

	if (get())
		*first = *get();
	return NULL;
}

static void *reset(void *arg)
{
	title = NULL; /* e1 */
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	char first = 0;

	pthread_create(&a, NULL, show, &first);
	pthread_create(&b, NULL, reset, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return get() != NULL;
}
