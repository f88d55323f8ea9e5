/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the programs of this folder share: the lock that each of them lacks, and
 * its twin has (-DFIXED), and work of a thread's own, which nobody sees.
 */
#ifndef MAPLE_PAPER_GUARD_H
#define MAPLE_PAPER_GUARD_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef FIXED
static pthread_mutex_t guard
	__attribute__((unused)) = PTHREAD_MUTEX_INITIALIZER;

#define LOCK()	 pthread_mutex_lock(&guard)
#define UNLOCK() pthread_mutex_unlock(&guard)
#else
#define LOCK()	 ((void)0)
#define UNLOCK() ((void)0)
#endif

/* About so many thousand additions: the others are through meanwhile. */
static inline void work(int thousands)
{
	volatile long sum = 0;

	for (long i = 0; i < 1000l * thousands; i++)
		sum = sum + i;
}

static inline pthread_t start(void *(*body)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, arg)) {
		fputs("no thread\n", stderr);
		exit(2);
	}
	return thread;
}

#endif
