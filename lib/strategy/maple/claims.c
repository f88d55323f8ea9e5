// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Claims of candidates (../claims.h), and what is learned by them. How long
 * what others try may be all there is, choice.c says.
 */
#include <assert.h>
#include "../claims.h"
#include "maple.h"

/* What others have tried since @k was asked about last. */
static void learn(struct maple_profiling *p, struct maple_candidate *k)
{
	const struct maple_memo_state *known = &k->goal.known;

	if (known->exposed && !k->exposed)
		maple_candidate_exposed(&p->candidates, k);
	/* What broke a run is worth all its tries. */
	if (known->broke || k->broke)
		return;
	if (known->attempts > k->attempts)
		k->attempts = known->attempts;
	if (known->failed > k->failed)
		k->failed = known->failed;
}

static bool is_due(void *ctx, struct maple_goal *goal)
{
	struct maple_profiling *p = ctx;
	struct maple_candidate *k = maple_candidate_of(goal);

	learn(p, k);
	return maple_choice_allows(&p->candidates, k, &p->limits);
}

/*
 * maple_candidates_claim - claims the @n @chosen candidates for the tries of a
 * run; those are left, and counted, that are still to be tried, and by us
 */
int maple_candidates_claim(struct maple_profiling *p,
			   struct maple_candidate **chosen, unsigned int *n,
			   struct maple_error *err)
{
	struct maple_goal *goals[1 + MAPLE_RUN_THEN];
	unsigned int i;
	int e;

	assert(*n && *n <= 1 + MAPLE_RUN_THEN);
	for (i = 0; i < *n; i++)
		goals[i] = &chosen[i]->goal;
	e = maple_claims_take(p->study, goals, n, p->candidates.now, is_due, p,
			      err);
	for (i = 0; i < *n; i++)
		chosen[i] = maple_candidate_of(goals[i]);
	return e;
}
