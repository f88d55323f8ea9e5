// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <assert.h>
#include "claims.h"

#define PAUSE	 0.5  /* seconds, between two claims of what another one has */
#define PATIENCE 30.0 /* ... for what another campaign tries */

/* Whether @goal is still to be tried, and by us. */
static bool is_ours(struct maple_goal *goal, double now,
		    bool (*due)(void *ctx, struct maple_goal *goal), void *ctx)
{
	if (goal->taken) {
		goal->elsewhere = now + PAUSE;
		goal->since = goal->since > 0 ? goal->since : now;
		return false;
	}
	goal->elsewhere = goal->since = 0;
	/* Unclaimed: nobody shares the memo, which says nothing new. */
	return !goal->claimed || due(ctx, goal);
}

int maple_claims_take(struct maple_study *study, struct maple_goal **goals,
		      unsigned int *n, double now,
		      bool (*due)(void *ctx, struct maple_goal *goal),
		      void *ctx, struct maple_error *err)
{
	struct maple_goal *theirs[1 + MAPLE_RUN_THEN];
	unsigned int i, ours = 0, not_ours = 0;
	int e;

	if (!study->claim)
		return 0;
	assert(*n && *n <= 1 + MAPLE_RUN_THEN);
	e = study->claim(study, goals, *n, err);
	for (i = 0; i < *n && !e; i++) {
		if (is_ours(goals[i], now, due, ctx))
			goals[ours++] = goals[i];
		else
			theirs[not_ours++] = goals[i];
	}
	*n = ours;
	return e || !not_ours ? e
			      : study->release(study, theirs, not_ours, err);
}

bool maple_claims_waits(const struct maple_goal *goal, double now)
{
	return goal->since > 0 && now < goal->since + PATIENCE;
}
