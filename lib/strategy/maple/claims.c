// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Claims: of campaigns that share a memo, each tries other candidates at a
 * time, and learns before a try what came of those of the others.
 *
 * What another campaign tries is left for later, and asked for again a moment
 * after. How long that may be all there is, choice.c says.
 */
#include <assert.h>
#include "maple.h"

#define PAUSE 0.5 /* seconds, between two claims of what another one has */

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

/* Whether @k is still to be tried, and by us. */
static bool is_ours(struct maple_profiling *p, struct maple_candidate *k)
{
	double now = p->candidates.now;

	if (k->goal.taken) {
		k->elsewhere = now + PAUSE;
		k->taken = k->taken > 0 ? k->taken : now;
		return false;
	}
	k->elsewhere = k->taken = 0;
	if (!k->goal.claimed)
		return true; /* nobody shares the memo */
	learn(p, k);
	return maple_choice_allows(&p->candidates, k, &p->limits);
}

/*
 * maple_claims_take - claims the @n @chosen candidates for the tries of a run;
 * those are left, and counted, that are still to be tried, and by us
 */
int maple_claims_take(struct maple_profiling *p, struct maple_candidate **chosen,
		      unsigned int *n, struct maple_error *err)
{
	struct maple_goal *goals[1 + MAPLE_RUN_THEN];
	struct maple_study *study = p->study;
	unsigned int i, ours = 0, not_ours = 0;
	int e;

	if (!study->claim)
		return 0;
	assert(*n && *n <= 1 + MAPLE_RUN_THEN);
	for (i = 0; i < *n; i++)
		goals[i] = &chosen[i]->goal;
	e = study->claim(study, goals, *n, err);
	for (i = 0; i < *n && !e; i++) {
		if (is_ours(p, chosen[i]))
			chosen[ours++] = chosen[i];
		else
			goals[not_ours++] = &chosen[i]->goal;
	}
	*n = ours;
	return e || !not_ours ? e : study->release(study, goals, not_ours, err);
}
