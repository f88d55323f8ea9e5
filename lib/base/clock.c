// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <time.h>
#include "base/clock.h"

/* maple_clock_now - seconds on the monotonic clock */
double maple_clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}
