// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Three steps under one lock; the last fails if both others came before it,
 * which it never does natively, since its thread is the first.
 */
#include <assert.h>
#include <pthread.h>
#include "../ends_first.h"

static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
static volatile int data;

static void *one(void *p)
{
	pthread_mutex_lock(&l);
	data = data + 1;
	pthread_mutex_unlock(&l);
	return p;
}

static void *two(void *p)
{
	pthread_mutex_lock(&l);
	data = data + 2;
	pthread_mutex_unlock(&l);
	return p;
}

static void *three(void *p)
{
	pthread_mutex_lock(&l);
	assert(data < 3);
	pthread_mutex_unlock(&l);
	return p;
}

int main(void)
{
	pthread_t t[3];

	pthread_create(&t[2], 0, three, 0);
	ends_first(t[2], ENDS_FIRST_MS);
	pthread_create(&t[0], 0, one, 0);
	pthread_create(&t[1], 0, two, 0);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], 0);
	return 0;
}
