// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Candidates: iRoots that are known, and what is known of each, and the plan for
 * a try of it.
 *
 * Not decided here: whether an iRoot is feasible (predict/), how promising it is
 * (estimate.c), which one is tried next (choice.c), how it is forced (plan/).
 */
#include <assert.h>
#include <stddef.h>
#include <string.h>
#include "base/table.h"
#include "candidate.h"
#include "classes.h"

/* maple_candidate_get - the candidate for @iroot, made if it is new */
struct maple_candidate *maple_candidate_get(struct maple_candidates *all,
					    const struct maple_iroot *iroot)
{
	struct maple_candidate *c;

	assert(maple_iroot_events(iroot->idiom)); /* tables are by idiom */
	HASH_FIND(hh, all->table, iroot, sizeof(*iroot), c);
	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->iroot = *iroot;
	maple_goal_of_iroot(iroot, &c->goal);
	c->order = all->n++;
	HASH_ADD(hh, all->table, iroot, sizeof(c->iroot), c);
	return c;
}

/* maple_candidate_of - the one whose goal @goal is */
struct maple_candidate *maple_candidate_of(struct maple_goal *goal)
{
	return (struct maple_candidate *)((char *)goal -
					  offsetof(struct maple_candidate,
						   goal));
}

/* maple_candidate_site_exposed - whether some exposed iRoot has @site */
bool maple_candidate_site_exposed(const struct maple_candidates *all,
				  uint32_t site)
{
	struct maple_exposed_site *found;

	HASH_FIND(hh, all->sites, &site, sizeof(site), found);
	return found;
}

/* maple_candidate_exposed - @c was exposed, in a run that did not fail */
void maple_candidate_exposed(struct maple_candidates *all,
			     struct maple_candidate *c)
{
	struct maple_exposed_site *entry;
	unsigned int i;

	c->exposed = true;
	for (i = 0; i < maple_iroot_events(c->iroot.idiom); i++) {
		if (maple_candidate_site_exposed(all, c->iroot.e[i].site))
			continue;
		entry = calloc(1, sizeof(*entry));
		if (!entry)
			return;
		entry->site = c->iroot.e[i].site;
		HASH_ADD(hh, all->sites, site, sizeof(entry->site), entry);
	}
}

/* maple_candidate_know - what profiling says of it */
void maple_candidate_know(struct maple_candidate *c,
			  const struct maple_predict_facts *facts)
{
	unsigned int i, n = maple_iroot_events(c->iroot.idiom);

	c->facts_known = true;
	c->facts = *facts;
	c->ends = c->gated = false;
	for (i = 0; i < n; i++) {
		c->ends |= facts->e[i].frees;
		c->gated |= facts->e[i].ngates != 0;
	}
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
 * Each try draws another class of executions, the first try the first. The
 * fifth, the first without gates, takes what the first did not have.
 */
static unsigned int class_of(unsigned int attempt)
{
	unsigned int way = (attempt - 1) % MAPLE_PLAN_WAYS;

	return way == MAPLE_PLAN_WAYS - 1 ? 1 : way;
}

/* maple_candidate_plan - the plan for @attempt, from 1, on @c */
int maple_candidate_plan(const struct maple_candidate *c, unsigned int attempt,
			 bool paper, uint64_t seed, struct maple_plan *plan)
{
	const struct maple_predict_end *end;
	struct maple_plan_step *step;
	uint32_t i, j;

	assert(attempt);
	if (maple_plan_init(plan, &c->iroot, attempt, paper, seed))
		return -1;
	for (i = 0; i < plan->nsteps; i++) {
		step = &plan->step[i];
		end = &c->facts.e[step->event];
		assert(end->nclasses <= sizeof(end->class_occurrence) /
						sizeof(*end->class_occurrence));
		step->occurrence = end->occurrence;
		if (end->nclasses)
			step->occurrence =
				end->class_occurrence[class_of(attempt) %
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
	assert(plan->nguards <= MAPLE_PLAN_GUARDS &&
	       c->ncovers <= MAPLE_PLAN_COVERS);
	plan->ncovers = c->ncovers;
	memcpy(plan->cover, c->cover, sizeof(plan->cover));
	return 0;
}

/* maple_candidate_destroy - frees the table */
void maple_candidate_destroy(struct maple_candidates *all)
{
	struct maple_candidate *c, *next;

	HASH_ITER (hh, all->table, c, next) {
		HASH_DEL(all->table, c);
		maple_callers_deinit(&c->callers);
		free(c);
	}
	maple_table_clear(all->sites);
	maple_table_clear(all->odds.sites);
	all->n = 0;
}
