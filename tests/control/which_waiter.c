// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Two wait for one condition, and the program believes that the one who came
 * first is woken first: libc keeps to that nearly always, and promises nothing.
 */
#include <assert.h>
#include <pthread.h>
#include "../ends_first.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t come = PTHREAD_COND_INITIALIZER;
static int arrived, woken, permits;

static void *wait_here(void *arg)
{
	int mine;

	pthread_mutex_lock(&lock);
	mine = arrived++;
	while (!permits)
		pthread_cond_wait(&come, &lock);
	permits--;
	assert(woken++ == mine);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static int are_there(void)
{
	int n;

	pthread_mutex_lock(&lock);
	n = arrived;
	pthread_mutex_unlock(&lock);
	return n;
}

int main(void)
{
	pthread_t waiter[2];

	for (int i = 0; i < 2; i++) {
		pthread_create(&waiter[i], NULL, wait_here, NULL);
		while (are_there() <= i)
			;
	}
	for (int i = 0; i < 2; i++) {
		pthread_mutex_lock(&lock);
		permits++;
		pthread_cond_signal(&come);
		pthread_mutex_unlock(&lock);
		ends_first(waiter[i], ENDS_FIRST_MS);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(waiter[i], NULL);
	return 0;
}
