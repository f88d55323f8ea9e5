// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Two threads each read the balance and write back a sum of their own: a write
 * between the two is lost. Idiom 1. With -DLOCKED they take a lock for it.
 */
#include <assert.h>
#include <pthread.h>

static int balance = 1000;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void enter(void)
{
#ifdef LOCKED
	pthread_mutex_lock(&lock);
#endif
}

static void leave(void)
{
#ifdef LOCKED
	pthread_mutex_unlock(&lock);
#endif
}

static void *pay_in(void *amount)
{
	int sum;

	enter();
	sum = balance;
	balance = sum + *(int *)amount;
	leave();
	return NULL;
}

static void *pay_out(void *amount)
{
	int sum;

	enter();
	sum = balance;
	balance = sum - *(int *)amount;
	leave();
	return NULL;
}

int main(void)
{
	int in = 300, out = 200;
	pthread_t payer, payee;

	(void)lock;
	pthread_create(&payer, NULL, pay_in, &in);
	pthread_create(&payee, NULL, pay_out, &out);
	pthread_join(payer, NULL);
	pthread_join(payee, NULL);
	assert(balance == 1100);
	return 0;
}
