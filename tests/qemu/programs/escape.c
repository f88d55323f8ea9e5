// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Takes all CPUs and an ordinary policy; status 1 if it still has them a while
 * later, so that a session would no longer force anything.
 */
#include <sched.h>
#include <time.h>

int main(void)
{
	struct sched_param none = { 0 };
	struct timespec while_ = { 0, 100000000 };
	cpu_set_t all;

	CPU_ZERO(&all);
	CPU_SET(0, &all);
	CPU_SET(1, &all);
	if (sched_setaffinity(0, sizeof(all), &all) ||
	    sched_setscheduler(0, SCHED_OTHER, &none))
		return 2;
	nanosleep(&while_, NULL);
	if (sched_getaffinity(0, sizeof(all), &all))
		return 2;
	return CPU_COUNT(&all) != 1 ||
	       (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) != SCHED_FIFO;
}
