// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Odds: whether a candidate is worth a try now, by what became of those like
 * it. Most of what is left to try in a real program is infeasible, for a few
 * reasons that many candidates share: a flag or a queue orders them, an object
 * is not handed on yet, both ends stand in sections that come in one order.
 * Instead of proving any of this, candidates are put into classes by what
 * profiling knows of them, and each class is judged by its own tries:
 *
 *   estimate = (exposed + PRIOR) / (tried + PRIOR / expectation)
 *
 * with an expectation that is even for most classes, and low where the
 * program itself made the order (facts.against, see predict/causes.c). While
 * the estimate is below POOR, the class rests: its candidates come after all
 * others of all idioms, but they do come, and a class in which some succeed
 * then rests no more. Nothing is stored: what holds for one program or input
 * need not hold for the next.
 */
#include "odds.h"

#define PRIOR	     0.5
#define EVEN	     0.5
#define EVEN_AGAINST 0.08
#define POOR	     0.1

static unsigned int class_of(const struct maple_iroot *iroot,
			     const struct maple_predict_facts *facts)
{
	return (facts->against ? 8u : 0) | (facts->disjoint ? 4u : 0) |
	       (facts->ordered ? 2u : 0) |
	       (maple_event_is_memory(iroot->e[0].kind) ? 1u : 0);
}

/*
 * maple_odds_tried - a try of a candidate has ended
 * @first: it was the candidate's first one
 *
 * Candidates are counted, not tries: one is exposed at any of its tries.
 */
void maple_odds_tried(struct maple_odds *odds, const struct maple_iroot *iroot,
		      const struct maple_predict_facts *facts, bool first,
		      bool exposed)
{
	struct maple_odds_class *class =
		&odds->class[iroot->idiom][class_of(iroot, facts)];

	class->tried += first;
	class->exposed += exposed;
}

/* maple_odds_poor - whether candidates like this one should come last */
bool maple_odds_poor(const struct maple_odds *odds,
		     const struct maple_iroot *iroot,
		     const struct maple_predict_facts *facts)
{
	const struct maple_odds_class *class =
		&odds->class[iroot->idiom][class_of(iroot, facts)];
	double expected = facts->against ? EVEN_AGAINST : EVEN;

	return (class->exposed + PRIOR) < POOR * (class->tried + PRIOR / expected);
}
