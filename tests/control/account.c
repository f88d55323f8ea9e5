// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A withdrawal reads the balance before it takes the lock that it writes it
 * back under, so a deposit in between is lost; a check notices only when it
 * comes after both. No single dependency of two accesses makes it fail.
 */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
static volatile int balance = 10, d, w;

static void *dep(void *p)
{
	pthread_mutex_lock(&l);
	balance = balance + 10;
	d = 1;
	pthread_mutex_unlock(&l);
	return p;
}

static void *wd(void *p)
{
	int x = balance;
	pthread_mutex_lock(&l);
	balance = x - 5;
	w = 1;
	pthread_mutex_unlock(&l);
	return p;
}

static void *chk(void *p)
{
	pthread_mutex_lock(&l);
	if (d && w)
		assert(balance == 15);
	pthread_mutex_unlock(&l);
	return p;
}

int main(void)
{
	pthread_t t[3];

	pthread_create(&t[0], 0, chk, 0);
	pthread_create(&t[1], 0, dep, 0);
	pthread_create(&t[2], 0, wd, 0);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], 0);
	return 0;
}
