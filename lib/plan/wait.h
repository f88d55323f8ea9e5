/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * How the wait ends that a thread of the target is in: whether it pays to let
 * the target sleep until then, before a held thread must run (rule 4).
 */
#ifndef MAPLE_PLAN_WAIT_H
#define MAPLE_PLAN_WAIT_H

#include <maple/event.h>

enum maple_wait_end {
	MAPLE_ENDS_NEVER, /* by the target itself, if at all; or too late */
	MAPLE_ENDS_SOON,  /* by itself, before a step's slices are over */
	/* by the outside world: a request of somebody's, or input */
	MAPLE_ENDS_PERHAPS,
};

/* The system call that a thread blocks in; nr -1: a page is read in. */
struct maple_wait_call {
	int64_t nr;
	uint64_t arg[4];
};

/* Seconds and nanoseconds, as in the kernel's timespec on x86-64. */
struct maple_wait_time {
	int64_t sec;
	int64_t nsec;
};

/*
 * What it takes to tell.
 * @hold: the word that the automaton's own sleepers wait on; 0 if none
 * @slice_ms: how long one slice is
 * @peek: reads a time in the target's memory; 0: it cannot be read
 * @now: what that clock of the kernel's says
 */
struct maple_wait_view {
	uint64_t hold;
	uint32_t slice_ms;
	int (*peek)(uint64_t at, struct maple_wait_time *time);
	void (*now)(int clock, struct maple_wait_time *time);
};

/* The waits that the other threads are in, all in all. */
struct maple_waits {
	uint32_t perhaps;		   /* some end PERHAPS */
	uint64_t soon[MAPLE_THREADS / 64]; /* bit t: that of thread t, SOON */
};

/* maple_waits_add - thread @t's wait ends so */
static inline void maple_waits_add(struct maple_waits *waits, unsigned int t,
				   enum maple_wait_end end)
{
	if (end == MAPLE_ENDS_SOON)
		waits->soon[t / 64] |= 1ull << t % 64;
	waits->perhaps |= end == MAPLE_ENDS_PERHAPS;
}

/* maple_wait_ends - how a thread's wait ends that blocks in @call */
enum maple_wait_end maple_wait_ends(const struct maple_wait_call *call,
				    const struct maple_wait_view *view);

#endif
