/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Claims: of campaigns that share a memo, each tries other goals at a time, and
 * learns before a try what came of those of the others. What another campaign
 * tries is left for later, and asked for again a moment after.
 */
#ifndef MAPLE_STRATEGY_CLAIMS_H
#define MAPLE_STRATEGY_CLAIMS_H

#include "strategy.h"

/*
 * maple_claims_take - claims the @n @goals for the tries of a run; of them those
 * are left, and counted, that are still to be tried, and by us
 * @due: whether one that is ours is still to be tried, by what is known of it now
 * @now: by maple_clock_now()
 *
 * Where nobody shares the memo all of them are. Returns -errno.
 */
int maple_claims_take(struct maple_study *study, struct maple_goal **goals,
		      unsigned int *n, double now,
		      bool (*due)(void *ctx, struct maple_goal *goal),
		      void *ctx, struct maple_error *err);

/* maple_claims_elsewhere - whether @goal is left to another campaign for now */
static inline bool maple_claims_elsewhere(const struct maple_goal *goal,
					  double now)
{
	return goal->elsewhere > now;
}

/*
 * maple_claims_waits - whether another campaign tries @goal, and has not done
 * so for too long to be waited for
 */
bool maple_claims_waits(const struct maple_goal *goal, double now);

#endif
