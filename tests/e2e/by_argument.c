// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Does the same with each argument, two updates of a balance that can be lost;
 * but it looks at the balance only if the argument is b or c. So whoever has
 * tried all orders with another argument knows nothing of these.
 */
#include <assert.h>
#include <pthread.h>
#include <string.h>

static int balance = 1000;

static void *deposit(void *unused)
{
	int old = balance;

	balance = old + 200;
	return unused;
}

static void *withdraw(void *unused)
{
	int old = balance;

	balance = old - 100;
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t one, two;

	pthread_create(&one, NULL, deposit, NULL);
	pthread_create(&two, NULL, withdraw, NULL);
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	if (argc > 1 && strpbrk(argv[1], "bc"))
		assert(balance == 1100);
	return 0;
}
