// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * No bug: main ends while others stand at points, one sleeps and one waits;
 * signals come in between.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int x;
static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;

static void *inc(void *p)
{
	for (int i = 0; i < 1000; i++)
		x = x + 1;
	return p;
}

static void *slp(void *p)
{
	x = x + 1;
	usleep(2000);
	x = x + 1;
	return p;
}

static void *wt(void *p)
{
	pthread_mutex_lock(&l);
	for (;;)
		pthread_cond_wait(&c, &l);
	return p;
}

static void on(int s)
{
	x = x + 1;
}

int main(void)
{
	pthread_t t[5];

	signal(SIGUSR1, on);
	for (int i = 0; i < 5; i++) {
		pthread_create(&t[i], 0, i < 3 ? inc : i == 3 ? slp : wt, 0);
		pthread_detach(t[i]);
	}
	for (int i = 0; i < 20; i++) {
		x = x + 1;
		if (i == 10)
			pthread_kill(pthread_self(), SIGUSR1);
		if (i == 5)
			kill(getpid(), SIGUSR1);
	}
	if (x > 500)
		exit(0);
	return 0;
}
