// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Deposit and withdrawal each read the balance and write back a sum of their
 * own, without a lock. A write between the two is lost, and money with it.
 *
 * Idiom: 1
 * iRoot: R:20 -> W:34
 * Native: 0 of 1000 runs fail
 */
#include <assert.h>
#include <pthread.h>

static int balance = 1000;

static void *deposit(void *arg)
{
	int amount = *(int *)arg;
	int sum;

	sum = balance; /* e0 */
	balance = sum + amount;
	return NULL;
}

static void *withdraw(void *arg)
{
	int amount = *(int *)arg, sum;
	long check = 0;

	/* Look at the card; the deposit is through by then, as a rule. */
	for (int i = 0; i < 100000; i++)
		check += i;
	sum = balance;
	balance = sum - amount; /* e1 */
	return NULL;
}

int main(void)
{
	int in = 300, out = 200;
	pthread_t a, b;

	pthread_create(&a, NULL, deposit, &in);
	pthread_create(&b, NULL, withdraw, &out);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	assert(balance == 1100);
	return 0;
}
