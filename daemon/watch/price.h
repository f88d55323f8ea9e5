/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What stretches cost, and how long is to pass until the next one. */
#ifndef MAPLE_DAEMON_WATCH_PRICE_H
#define MAPLE_DAEMON_WATCH_PRICE_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * What a process has had of the machine. All in seconds: the clock, the time of
 * CPU that its threads have used, and the time in which they could have run and
 * had none.
 */
struct maple_price_sample {
	double at, used, waited;
};

/* Looks at process @pid; false: it is gone, or the kernel does not say. */
bool maple_price_look(pid_t pid, struct maple_price_sample *sample);

/*
 * What the process lost between @begin and @end, in seconds of CPU: what it
 * used and waited for beyond its habit, which is how it did between @before and
 * @begin.
 */
double maple_price_lost(const struct maple_price_sample *before,
			const struct maple_price_sample *begin,
			const struct maple_price_sample *end);

/* The pause behind a stretch of @lasted seconds that cost @cost of them. */
double maple_price_pause(double cost, double lasted, double share);

#endif
