// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Candidates: which iRoot is tried next (algorithms.md 6).
 *
 * Left out: what was exposed already, what failed MAPLE_FAIL_LIMIT times in
 * all, what was tried often enough with this input. An attempt counts when it
 * starts, so that a crash is no free try.
 *
 * Order `paper`: idiom 1 first, application before library, fewest attempts,
 * then the order in which they were found. Order `ranked`: fewest attempts,
 * then the score below, round-robin over idioms by weight: what is counted is
 * runs to the first finding, so every promising candidate gets its first try
 * before any gets its second. An iRoot of several dependencies waits until
 * each of them, an iRoot of idiom 1, has been exposed by itself, and is left
 * out if that has failed for good: whoever exposes the whole exposes its parts.
 * What is unlikely by what became of others (odds.c) comes after all else.
 *
 * Not decided here: whether an iRoot is feasible (predict/), how it is forced
 * (plan/).
 */
#include <assert.h>
#include <string.h>
#include "candidate.h"

/* Turns in a round, idiom 1 to 6 and deadlock (algorithms.md 6). */
static const unsigned int weight[MAPLE_IDIOMS] = { 0, 4, 3, 2, 2, 2, 1, 2 };

enum term {
	TERM_DISJOINT,
	TERM_APPLICATION,
	TERM_FRESH,
	TERM_UNORDERED,
	TERM_DATA,
	TERM_TURNED,
	TERM_UNSERIALIZABLE,
	TERM_LOCKS,
	TERMS
};

/* What a candidate's promise rests on, and how much each term says. */
static const struct {
	int points;
	const char *reason;
} terms[TERMS] = {
	[TERM_DISJOINT] = { 8, "no lock excludes the two: a race" },
	[TERM_APPLICATION] = { 4, "both ends in the program itself" },
	[TERM_FRESH] = { 2, "a function nothing was exposed in yet" },
	[TERM_UNORDERED] = { 4, "happens-before leaves the order open" },
	[TERM_DATA] = { 2, "data, not two sections of one lock" },
	[TERM_LOCKS] = { 4, "two locks, one after the other or crosswise" },
	[TERM_UNSERIALIZABLE] = { 6, "no serial order of the two has this" },
	[TERM_TURNED] = { 3, "the reverse was seen: this order is the rare" },
};

/* maple_candidate_get - the candidate for @iroot, made if it is new */
struct maple_candidate *maple_candidate_get(struct maple_candidates *all,
					    const struct maple_iroot *iroot)
{
	struct maple_candidate *c;

	HASH_FIND(hh, all->table, iroot, sizeof(*iroot), c);
	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->iroot = *iroot;
	c->order = all->n++;
	HASH_ADD(hh, all->table, iroot, sizeof(c->iroot), c);
	return c;
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

static bool site_exposed(const struct maple_candidates *all, uint32_t site)
{
	struct maple_exposed_site *found;

	HASH_FIND(hh, all->sites, &site, sizeof(site), found);
	return found;
}

/* maple_candidate_exposed - @c was exposed: it needs no try any more */
void maple_candidate_exposed(struct maple_candidates *all,
			     struct maple_candidate *c)
{
	struct maple_exposed_site *entry;
	unsigned int i;

	c->exposed = true;
	for (i = 0; i < maple_iroot_events(c->iroot.idiom); i++) {
		if (site_exposed(all, c->iroot.e[i].site))
			continue;
		entry = calloc(1, sizeof(*entry));
		if (!entry)
			return;
		entry->site = c->iroot.e[i].site;
		HASH_ADD(hh, all->sites, site, sizeof(entry->site), entry);
	}
}

/* maple_candidate_rank - (re)computes the score of @c */
void maple_candidate_rank(const struct maple_candidates *all,
			  struct maple_candidate *c,
			  const struct maple_registry *reg, uint32_t main_image)
{
	unsigned int i, n = maple_iroot_events(c->iroot.idiom);
	bool holds[TERMS] = {
		[TERM_DISJOINT] = c->facts.disjoint,
		[TERM_APPLICATION] = true,
		[TERM_UNORDERED] = !c->facts.ordered,
		[TERM_DATA] = maple_event_is_memory(c->iroot.e[0].kind),
		[TERM_LOCKS] = two_locks(&c->iroot),
		[TERM_UNSERIALIZABLE] = c->facts.unserializable,
		[TERM_TURNED] = reverse_exposed(all, &c->iroot),
	};

	for (i = 0; i < n; i++) {
		if (!is_application(reg, c->iroot.e[i].site, main_image))
			holds[TERM_APPLICATION] = false;
		if (!site_exposed(all, c->iroot.e[i].site))
			holds[TERM_FRESH] = true;
	}
	c->application = holds[TERM_APPLICATION];
	c->score = 0;
	for (i = 0; i < TERMS; i++)
		if (holds[i])
			c->score += terms[i].points;
}

static bool tries_left(const struct maple_candidate *c,
		       const struct maple_candidate_limits *limits)
{
	return c->predicted && c->facts_known && !c->exposed &&
	       c->attempts < limits->attempts && c->failed < limits->failures;
}

/* The idiom 1 candidate that is @iroot's dependency of @from, if known. */
static const struct maple_candidate *part(const struct maple_candidates *all,
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

/* Whether nothing is known against the parts of an iRoot. */
static bool parts_exposed(const struct maple_candidates *all,
			  const struct maple_iroot *iroot)
{
	/* Where the dependencies of each idiom begin; all end one later. */
	static const int second[MAPLE_IDIOMS] = {
		[MAPLE_IDIOM_2] = 1, [MAPLE_IDIOM_3] = 2, [MAPLE_IDIOM_4] = 2,
		[MAPLE_IDIOM_5] = 2, [MAPLE_IDIOM_6] = 2,
	};
	const struct maple_candidate *one, *two;

	if (!second[iroot->idiom])
		return true;
	one = part(all, iroot, 0);
	two = part(all, iroot, second[iroot->idiom]);
	return (!one || one->exposed || !one->predicted) &&
	       (!two || two->exposed || !two->predicted);
}

/* maple_candidate_eligible - whether @c may be tried now */
bool maple_candidate_eligible(const struct maple_candidates *all,
			      const struct maple_candidate *c,
			      const struct maple_candidate_limits *limits)
{
	return tries_left(c, limits) && (limits->order == MAPLE_ORDER_PAPER ||
					 parts_exposed(all, &c->iroot));
}

/* maple_candidate_rests - whether @c comes after all that do not rest */
bool maple_candidate_rests(const struct maple_candidates *all,
			   const struct maple_candidate *c,
			   const struct maple_candidate_limits *limits)
{
	return limits->order != MAPLE_ORDER_PAPER &&
	       maple_odds_poor(&all->odds, &c->iroot, &c->facts);
}

/* Whether @a is tried before @b, both of one idiom. */
static bool before(const struct maple_candidate *a,
		   const struct maple_candidate *b, enum maple_order order)
{
	if (order == MAPLE_ORDER_PAPER) {
		if (a->application != b->application)
			return a->application;
		if (a->attempts != b->attempts)
			return a->attempts < b->attempts;
		return a->order < b->order;
	}
	if (a->attempts != b->attempts)
		return a->attempts < b->attempts;
	if (a->score != b->score)
		return a->score > b->score;
	return a->order < b->order;
}

/* The idiom whose turn it is, among those that have a candidate. */
static unsigned int turn(struct maple_candidates *all,
			 struct maple_candidate *const best[MAPLE_IDIOMS],
			 enum maple_order order)
{
	unsigned int i, found = 0;

	for (i = 1; i < MAPLE_IDIOMS; i++) {
		if (!best[i])
			continue;
		if (order == MAPLE_ORDER_PAPER)
			return i;
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

/* maple_candidate_next - the one to try now, NULL if none is left */
struct maple_candidate *
maple_candidate_next(struct maple_candidates *all,
		     const struct maple_candidate_limits *limits)
{
	struct maple_candidate *best[MAPLE_IDIOMS] = { NULL }, *c, *next;
	bool resting = true, rest;
	unsigned int idiom;

	HASH_ITER (hh, all->table, c, next) {
		if (c->busy || !maple_candidate_eligible(all, c, limits))
			continue;
		rest = maple_candidate_rests(all, c, limits);
		if (rest && !resting)
			continue;
		if (!rest && resting)
			memset(best, 0, sizeof(best));
		resting = rest;
		idiom = c->iroot.idiom;
		if (!best[idiom] || before(c, best[idiom], limits->order))
			best[idiom] = c;
	}
	idiom = turn(all, best, limits->order);
	all->served[idiom]++;
	return best[idiom];
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
 * maple_candidate_beside - the best one that may be tried in the same run as
 * the @n @chosen ones, NULL if there is none
 *
 * Those come first that have come along least often: what never began counts
 * as no attempt. A forced deadlock is the end of a run.
 */
struct maple_candidate *
maple_candidate_beside(const struct maple_candidates *all,
		       const struct maple_candidate_limits *limits,
		       struct maple_candidate *const *chosen, unsigned int n)
{
	struct maple_candidate *best = NULL, *c, *next;
	unsigned int i;

	for (i = 0; i < n; i++)
		if (chosen[i]->iroot.idiom == MAPLE_IDIOM_DEADLOCK)
			return NULL;
	HASH_ITER (hh, all->table, c, next) {
		if (c->busy || c->iroot.idiom == MAPLE_IDIOM_DEADLOCK ||
		    (best && c->rides > best->rides) ||
		    (best && c->rides == best->rides &&
		     !before(c, best, limits->order)) ||
		    !maple_candidate_eligible(all, c, limits) ||
		    maple_candidate_rests(all, c, limits))
			continue;
		for (i = 0; i < n && !disturb(c, chosen[i]); i++)
			;
		if (i == n)
			best = c;
	}
	return best;
}

/* maple_candidate_left - how many can still be tried */
uint64_t maple_candidate_left(const struct maple_candidates *all,
			      const struct maple_candidate_limits *limits)
{
	struct maple_candidate *c, *next;
	uint64_t n = 0;

	HASH_ITER (hh, all->table, c, next)
		n += maple_candidate_eligible(all, c, limits);
	return n;
}

/* maple_candidate_fresh - ... and do not rest */
uint64_t maple_candidate_fresh(const struct maple_candidates *all,
			       const struct maple_candidate_limits *limits)
{
	struct maple_candidate *c, *next;
	uint64_t n = 0;

	HASH_ITER (hh, all->table, c, next)
		n += maple_candidate_eligible(all, c, limits) &&
		     !maple_candidate_rests(all, c, limits);
	return n;
}

static void add_guard(struct maple_plan *plan, uint32_t site)
{
	uint32_t i;

	for (i = 0; i < plan->nsteps; i++)
		if (plan->step[i].site == site)
			return;
	if (plan->nguards < MAPLE_PLAN_GUARDS)
		plan->guard[plan->nguards++] = site;
}

/*
 * maple_candidate_plan - the plan for @attempt, from 1, on @c
 *
 * Each try draws another class of executions, the first try the first.
 */
int maple_candidate_plan(const struct maple_candidate *c, unsigned int attempt,
			 bool paper, uint64_t seed, struct maple_plan *plan)
{
	const struct maple_predict_end *end;
	struct maple_plan_step *step;
	uint32_t i, j;

	if (maple_plan_init(plan, &c->iroot, attempt, paper, seed))
		return -1;
	for (i = 0; i < plan->nsteps; i++) {
		step = &plan->step[i];
		end = &c->facts.e[step->event];
		step->occurrence = end->occurrence;
		if (end->nclasses)
			step->occurrence = end->class_occurrence[(attempt - 1) %
								 end->nclasses];
		step->occurrence++; /* the plan counts from 1 */
		for (j = 0; j < end->ngates && j < MAPLE_PLAN_GATES; j++)
			step->gate[step->ngates++] = end->gate[j];
		if (!plan->hint[step->role][0])
			memcpy(plan->hint[step->role], c->name[step->event],
			       MAPLE_PLAN_NAME);
	}
	for (i = 0; i < c->nguards; i++)
		add_guard(plan, c->guard[i]);
	plan->ncovers = c->ncovers;
	memcpy(plan->cover, c->cover, sizeof(plan->cover));
	return 0;
}

/* maple_candidate_destroy - frees the table */
void maple_candidate_destroy(struct maple_candidates *all)
{
	struct maple_candidate *c, *next;

	struct maple_exposed_site *site, *after;

	HASH_ITER (hh, all->table, c, next) {
		HASH_DEL(all->table, c);
		free(c);
	}
	HASH_ITER (hh, all->sites, site, after) {
		HASH_DEL(all->sites, site);
		free(site);
	}
	maple_odds_deinit(&all->odds);
	all->n = 0;
}
