// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * maple-canary, the program with a bug that mapletest doctor has to find. It
 * is a program of its own, and small: a backend that works from outside has
 * little to probe.
 *
 * The bug: a worker looks whether there is an item and then uses it, while main
 * takes the item away in between. By itself it never fails, because main waits
 * first.
 */
#ifdef __clang__
#pragma clang optimize off
#else
#pragma GCC optimize("O0")
#endif

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

static int thing = 1;
static int *volatile item = &thing;
static volatile int used;

static void *use(void *arg)
{
	for (int i = 0; i < 3; i++)
		if (item)
			used += *item;
	return NULL;
}

int main(void)
{
	struct rlimit none = { 0, 0 };
	pthread_t worker;

	setrlimit(RLIMIT_CORE, &none);
	if (pthread_create(&worker, NULL, use, NULL))
		return 1;
	usleep(20000);
	item = NULL;
	pthread_join(worker, NULL);
	return 0;
}
