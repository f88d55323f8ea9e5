// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Threads set a and then b, one checks that neither is set alone:
 *   setters N [LOCKS]
 * It is seen in between only if none of the N has set both before. That the
 * checker comes before one of them is harmless otherwise, and happens first.
 *
 * With LOCKS each of the two is read and written under a lock of its own, and
 * who finds a not set asks no more.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define MOST 128

static pthread_mutex_t lock_a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock_b = PTHREAD_MUTEX_INITIALIZER;
static int a, b;

static void *set(void *arg)
{
	a = 1;
	b = -1;
	return NULL;
}

static void *check(void *arg)
{
	int seen_a, seen_b;

	for (volatile int i = 0; i < 100000; i++)
		;
	seen_a = a;
	seen_b = b;
	assert((seen_a == 0 && seen_b == 0) || (seen_a == 1 && seen_b == -1));
	return NULL;
}

static void *set_locked(void *arg)
{
	pthread_mutex_lock(&lock_a);
	a = 1;
	pthread_mutex_unlock(&lock_a);
	pthread_mutex_lock(&lock_b);
	b = a + 1;
	pthread_mutex_unlock(&lock_b);
	return NULL;
}

static void *check_locked(void *arg)
{
	int seen_a, seen_b;

	for (volatile int i = 0; i < 100000; i++)
		;
	pthread_mutex_lock(&lock_a);
	seen_a = a;
	pthread_mutex_unlock(&lock_a);
	if (!seen_a)
		return NULL;
	pthread_mutex_lock(&lock_b);
	seen_b = b;
	pthread_mutex_unlock(&lock_b);
	assert(seen_b == seen_a + 1);
	return NULL;
}

int main(int argc, char **argv)
{
	bool locks = argc > 2;
	int n = atoi(argv[1]);
	pthread_t setter[MOST], checker;

	assert(n <= MOST);
	for (int i = 0; i < n; i++)
		pthread_create(&setter[i], NULL, locks ? set_locked : set, NULL);
	pthread_create(&checker, NULL, locks ? check_locked : check, NULL);
	for (int i = 0; i < n; i++)
		pthread_join(setter[i], NULL);
	pthread_join(checker, NULL);
	return 0;
}
