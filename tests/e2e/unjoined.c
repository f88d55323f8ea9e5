// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * An account is opened by one thread and charged by another, which must not be
 * the first. main() waits for neither: as a rule the program has ended before.
 * With "clean" the one who charges looks, and a third thread waits for good.
 */
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
#include "../ends_first.h"

static int balance = 100;
static int *account;
static int careful;
static pthread_t opener;

static void *open_account(void *arg)
{
	__atomic_store_n(&account, &balance, __ATOMIC_SEQ_CST);
	return NULL;
}

static void *charge(void *arg)
{
	int *at;

	/* Less than whoever leaves main() is kept from ending all. */
	ends_first(opener, 5);
	at = __atomic_load_n(&account, __ATOMIC_SEQ_CST);
	if (at || !careful)
		*at -= 10;
	return NULL;
}

static void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t b, c;

	careful = argc > 1 && !strcmp(argv[1], "clean");
	if (careful)
		pthread_create(&c, NULL, wait_for_ever, NULL);
	pthread_create(&opener, NULL, open_account, NULL);
	pthread_create(&b, NULL, charge, NULL);
	return 0;
}
