/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_ABI_SCHEDULE_H
#define MAPLE_ABI_SCHEDULE_H

/*
 * How threads get their priorities. The numbers stand in stored orders, and
 * those that maple.ko has are its own, too (enum maple_uapi_sched).
 */
enum maple_schedule {
	MAPLE_SCHEDULE_NATIVE,	  /* left alone, not pinned */
	MAPLE_SCHEDULE_OLDER,	  /* SCHED_FIFO, older threads first */
	MAPLE_SCHEDULE_YOUNGER,	  /* SCHED_FIFO, younger threads first */
	MAPLE_SCHEDULE_PCT,	  /* SCHED_FIFO, random, with change points */
	MAPLE_SCHEDULE_PCTLARGE,  /* nice values, random, with change points */
	MAPLE_SCHEDULE_TURNS,	  /* SCHED_FIFO, one level, turns at locks */
	MAPLE_SCHEDULE_RANDDELAY, /* as NATIVE, but sleeps at change points */
	MAPLE_SCHEDULE_PLAN,	  /* as the automaton says; no order names it */
	MAPLE_SCHEDULE_CONTROL,	  /* as the policy says; nor this */
	MAPLE_SCHEDULE_MEET,	  /* as NATIVE, but who comes to a change point
				     waits for another thread at one */
	MAPLE_SCHEDULES
};

/* Whether threads are left to the kernel: on all CPUs, without priorities. */
static inline int maple_schedule_is_free(unsigned int schedule)
{
	return schedule == MAPLE_SCHEDULE_NATIVE ||
	       schedule == MAPLE_SCHEDULE_RANDDELAY ||
	       schedule == MAPLE_SCHEDULE_MEET;
}

#endif
