// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* How a wait ends, by the system call that it is in and its arguments. */
#include <asm/unistd.h>
#ifdef __KERNEL__
#include <uapi/linux/futex.h>
#else
#include <linux/futex.h>
#endif
#include "automaton_state.h"
#include "wait.h"

#define DAY	  86400 /* seconds */
#define REALTIME  0	/* the kernel's numbers of its clocks, */
#define MONOTONIC 1
#define ABSOLUTE  1 /* ... and its TIMER_ABSTIME */

/* A wait for the time at @at, or, if @absolute, until then. */
static enum maple_wait_end by_time(const struct maple_wait_view *view,
				   uint64_t at, bool absolute, int clock)
{
	struct maple_wait_time end, now = { 0, 0 };
	int64_t ms;

	if (!at)
		return MAPLE_ENDS_NEVER;
	if (!view->peek(at, &end))
		return MAPLE_ENDS_PERHAPS;
	if (absolute)
		view->now(clock, &now);
	if (end.sec < now.sec)
		return MAPLE_ENDS_SOON;
	if (end.sec > now.sec + DAY)
		return MAPLE_ENDS_NEVER;
	ms = (end.sec - now.sec) * 1000 + (end.nsec - now.nsec) / 1000000;
	return ms > (int64_t)view->slice_ms * MAPLE_AUTO_SLICES
		       ? MAPLE_ENDS_NEVER
		       : MAPLE_ENDS_SOON;
}

static enum maple_wait_end futex_ends(const uint64_t *arg,
				      const struct maple_wait_view *view)
{
	int op = arg[1] & FUTEX_CMD_MASK;

	if (!arg[3] || arg[0] == view->hold || op == FUTEX_WAKE)
		return MAPLE_ENDS_NEVER;
	if (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET)
		return by_time(view, arg[3], op == FUTEX_WAIT_BITSET,
			       arg[1] & FUTEX_CLOCK_REALTIME ? REALTIME
							     : MONOTONIC);
	return MAPLE_ENDS_SOON;
}

enum maple_wait_end maple_wait_ends(const struct maple_wait_call *call,
				    const struct maple_wait_view *view)
{
	const uint64_t *arg = call->arg;

	switch (call->nr) {
	case -1:
		return MAPLE_ENDS_SOON;
	case __NR_futex:
		return futex_ends(arg, view);
	case __NR_nanosleep:
		return by_time(view, arg[0], false, MONOTONIC);
	case __NR_clock_nanosleep:
		return by_time(view, arg[2], arg[1] & ABSOLUTE, (int)arg[0]);
	case __NR_rt_sigtimedwait:
		return by_time(view, arg[2], false, MONOTONIC);
	case __NR_rt_sigsuspend:
	case __NR_pause:
	case __NR_sched_yield:
	case __NR_sched_setscheduler:
	case __NR_exit:
	case __NR_exit_group:
		return MAPLE_ENDS_NEVER;
	default:
		return MAPLE_ENDS_PERHAPS;
	}
}
