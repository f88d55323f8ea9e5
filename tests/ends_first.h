/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * For programs that fail in another order of their threads alone: on a busy
 * machine, too, the kernel has to choose the usual one by itself.
 */
#ifndef ENDS_FIRST_H
#define ENDS_FIRST_H

#include <pthread.h>
#include <time.h>

#define ENDS_FIRST_MS 25 /* as a rule */

/*
 * Waits until @thread has ended, but no longer than for @ms of the CPU, in
 * which it nearly always would have. It orders nothing: whoever holds @thread
 * until then has the caller go on, and no access, lock or sleep tells of it.
 */
static inline void ends_first(pthread_t thread, int ms)
{
	struct timespec began, now;
	clockid_t clock;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &began);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (!pthread_getcpuclockid(thread, &clock) &&
	       (now.tv_sec - began.tv_sec) * 1000 +
			       (now.tv_nsec - began.tv_nsec) / 1000000 <
		       ms);
}

#endif
