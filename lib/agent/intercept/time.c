// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What time it is. In a controlled run that is asked of the run. CPU time, and
 * what programs ask the vDSO itself, is the machine's.
 */
#include <sys/time.h>
#include <time.h>
#include "intercept.h"

MAPLE_REAL(clock_gettime);
MAPLE_REAL(gettimeofday);
MAPLE_REAL(time);
MAPLE_REAL(timespec_get);

MAPLE_EXPORT int clock_gettime(clockid_t clock, struct timespec *t)
{
	return maple_time_ask(clock, t) ? 0 : REAL(clock_gettime)(clock, t);
}

MAPLE_EXPORT int gettimeofday(struct timeval *t, void *zone)
{
	struct timespec now;
	int ret = REAL(gettimeofday)(t, zone);

	if (ret == 0 && maple_time_ask(CLOCK_REALTIME, &now)) {
		t->tv_sec = now.tv_sec;
		t->tv_usec = now.tv_nsec / 1000;
	}
	return ret;
}

MAPLE_EXPORT time_t time(time_t *t)
{
	struct timespec now;

	if (!maple_time_ask(CLOCK_REALTIME, &now))
		return REAL(time)(t);
	if (t)
		*t = now.tv_sec;
	return now.tv_sec;
}

MAPLE_EXPORT int timespec_get(struct timespec *t, int base)
{
	if (base != TIME_UTC || !maple_time_ask(CLOCK_REALTIME, t))
		return REAL(timespec_get)(t, base);
	return base;
}
