/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The guard, and what it and its maker say to each other. */
#ifndef MAPLE_BACKEND_GUARD_H
#define MAPLE_BACKEND_GUARD_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>
#include "launch.h"

enum maple_news_kind {
	MAPLE_NEWS_FAILED,
	MAPLE_NEWS_UNTRACED, /* may not be traced; killed */
	MAPLE_NEWS_STARTED,
	MAPLE_NEWS_STOPPED,
	MAPLE_NEWS_CRASHED,
	MAPLE_NEWS_CALL, /* SIGSYS is about this one */
	MAPLE_NEWS_ENDED,
	MAPLE_NEWS_CHILD,   /* of a stem's guard: has ended */
	MAPLE_NEWS_CLEARED, /* nothing is left of a run */
};

/* What the guard is told, a byte each. */
#define MAPLE_SAY_GO	  'g'
#define MAPLE_SAY_LET_DIE 'd'
#define MAPLE_SAY_CLEAR	  'c'
#define MAPLE_SAY_AGAIN	  'a' /* with the three files of the next run */

/*
 * Seconds in which the killed die, if they are given any time to: longer than
 * a busy machine keeps them waiting. Who is in uninterruptible sleep for longer
 * cannot be helped.
 */
#define MAPLE_REAP_WITHIN 60.0

struct maple_news {
	enum maple_news_kind kind;
	int value; /* errno, pid or wait status */
	pid_t pid; /* CHILD */
	bool left; /* CHILD: there are others */
	double at; /* CHILD, ENDED: when we saw it; 0: not known */
	union {
		struct rusage usage;
		struct maple_crash crash;
	};
};

bool maple_guard_stays(const struct maple_launch_order *order);
_Noreturn void maple_guard_run(const struct maple_launch_order *order,
			       int control, int news, int orders);

#endif
