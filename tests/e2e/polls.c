// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Polls for its thread's answer under a lock, as fast as it can. Where the
 * poller has the higher strict priority, the thread never runs, and events
 * come without end.
 */
#include <pthread.h>
#include <stdbool.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool answered;

static void *answer(void *arg)
{
	pthread_mutex_lock(&lock);
	answered = true;
	pthread_mutex_unlock(&lock);
	return NULL;
}

static bool done(void)
{
	bool yes;

	pthread_mutex_lock(&lock);
	yes = answered;
	pthread_mutex_unlock(&lock);
	return yes;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, answer, NULL);
	while (!done())
		;
	pthread_join(thread, NULL);
	return 0;
}
