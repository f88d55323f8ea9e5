/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * One hardware watchpoint of one thread: a perf event whose hits come as
 * SIGTRAP to that thread, right after the access. Writes and reads by the
 * kernel are not seen.
 *
 * The descriptors are the target's: high up, so that its own keep their
 * numbers, and each is known to be still ours before anything is done to it.
 */
#ifndef MAPLE_AGENT_WATCHPOINT_H
#define MAPLE_AGENT_WATCHPOINT_H

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#define WATCHED_THREADS	 64   /* later ones have no watchpoints */
#define WATCHED_FD_FIRST 700  /* descriptors from here on; below 1024 */
#define WATCHED_TRAP	 6    /* si_code of a hit: TRAP_PERF */
#define WATCHED_FD_DUP	 1030 /* F_DUPFD_CLOEXEC */

struct maple_watchpoint {
	int32_t fd; /* + 1; 0: none */
	uint64_t id;
};

/*
 * maple_watchpoint_attr - what opens a watchpoint
 * @type: HW_BREAKPOINT_W or _RW
 * @data: what a hit has as its si_perf_data
 */
void maple_watchpoint_attr(struct perf_event_attr *attr, uint32_t type,
			   uint64_t addr, uint64_t len, const void *data);

/*
 * maple_watchpoint_open - @attr's, for thread @tid, 0: the calling one; false:
 *			   it is not to be had
 */
bool maple_watchpoint_open(struct maple_watchpoint *w,
			   struct perf_event_attr *attr, int tid);

/* maple_watchpoint_is_ours - it is open, and the program has not closed it */
bool maple_watchpoint_is_ours(const struct maple_watchpoint *w);

/* maple_watchpoint_close - there is none any more, whoever it was that closed it */
void maple_watchpoint_close(struct maple_watchpoint *w);

#endif
