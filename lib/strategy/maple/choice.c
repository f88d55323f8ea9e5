// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The choice: which candidate is tried next (algorithms.md 6).
 *
 * Left out: what was exposed already, what a finding of this campaign is
 * about, what failed FAIL_LIMIT times in all, what was tried often enough
 * with this input. An attempt counts when it starts, so that a crash is no free
 * try. Of a server that is driven by rounds, what is about its start-up: each
 * run goes through it, and no request shows what came of it (--whole: not left
 * out).
 *
 * Which of the others comes first is what estimate.c says: in order `paper`
 * idiom 1, application before library, fewest attempts, then the order in which
 * they were found; in order `ranked` fewest attempts, then the score,
 * round-robin over idioms by weight: what is counted is runs to the first
 * finding, so every promising candidate gets its first try before any gets its
 * second. An iRoot of several dependencies waits until each of them, an iRoot
 * of idiom 1, has been exposed by itself, and is left out if that has failed
 * for good: whoever exposes the whole exposes its parts.
 *
 * What another campaign with the same memo tries (claims.c) is passed over, as
 * what is under way here. While it is all that is left the campaign goes on
 * with profile runs for a while; then it may end, with that left.
 *
 * What was exposed comes again (maple_choice_again()) where nothing that is
 * likely is left, four between two profile runs.
 */
#include <assert.h>
#include <string.h>
#include "../claims.h"
#include "choice.h"
#include "classes.h"
#include "estimate.h"

#define FAIL_LIMIT 6 /* failed tries of an iRoot in all */

/* maple_choice_limits_of - as the user has said, or as is usual */
struct maple_choice_limits
maple_choice_limits_of(const struct maple_campaign_options *options)
{
	bool paper = options->order == MAPLE_ORDER_PAPER;

	return (struct maple_choice_limits){
		.order = options->order,
		.attempts = options->attempts ? options->attempts
			    : paper	      ? 2
					      : MAPLE_PLAN_WAYS,
		.failures = FAIL_LIMIT,
		.serving = options->between && !options->whole && !paper,
	};
}

/* Whether @c is one to be tried, sooner or later, or was. */
static bool wanted(const struct maple_candidate *c)
{
	return c->predicted && c->facts_known && !c->exposed && !c->goal.found;
}

/* Where no step has a gate, the last way is the first once more. */
static unsigned int tries_of(const struct maple_candidate *c,
			     const struct maple_choice_limits *limits)
{
	assert(limits->attempts); /* one fewer than none would be many */
	return limits->attempts -
	       (limits->attempts == MAPLE_PLAN_WAYS && !c->gated);
}

static bool tried_out(const struct maple_candidate *c,
		      const struct maple_choice_limits *limits)
{
	return c->attempts >= tries_of(c, limits) ||
	       c->failed >= limits->failures;
}

/* Whether @c is about what a server does before it serves, which is no part. */
static bool apart(const struct maple_candidate *c,
		  const struct maple_choice_limits *limits)
{
	return limits->serving && c->facts.startup;
}

static bool tries_left(const struct maple_candidate *c,
		       const struct maple_choice_limits *limits)
{
	return wanted(c) && !apart(c, limits) && !tried_out(c, limits);
}

/* The idiom 1 candidate that is @iroot's dependency of @from, if known. */
static const struct maple_candidate *find(const struct maple_candidates *all,
					  const struct maple_iroot *iroot,
					  unsigned int from)
{
	struct maple_iroot key = { .idiom = MAPLE_IDIOM_1 };
	struct maple_candidate *found;

	key.e[0] = iroot->e[from];
	key.e[1] = iroot->e[from + 1];
	HASH_FIND(hh, all->table, &key, sizeof(key), found);
	return found;
}

/* Finds the dependencies of @c that are candidates, too. */
static void link_parts(const struct maple_candidates *all,
		       struct maple_candidate *c)
{
	/* Where the dependencies of each idiom begin; all end one later. */
	static const int second[MAPLE_IDIOMS] = {
		[MAPLE_IDIOM_2] = 1, [MAPLE_IDIOM_3] = 2, [MAPLE_IDIOM_4] = 2,
		[MAPLE_IDIOM_5] = 2, [MAPLE_IDIOM_6] = 2,
	};

	assert(c->linked <= all->n);
	if (c->linked == all->n || !second[c->iroot.idiom])
		return;
	c->part[0] = find(all, &c->iroot, 0);
	c->part[1] = find(all, &c->iroot, second[c->iroot.idiom]);
	c->linked = all->n;
}

/* The @i-th dependency of @c that is to be exposed by itself first, or NULL */
static const struct maple_candidate *part(const struct maple_candidates *all,
					  struct maple_candidate *c,
					  unsigned int i)
{
	link_parts(all, c);
	return c->part[i] && !c->part[i]->exposed && c->part[i]->predicted
		       ? c->part[i]
		       : NULL;
}

/* Whether nothing is known against the parts of @c. */
static bool parts_exposed(const struct maple_candidates *all,
			  struct maple_candidate *c)
{
	return !part(all, c, 0) && !part(all, c, 1);
}

/* Whether a part of @c will never be exposed by itself. */
static bool barred(const struct maple_candidates *all, struct maple_candidate *c,
		   const struct maple_choice_limits *limits)
{
	const struct maple_candidate *its;
	unsigned int i;

	if (limits->order == MAPLE_ORDER_PAPER)
		return false;
	for (i = 0; i < 2; i++) {
		its = part(all, c, i);
		if (its && !tries_left(its, limits))
			return true;
	}
	return false;
}

/* maple_choice_allows - whether @c may be tried now */
bool maple_choice_allows(const struct maple_candidates *all,
			 struct maple_candidate *c,
			 const struct maple_choice_limits *limits)
{
	return tries_left(c, limits) &&
	       (limits->order == MAPLE_ORDER_PAPER || parts_exposed(all, c));
}

/* Whether a try of @c is under way, here or in another campaign. */
static bool under_way(const struct maple_candidates *all,
		      const struct maple_candidate *c)
{
	return c->busy || maple_claims_elsewhere(&c->goal, all->now);
}

/* maple_choice_peek - the one to try now, NULL if none is left */
struct maple_candidate *
maple_choice_peek(const struct maple_candidates *all,
		  const struct maple_choice_limits *limits)
{
	struct maple_candidate *best[MAPLE_IDIOMS] = { NULL }, *c, *next;
	struct maple_estimate of[MAPLE_IDIOMS], e;
	bool resting = true;
	unsigned int idiom;

	HASH_ITER (hh, all->table, c, next) {
		if (under_way(all, c) || !maple_choice_allows(all, c, limits))
			continue;
		e = maple_estimate_of(all, c, MAPLE_ESTIMATE_TRY, limits->order);
		if (e.rests && !resting)
			continue;
		if (!e.rests && resting)
			memset(best, 0, sizeof(best));
		resting = e.rests;
		idiom = c->iroot.idiom;
		if (best[idiom] && !maple_estimate_before(&e, &of[idiom]))
			continue;
		best[idiom] = c;
		of[idiom] = e;
	}
	return best[maple_estimate_turn(all, best, limits->order)];
}

/* maple_choice_next - the same; its idiom has had its turn */
struct maple_candidate *
maple_choice_next(struct maple_candidates *all,
		  const struct maple_choice_limits *limits)
{
	struct maple_candidate *next = maple_choice_peek(all, limits);

	assert(!next || next->iroot.idiom); /* there is no idiom 0 */
	all->served[next ? next->iroot.idiom : 0]++;
	return next;
}

/* maple_choice_any - whether maple_choice_next() has one */
bool maple_choice_any(const struct maple_candidates *all,
		      const struct maple_choice_limits *limits)
{
	struct maple_candidate *c, *next;

	HASH_ITER (hh, all->table, c, next)
		if (!under_way(all, c) && maple_choice_allows(all, c, limits))
			return true;
	return false;
}

/*
 * maple_choice_waits - whether another campaign tries something that this one
 * may try after it, and has not done so for too long
 */
bool maple_choice_waits(const struct maple_candidates *all,
			const struct maple_choice_limits *limits)
{
	struct maple_candidate *c, *next;

	HASH_ITER (hh, all->table, c, next)
		if (maple_claims_waits(&c->goal, all->now) &&
		    maple_choice_allows(all, c, limits))
			return true;
	return false;
}

/*
 * maple_choice_looked - @c has been forced once more, and the run did not fail
 * @missed: its order came about, but not by the plan
 *
 * A plan can lose its try to the machine: a wait took too long. Then nothing
 * was seen in the way that was meant, so it is the same look once more; but
 * only once, or a plan that never comes to its end would keep all others back.
 */
void maple_choice_looked(struct maple_candidate *c, bool missed)
{
	c->missed = missed && !c->missed;
	assert(c->looks);
	c->looks -= c->missed;
}

/*
 * maple_choice_again - the one to force once more, though it was exposed in a
 * run that did not fail; NULL if there is none
 *
 * Whether an order fails may depend on what else has happened: which of several
 * threads it was, or whether another had written already. So each comes again,
 * those first that have come again least often, but a missed look at once.
 */
struct maple_candidate *
maple_choice_again(const struct maple_candidates *all,
		   const struct maple_choice_limits *limits)
{
	struct maple_candidate *best = NULL, *c, *next;
	struct maple_estimate of, e;

	HASH_ITER (hh, all->table, c, next) {
		if (!c->exposed || c->goal.found || c->busy || !c->goal.row ||
		    !c->facts_known || apart(c, limits))
			continue;
		e = maple_estimate_of(all, c, MAPLE_ESTIMATE_AGAIN,
				      limits->order);
		if (best && !maple_estimate_before(&e, &of))
			continue;
		best = c;
		of = e;
	}
	return best;
}

static bool has_site(const struct maple_candidate *c, uint32_t site)
{
	unsigned int i;

	for (i = 0; i < maple_iroot_events(c->iroot.idiom); i++)
		if (c->iroot.e[i].site == site)
			return true;
	return false;
}

/* Whether one of the two would do at its sites what the other must not. */
static bool disturb(const struct maple_candidate *a,
		    const struct maple_candidate *b)
{
	unsigned int i;

	for (i = 0; i < maple_iroot_events(b->iroot.idiom); i++)
		if (has_site(a, b->iroot.e[i].site))
			return true;
	return false;
}

/*
 * maple_choice_beside - the best one that may be tried in the same run as
 * the @n @chosen ones, NULL if there is none
 *
 * Those come first that have come along least often: what never began counts
 * as no attempt. A forced deadlock is the end of a run. An iRoot of a signal
 * and a wait never comes along: a signal that the order before has made come
 * too early would be held back for it, and so not be lost. Nor does one of the
 * end of memory: what comes after that is another program. Nor does one of a
 * set, which has no guards, and whose threads would do as they like meanwhile.
 */
struct maple_candidate *
maple_choice_beside(const struct maple_candidates *all,
		    const struct maple_choice_limits *limits,
		    struct maple_candidate *const *chosen, unsigned int n)
{
	struct maple_candidate *best = NULL, *c, *next;
	struct maple_estimate of, e;
	unsigned int i;

	assert(n);
	for (i = 0; i < n; i++)
		if (chosen[i]->iroot.idiom == MAPLE_IDIOM_DEADLOCK)
			return NULL;
	HASH_ITER (hh, all->table, c, next) {
		if (under_way(all, c) ||
		    c->iroot.idiom >= MAPLE_IDIOM_DEADLOCK ||
		    maple_event_is_condition(c->iroot.e[0].kind) || c->ends)
			continue;
		e = maple_estimate_of(all, c, MAPLE_ESTIMATE_BESIDE,
				      limits->order);
		if ((best && !maple_estimate_before(&e, &of)) ||
		    !maple_choice_allows(all, c, limits) ||
		    maple_estimate_rests(all, c, limits->order))
			continue;
		for (i = 0; i < n && !disturb(c, chosen[i]); i++)
			;
		if (i < n)
			continue;
		best = c;
		of = e;
	}
	return best;
}

/*
 * maple_choice_count - what became of the candidates, by class: the one place
 * where it is said what is left; @coverage was made with maple_classes
 */
void maple_choice_count(const struct maple_candidates *all,
			const struct maple_choice_limits *limits,
			struct maple_coverage *coverage)
{
	struct maple_candidate *c, *next;
	struct maple_class_count *counts;

	maple_coverage_clear(coverage);
	HASH_ITER (hh, all->table, c, next) {
		counts = maple_class_counts(coverage, c->iroot.idiom);
		counts->predicted += c->predicted;
		counts->exposed += c->exposed;
		if (!wanted(c) || apart(c, limits))
			continue;
		if (tried_out(c, limits))
			counts->failed++;
		else if (barred(all, c, limits))
			counts->barred++;
		else
			counts->left++;
	}
}

/* maple_choice_startup - how many are left out as a server's start-up */
uint64_t maple_choice_startup(const struct maple_candidates *all,
			      const struct maple_choice_limits *limits)
{
	struct maple_candidate *c, *next;
	uint64_t n = 0;

	HASH_ITER (hh, all->table, c, next)
		n += wanted(c) && apart(c, limits);
	return n;
}

/* Of what may be tried now: how many rest, or do not. */
static uint64_t count_now(const struct maple_candidates *all,
			  const struct maple_choice_limits *limits, bool rest)
{
	struct maple_candidate *c, *next;
	uint64_t n = 0;

	HASH_ITER (hh, all->table, c, next)
		n += maple_choice_allows(all, c, limits) &&
		     maple_estimate_rests(all, c, limits->order) == rest;
	return n;
}

/* maple_choice_fresh - how many can be tried now and do not rest */
uint64_t maple_choice_fresh(const struct maple_candidates *all,
			    const struct maple_choice_limits *limits)
{
	return count_now(all, limits, false);
}

/* maple_choice_resting - how many could be tried now and rest */
uint64_t maple_choice_resting(const struct maple_candidates *all,
			      const struct maple_choice_limits *limits)
{
	return count_now(all, limits, true);
}
