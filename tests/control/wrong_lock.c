// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * wrong_lock [N]: one of N threads uses another lock than the others for the
 * same data.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t l1 = PTHREAD_MUTEX_INITIALIZER,
		       l2 = PTHREAD_MUTEX_INITIALIZER;
static volatile int data;

static void *f1(void *p)
{
	int x;
	pthread_mutex_lock(&l1);
	x = data;
	data = x + 1;
	assert(data == x + 1);
	pthread_mutex_unlock(&l1);
	return p;
}

static void *f2(void *p)
{
	pthread_mutex_lock(&l2);
	data = data + 1;
	pthread_mutex_unlock(&l2);
	return p;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 3;
	pthread_t t[64];

	for (int i = 0; i < n; i++)
		pthread_create(&t[i], 0, i < 1 ? f1 : f2, 0);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], 0);
	return 0;
}
