// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * cache4j: the cleaner sleeps between two rounds and says so by a flag. Who
 * puts something into a full cache wakes it by an interrupt, if it sleeps.
 *
 * Bug: the flag is read and reset without the lock. The cleaner may wake up by
 * itself after the flag has been read; the interrupt then meets it at work.
 */
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sleeping, interrupted, objects = 8;

/* A sleep, which an interrupt ends; that it came is forgotten with it. */
static void nap(void)
{
	sleeping = 1;
	usleep(100);
	pthread_mutex_lock(&lock);
	interrupted = 0;
	pthread_mutex_unlock(&lock);
	sleeping = 0;
}

static void clean(void)
{
	pthread_mutex_lock(&lock);
	objects = objects / 2;
	assert(!interrupted);
	pthread_mutex_unlock(&lock);
}

static void *cleaner(void *arg)
{
	for (int i = 0; i < 3; i++) {
		nap();
		clean();
	}
	return arg;
}

static void trim(void)
{
	if (!sleeping)
		return;
	pthread_mutex_lock(&lock);
	interrupted = 1;
	pthread_mutex_unlock(&lock);
}

static void *user(void *arg)
{
	pthread_mutex_lock(&lock);
	objects = objects + 1;
	pthread_mutex_unlock(&lock);
	trim();
	return arg;
}

int main(void)
{
	pthread_t t[2];

	pthread_create(&t[0], 0, cleaner, 0);
	pthread_create(&t[1], 0, user, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
