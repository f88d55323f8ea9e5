// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Who pops from a stack looks at a flag that says that something was pushed,
 * and not at how much is left. It is set for good, so who is faster than the
 * one that pushes pops from below the bottom.
 */
#include <assert.h>
#include <pthread.h>

#define SIZE 5

static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
static int item[SIZE], top, flag;

static void *push(void *p)
{
	for (int i = 0; i < SIZE; i++) {
		pthread_mutex_lock(&l);
		assert(top < SIZE);
		item[top++] = i;
		flag = 1;
		pthread_mutex_unlock(&l);
	}
	return p;
}

static void *pop(void *p)
{
	for (int i = 0; i < SIZE; i++) {
		pthread_mutex_lock(&l);
		if (flag) {
			assert(top > 0);
			item[--top] = 0;
		}
		pthread_mutex_unlock(&l);
	}
	return p;
}

int main(void)
{
	pthread_t t[2];

	pthread_create(&t[0], 0, push, 0);
	pthread_create(&t[1], 0, pop, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
