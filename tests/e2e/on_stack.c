// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Two threads lose an update of a variable on main's stack. */
#include <assert.h>
#include <pthread.h>

struct account {
	long id;
	int balance;
};

static void *deposit(void *arg)
{
	struct account *a = arg;
	int was = a->balance;

	a->balance = was + 1;
	return NULL;
}

int main(void)
{
	struct account accounts[3] = { { 1, 0 }, { 2, 0 }, { 3, 0 } };
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, deposit, &accounts[1]);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	assert(accounts[1].balance == 2);
	return 0;
}
