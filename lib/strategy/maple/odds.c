// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Odds: whether a candidate is worth a try now, by what became of those like
 * it. Most of what is left to try in a real program is infeasible, for a few
 * reasons that many candidates share: a flag or a queue orders them, an object
 * is not handed on yet, a site is never alone with the location. Instead of
 * proving any of this, candidates are counted by what they have in common:
 *
 *   class   the idiom and what profiling knows (facts)
 *   site    the idiom, one of its events, and the site of that
 *
 *   estimate = (exposed + PRIOR) / (tried + PRIOR / expected)
 *
 * where half are expected to succeed, but few where the program itself made
 * another order (facts->against, see predict/before/causes.c). A candidate with
 * a poor estimate in its class or at one of its sites rests: it comes after all
 * others of all idioms. But it does come, and when some like it then succeed,
 * they rest no more. Nothing is stored: what holds for one program or input
 * need not hold for the next.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include "odds.h"

#define PRIOR		 1.0
#define EXPECTED	 0.5
#define EXPECTED_AGAINST 0.1
#define POOR_CLASS	 0.15 /* five failures in a row, or 1 of 12 */
#define POOR_SITE	 0.21 /* three, or 1 of 8 */

struct maple_odds_site {
	struct site_key {
		uint32_t site, idiom, event;
	} key;
	struct maple_odds_count count;
	UT_hash_handle hh;
};

static unsigned int class_of(const struct maple_iroot *iroot,
			     const struct maple_predict_facts *facts)
{
	assert(facts->against * 8u < MAPLE_ODDS_CLASSES);
	return facts->against * 8u | (facts->disjoint ? 4u : 0) |
	       (facts->ordered ? 2u : 0) |
	       (maple_event_is_memory(iroot->e[0].kind) ? 1u : 0);
}

static struct maple_odds_site *site_of(const struct maple_odds *odds,
				       const struct maple_iroot *iroot,
				       unsigned int event)
{
	struct site_key key = { iroot->e[event].site, iroot->idiom, event };
	struct maple_odds_site *found;

	HASH_FIND(hh, odds->sites, &key, sizeof(key), found);
	return found;
}

static struct maple_odds_site *site_make(struct maple_odds *odds,
					 const struct maple_iroot *iroot,
					 unsigned int event)
{
	struct maple_odds_site *site = site_of(odds, iroot, event);

	if (site)
		return site;
	site = calloc(1, sizeof(*site));
	if (!site)
		return NULL;
	site->key.site = iroot->e[event].site;
	site->key.idiom = iroot->idiom;
	site->key.event = event;
	HASH_ADD(hh, odds->sites, key, sizeof(site->key), site);
	return site;
}

static void count(struct maple_odds_count *count, bool first, bool exposed)
{
	count->tried += first;
	count->exposed += exposed;
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
	struct maple_odds_site *site;
	unsigned int i;

	count(&odds->class[iroot->idiom][class_of(iroot, facts)], first,
	      exposed);
	for (i = 0; i < maple_iroot_events(iroot->idiom); i++) {
		site = site_make(odds, iroot, i);
		if (site)
			count(&site->count, first, exposed);
	}
}

static bool poor(const struct maple_odds_count *count, double expected,
		 double limit)
{
	return count->exposed + PRIOR <
	       limit * (count->tried + PRIOR / expected);
}

/* maple_odds_poor - whether candidates like this one should come last */
bool maple_odds_poor(const struct maple_odds *odds,
		     const struct maple_iroot *iroot,
		     const struct maple_predict_facts *facts)
{
	const struct maple_odds_site *site;
	double expected;
	unsigned int i;

	expected = facts->against == MAPLE_AGAINST ? EXPECTED_AGAINST
						   : EXPECTED;
	if (poor(&odds->class[iroot->idiom][class_of(iroot, facts)], expected,
		 POOR_CLASS))
		return true;
	for (i = 0; i < maple_iroot_events(iroot->idiom); i++) {
		site = site_of(odds, iroot, i);
		if (site && poor(&site->count, EXPECTED, POOR_SITE))
			return true;
	}
	return false;
}

void maple_odds_deinit(struct maple_odds *odds)
{
	struct maple_odds_site *site, *next;

	HASH_ITER (hh, odds->sites, site, next) {
		HASH_DEL(odds->sites, site);
		free(site);
	}
}
