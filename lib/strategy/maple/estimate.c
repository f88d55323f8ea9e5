// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The estimate: which of the candidates that may be tried promises most. All
 * that ranks candidates is here, and is compared one after the other:
 *
 * - rests: it is unlikely by what became of others (odds), or a server's
 *   start-up; it comes after all that is neither
 * - rides: how often it has come along in the runs of others
 * - of those that are to come along behind, with order `paper`: a site is a
 *   library's
 * - of those that come again: its last look was not a missed one
 * - turns: how often it has been tried; of those that come again, how often
 *   since it was exposed
 * - score: the terms below; with order `paper` none
 * - order: in which they were found
 *
 * That is among candidates of one idiom. Idioms take turns by weight, so that
 * each has its first tries early: maple_estimate_turn().
 *
 * Odds: most of what is left to try in a real program is infeasible, for a few
 * reasons that many candidates share: a flag or a queue orders them, an object
 * is not handed on yet, a site is never alone with the location. Instead of
 * proving any of this, candidates are counted by what they have in common:
 *
 *   class   the idiom and what profiling knows (facts)
 *   site    the idiom, one of its events, and the site of that
 *
 *   chance = (exposed + PRIOR) / (tried + PRIOR / expected)
 *
 * where half are expected to succeed, but few where the program itself made
 * another order (facts->against, see predict/before/causes.c). A candidate
 * with a poor chance in its class or at one of its sites rests. But it does
 * come, and when some like it then succeed, they rest no more. Nothing is
 * stored: what holds for one program or input need not hold for the next.
 *
 * A variant of an exposed iRoot, which is about some callers of its functions,
 * stands beside these with its tries and a little less of the score; which of
 * the variants it is, callers.c says.
 *
 * Not decided here: what may be tried at all (choice.c).
 */
#include <assert.h>
#include <stdlib.h>
#include <uthash.h>
#include "estimate.h"

#define PRIOR		 1.0
#define EXPECTED	 0.5
#define EXPECTED_AGAINST 0.1
#define POOR_CLASS	 0.15 /* five failures in a row, or 1 of 12 */
#define POOR_SITE	 0.21 /* three, or 1 of 8 */
#define LESS		 2    /* of a score, that a variant has */

enum term {
	TERM_DISJOINT,
	TERM_APPLICATION,
	TERM_FRESH,
	TERM_UNORDERED,
	TERM_DATA,
	TERM_TURNED,
	TERM_UNSERIALIZABLE,
	TERM_LOCKS,
	TERM_BROKE,
	TERM_ENDS,
	TERM_ENDED,
	TERMS
};

/* What a candidate's promise rests on, and how much each term says. */
static const struct {
	int points;
	const char *reason;
} terms[TERMS] = {
	[TERM_DISJOINT] = { 8, "no lock excludes the two: a race" },
	[TERM_APPLICATION] = { 4, "both ends in the program itself" },
	[TERM_FRESH] = { 2, "a site of which no order was exposed yet" },
	[TERM_UNORDERED] = { 4, "happens-before leaves the order open" },
	[TERM_DATA] = { 2, "data, not two sections of one lock" },
	[TERM_LOCKS] = { 4, "two locks, one after the other or crosswise" },
	[TERM_UNSERIALIZABLE] = { 6, "no serial order of the two has this" },
	[TERM_TURNED] = { 3, "the reverse was seen: this order is the rare" },
	[TERM_ENDS] = { -1, "memory ends: what writes there says more" },
	[TERM_ENDED] = { -8, "memory ends after its last use" },
	[TERM_BROKE] = { 40, "a run failed of it, in an earlier campaign" },
};

/* Turns in a round, idiom 1 to 6, deadlock and sets (algorithms.md 6). */
static const unsigned int weight[MAPLE_IDIOMS] = { 0, 4, 3, 2, 2, 2,
						   1, 2, 1, 1, 1, 1 };

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
	struct maple_odds_key key = { iroot->e[event].site, iroot->idiom,
				      event };
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
 * maple_estimate_tried - a try of @c has ended
 * @first: it was the candidate's first one
 *
 * Candidates are counted, not tries: one is exposed at any of its tries.
 */
void maple_estimate_tried(struct maple_candidates *all,
			  const struct maple_candidate *c, bool first,
			  bool exposed)
{
	const struct maple_iroot *iroot = &c->iroot;
	struct maple_odds *odds = &all->odds;
	struct maple_odds_site *site;
	unsigned int i;

	count(&odds->class[iroot->idiom][class_of(iroot, &c->facts)], first,
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

/* Whether of those like @c so many have failed that it comes last. */
static bool is_unlikely(const struct maple_odds *odds,
			const struct maple_candidate *c)
{
	double expected = c->facts.against == MAPLE_AGAINST ? EXPECTED_AGAINST
							    : EXPECTED;
	const struct maple_iroot *iroot = &c->iroot;
	const struct maple_odds_site *site;
	unsigned int i;

	if (poor(&odds->class[iroot->idiom][class_of(iroot, &c->facts)],
		 expected, POOR_CLASS))
		return true;
	for (i = 0; i < maple_iroot_events(iroot->idiom); i++) {
		site = site_of(odds, iroot, i);
		if (site && poor(&site->count, EXPECTED, POOR_SITE))
			return true;
	}
	return false;
}

static bool reverse_exposed(const struct maple_candidates *all,
			    const struct maple_iroot *iroot)
{
	struct maple_iroot turned = { .idiom = MAPLE_IDIOM_1 };
	struct maple_candidate *c;

	turned.e[0] = iroot->e[1];
	turned.e[1] = iroot->e[0];
	HASH_FIND(hh, all->table, &turned, sizeof(turned), c);
	return c && c->exposed;
}

static bool is_application(const struct maple_registry *reg, uint32_t site,
			   uint32_t main_image)
{
	struct maple_site_info info;

	return !maple_registry_site(reg, site, &info) &&
	       info.image == main_image;
}

/* Idiom 4 over locks, and the deadlock: where orders of sections matter. */
static bool two_locks(const struct maple_iroot *iroot)
{
	return iroot->idiom == MAPLE_IDIOM_DEADLOCK ||
	       (iroot->idiom == MAPLE_IDIOM_4 &&
		!maple_event_is_memory(iroot->e[0].kind));
}

/* maple_estimate_score - (re)computes the score of @c, by what is known now */
void maple_estimate_score(const struct maple_candidates *all,
			  struct maple_candidate *c,
			  const struct maple_registry *reg, uint32_t main_image)
{
	unsigned int i, n = maple_iroot_events(c->iroot.idiom);
	bool holds[TERMS] = {
		[TERM_DISJOINT] = c->facts.disjoint,
		[TERM_APPLICATION] = true,
		[TERM_UNORDERED] = !c->facts.ordered,
		[TERM_DATA] = maple_event_is_memory(c->iroot.e[0].kind) ||
			      maple_event_is_condition(c->iroot.e[0].kind),
		[TERM_LOCKS] = two_locks(&c->iroot),
		[TERM_UNSERIALIZABLE] = c->facts.unserializable,
		[TERM_TURNED] = reverse_exposed(all, &c->iroot),
		[TERM_BROKE] = c->broke,
		[TERM_ENDS] = c->ends,
		[TERM_ENDED] = c->facts.e[n - 1].frees,
	};

	for (i = 0; i < n; i++) {
		if (!is_application(reg, c->iroot.e[i].site, main_image))
			holds[TERM_APPLICATION] = false;
		if (!maple_candidate_site_exposed(all, c->iroot.e[i].site))
			holds[TERM_FRESH] = true;
	}
	c->application = holds[TERM_APPLICATION];
	c->score = 0;
	for (i = 0; i < TERMS; i++)
		if (holds[i])
			c->score += terms[i].points;
}

/* maple_estimate_rests - whether @c comes after all that do not rest */
bool maple_estimate_rests(const struct maple_candidates *all,
			  const struct maple_candidate *c,
			  enum maple_order order)
{
	return order != MAPLE_ORDER_PAPER &&
	       (c->facts.startup || is_unlikely(&all->odds, c));
}

/* maple_estimate_of - what @c promises; whether it rests is asked for a try */
struct maple_estimate maple_estimate_of(const struct maple_candidates *all,
					const struct maple_candidate *c,
					enum maple_estimate_for purpose,
					enum maple_order order)
{
	struct maple_estimate e = { .order = c->order };
	bool paper = order == MAPLE_ORDER_PAPER;

	if (purpose == MAPLE_ESTIMATE_AGAIN) {
		e.behind = !c->missed;
		e.turns = c->looks;
		e.score = c->score;
		return e;
	}
	if (purpose == MAPLE_ESTIMATE_BESIDE)
		e.rides = c->rides;
	else
		e.rests = maple_estimate_rests(all, c, order);
	e.behind = paper && !c->application;
	e.turns = c->attempts;
	e.score = paper ? 0 : c->score;
	return e;
}

/* maple_estimate_before - whether @a comes before @b; nothing is like another */
bool maple_estimate_before(const struct maple_estimate *a,
			   const struct maple_estimate *b)
{
	if (a->rests != b->rests)
		return b->rests;
	if (a->rides != b->rides)
		return a->rides < b->rides;
	if (a->behind != b->behind)
		return b->behind;
	if (a->turns != b->turns)
		return a->turns < b->turns;
	if (a->score != b->score)
		return a->score > b->score;
	return a->order < b->order;
}

/*
 * Whether all first tries of @found come before those of @other. What an idiom
 * has is immediate, so it is about what conflicts; units get into each other in
 * ways that nobody minds.
 */
static bool precedes(const struct maple_candidate *found,
		     const struct maple_candidate *other)
{
	return other->iroot.idiom >= MAPLE_SET_1 &&
	       found->iroot.idiom < MAPLE_SET_1 &&
	       found->attempts <= other->attempts;
}

/*
 * maple_estimate_turn - the idiom whose turn it is, among those that have a
 *                       candidate, their @best; 0: none has
 */
unsigned int maple_estimate_turn(const struct maple_candidates *all,
				 struct maple_candidate *const *best,
				 enum maple_order order)
{
	unsigned int i, found = 0;

	for (i = 1; i < MAPLE_IDIOMS; i++) {
		if (!best[i])
			continue;
		if (order == MAPLE_ORDER_PAPER)
			return i;
		if (found && precedes(best[found], best[i]))
			continue;
		/* All first tries first; then least served for its weight. */
		if (found && best[i]->attempts != best[found]->attempts) {
			if (best[i]->attempts < best[found]->attempts)
				found = i;
			continue;
		}
		if (!found || all->served[i] * weight[found] <
				      all->served[found] * weight[i])
			found = i;
	}
	return found;
}

/*
 * maple_estimate_variant - whether variant @which of @c is tried before @fresh, of
 *                          which no run is known, or NULL: as candidates are,
 *                          but that a variant is worth less than its iRoot was
 */
bool maple_estimate_variant(const struct maple_candidate *c, uint32_t which,
			    const struct maple_candidate *fresh)
{
	unsigned int tries;

	assert(which && which <= c->callers.n);
	tries = c->callers.variant[which - 1].tries;
	if (!fresh || fresh->attempts != tries)
		return !fresh || tries < fresh->attempts;
	return c->score - LESS >= fresh->score;
}
