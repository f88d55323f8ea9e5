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
};

#endif
