// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * two_stage [N]: all but one of N threads write one number under a lock and a
 * second one, made of it, under another. The last, which reads both, has to
 * come between the two stages of the first.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t l1 = PTHREAD_MUTEX_INITIALIZER,
		       l2 = PTHREAD_MUTEX_INITIALIZER;
static volatile int data1, data2;

static void *two(void *p)
{
	pthread_mutex_lock(&l1);
	data1 = 1;
	pthread_mutex_unlock(&l1);
	pthread_mutex_lock(&l2);
	data2 = data1 + 1;
	pthread_mutex_unlock(&l2);
	return p;
}

static void *rd(void *p)
{
	int t1, t2;
	pthread_mutex_lock(&l1);
	if (data1 == 0) {
		pthread_mutex_unlock(&l1);
		return p;
	}
	t1 = data1;
	pthread_mutex_unlock(&l1);
	pthread_mutex_lock(&l2);
	t2 = data2;
	pthread_mutex_unlock(&l2);
	assert(t2 == t1 + 1);
	return p;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 2;
	pthread_t t[128];

	for (int i = 0; i < n - 1; i++)
		pthread_create(&t[i], 0, two, 0);
	pthread_create(&t[n - 1], 0, rd, 0);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], 0);
	return 0;
}
