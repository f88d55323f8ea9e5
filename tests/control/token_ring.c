// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Three threads hand a number on, each under the lock, and nothing says in
 * which order; an observer finds that it has not come round. As a rule each is
 * through before the next one is there.
 */
#include <assert.h>
#include <pthread.h>
#include "../ends_first.h"

static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
static volatile int x1 = 1, x2 = 2, x3 = 1, f1, f2, f3;
#define R(n, body)                        \
	static void *t##n(void *p)        \
	{                                 \
		pthread_mutex_lock(&l);   \
		body;                     \
		f##n = 1;                 \
		pthread_mutex_unlock(&l); \
		return p;                 \
	}
R(1, x1 = (x3 + 1) % 4)
R(2, x2 = x1)
R(3, x3 = x2)
static void *ck(void *p)
{
	pthread_mutex_lock(&l);
	if (f1 && f2 && f3)
		assert(x1 == x2 && x2 == x3);
	pthread_mutex_unlock(&l);
	return p;
}

int main(void)
{
	pthread_t t[4];

	pthread_create(&t[0], 0, t1, 0);
	ends_first(t[0], ENDS_FIRST_MS);
	pthread_create(&t[1], 0, t2, 0);
	ends_first(t[1], ENDS_FIRST_MS);
	pthread_create(&t[2], 0, t3, 0);
	ends_first(t[2], ENDS_FIRST_MS);
	pthread_create(&t[3], 0, ck, 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	return 0;
}
