// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A signal ends a sleep, and a handler runs where its thread goes on: each kind
 * of sleep says so, and how much of it was left. That a sleep is over before
 * the signal comes is an order as well, but not each time.
 *	cut_short thread	the signal is for a thread
 *	cut_short process	it is for the process, and the main thread's
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define KINDS 5
#define TIMES (3 * KINDS)
#define LONG  1000

static atomic_int sleeps, handled;
static int for_process, epoll;
static pthread_t sleeper;

static void handle(int signo)
{
	atomic_fetch_add(&handled, 1);
}

static void *wake(void *arg)
{
	for (int i = 1; i <= TIMES; i++) {
		while (atomic_load(&sleeps) < i)
			usleep(1000);
		usleep(20000);
		if (for_process)
			kill(getpid(), SIGUSR1);
		else
			pthread_kill(sleeper, SIGUSR1);
	}
	return NULL;
}

static int sleep_as(int kind)
{
	struct timespec t = { LONG, 0 }, left = { 0 };
	struct epoll_event e;
	unsigned int s;
	int ret;

	switch (kind) {
	case 0:
		ret = nanosleep(&t, &left);
		assert(ret == 0 || (left.tv_sec < LONG && left.tv_sec > 0));
		return ret;
	case 1:
		return usleep(999999);
	case 2:
		s = sleep(LONG);
		assert(s < LONG);
		errno = EINTR;
		return s ? -1 : 0;
	case 3:
		return poll(NULL, 0, LONG * 1000);
	default:
		return epoll_wait(epoll, &e, 1, LONG * 1000);
	}
}

int main(int argc, char **argv)
{
	int cut = 0, before, ret;
	pthread_t waker;

	for_process = argc > 1 && !strcmp(argv[1], "process");
	sleeper = pthread_self();
	epoll = epoll_create1(0);
	signal(SIGUSR1, handle);
	pthread_create(&waker, NULL, wake, NULL);
	for (int i = 0; i < TIMES; i++) {
		before = atomic_load(&handled);
		atomic_fetch_add(&sleeps, 1);
		ret = sleep_as(i % KINDS);
		assert(ret == 0 || errno == EINTR);
		assert(ret == 0 || atomic_load(&handled) > before);
		cut += ret != 0;
	}
	pthread_join(waker, NULL);
	assert(cut > TIMES / 5);
	return 0;
}
