// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Ways (rule 7 of algorithms.md 7): who leads, whether hints and gates count.
 * Each try begins in a way of its own, but a whole run is a high price for
 * learning that one is no good: when the one that lets Q lead never fills
 * the queue which P has to find full, it will not do so in the hundredth
 * attempt either. So a run that is stuck turns to the next try's way.
 *
 * Setbacks say that it is stuck: an attempt was given up, or a thread had to
 * pass its first step or its gate because nothing else could run. That a
 * thread which the hints exclude comes to a first step says nothing: where all
 * threads do the same (SQLite), those turns lost one exposure in five. With a
 * turn, who stands before an attempt goes on.
 */
#include "automaton_state.h"

/*
 * Fewer turns lose what a way reaches at its third occurrence, more lose the
 * end of short programs.
 */
#define SETBACKS 6

/*
 * maple_way_norm - @t's own level
 *
 * With hints, one end for P and the other for Q, the rest between them, older
 * first. More threads than levels wrap.
 */
unsigned int maple_way_norm(const struct maple_auto *a, unsigned int t)
{
	const unsigned int first = MAPLE_PRIO_NORM_FIRST;
	const unsigned int last = MAPLE_PRIO_NORM_LAST;
	const unsigned int levels = last - first + 1;
	bool q_first = a->plan.flags & MAPLE_PLAN_Q_FIRST;

	if (a->plan.flags & MAPLE_PLAN_HINTED) {
		if (a->thread[t].roles & 1)
			return q_first ? first : last;
		if (a->thread[t].roles)
			return q_first ? last : first;
		return last - 1 - t % (levels - 2);
	}
	if (a->plan.flags & MAPLE_PLAN_YOUNGER)
		return first + t % levels;
	return last - t % levels;
}

static bool any_bound(const struct maple_auto *a)
{
	for (int r = 0; r < MAPLE_PLAN_ROLES; r++) {
		if (a->role[r] >= 0)
			return true;
	}
	return false;
}

/* maple_way_stuck - whether it is time to turn, and nothing has begun */
bool maple_way_stuck(const struct maple_auto *a)
{
	return (a->plan.flags & MAPLE_PLAN_TURNING) && !a->finished &&
	       a->setbacks >= SETBACKS && !a->done && a->executing < 0 &&
	       !any_bound(a);
}

static void let_go(struct maple_auto *a, int t)
{
	struct maple_auto_thread *thread = &a->thread[t];
	struct maple_hold hold;

	if (!thread->stands)
		return;
	hold = maple_hold_work_out(a, t, &thread->acc);
	if (hold.reason != MAPLE_REASON_FREE)
		thread->pass = 1;
}

/* maple_way_turn - the run goes on in the way of the next try */
void maple_way_turn(struct maple_auto *a)
{
	unsigned int attempt;

	if (!MAPLE_INVARIANT(a, maple_way_stuck(a)))
		return;
	attempt = a->plan.attempt + ++a->turns;
	a->setbacks = 0;
	if ((a->plan.flags & MAPLE_PLAN_FOLLOWED) &&
	    a->turns >= MAPLE_PLAN_WAYS) {
		maple_move_finish(a, false);
		return;
	}
	for (uint32_t n = 0; n < a->nlive; n++)
		let_go(a, a->live[n]);
	a->plan.flags &= ~MAPLE_PLAN_WAY;
	a->plan.flags |= maple_plan_way(attempt);
	for (uint32_t n = 0; n < a->nlive; n++)
		a->thread[a->live[n]].norm = maple_way_norm(a, a->live[n]);
	a->moves++;
	/* Each turn takes setbacks of its own. */
	MAPLE_INVARIANT(a, !maple_way_stuck(a));
	maple_level_update(a);
}
