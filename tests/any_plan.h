/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Random plans of any shape that is well-formed: what the automaton, the agent
 * and the module must be able to run to its end, whether it can be exposed or
 * not.
 */
#ifndef MAPLE_TESTS_ANY_PLAN_H
#define MAPLE_TESTS_ANY_PLAN_H

#include <string.h>
#include "plan/plan.h"

static inline unsigned int any_below(uint64_t *seed, unsigned int n)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	return (unsigned int)((z >> 32) % n);
}

/* Step @i of @plan, after those before it. */
static inline void any_step(struct maple_plan *plan, unsigned int i,
			    uint64_t *seed, const struct maple_iroot_event *at,
			    unsigned int n)
{
	struct maple_plan_step *step = &plan->step[i];
	struct maple_iroot_event is = at[any_below(seed, n)];
	unsigned int other;

	step->site = is.site;
	step->kind = (uint8_t)is.kind;
	if (is.kind == MAPLE_EV_UPDATE)
		step->kind = any_below(seed, 2) ? MAPLE_EV_READ
						: MAPLE_EV_WRITE;
	step->role = (uint8_t)any_below(seed, MAPLE_PLAN_ROLES);
	step->var = (uint8_t)any_below(seed, MAPLE_PLAN_VARS);
	step->event = (uint8_t)any_below(seed, MAPLE_PLAN_STEPS);
	step->pre =
		(uint16_t)(any_below(seed, 1u << i) & any_below(seed, 1u << i));
	step->dep = step->pair = -1;
	if (i && any_below(seed, 2)) {
		other = any_below(seed, i);
		step->dep = (int8_t)other;
		step->pre |= (uint16_t)(1u << other);
		/* Or else it is about two variables in one, seldom. */
		if (any_below(seed, 8))
			step->var = plan->step[other].var;
	}
	if (i && any_below(seed, 2)) {
		other = any_below(seed, i);
		if (plan->step[other].role == step->role)
			step->pair = (int8_t)other;
	}
	if (!any_below(seed, 4))
		step->occurrence = any_below(seed, 4);
	while (step->ngates < MAPLE_PLAN_GATES && !any_below(seed, 3))
		step->gate[step->ngates++] = at[any_below(seed, n)].site;
}

/*
 * any_plan - *@plan becomes a random well-formed one
 * @at: the @n accesses that steps, gates, guards and covers are drawn from
 */
static inline void any_plan(struct maple_plan *plan, uint64_t *seed,
			    const struct maple_iroot_event *at, unsigned int n)
{
	static const char *const names[] = { "", "", "0", "0.1", "0.2" };

	memset(plan, 0, sizeof(*plan));
	plan->idiom = any_below(seed, MAPLE_IDIOMS);
	plan->flags = any_below(seed, 2 * MAPLE_PLAN_FOLLOWED);
	plan->attempt = 1 + any_below(seed, MAPLE_PLAN_WAYS);
	plan->slice_ms = 1 + any_below(seed, MAPLE_PLAN_SLICE_MS);
	plan->seed = *seed;
	plan->nsteps =
		1 + any_below(seed, 1 + any_below(seed, MAPLE_PLAN_STEPS));
	for (unsigned int i = 0; i < plan->nsteps; i++)
		any_step(plan, i, seed, at, n);
	for (unsigned int r = 0; r < MAPLE_PLAN_ROLES; r++)
		strcpy(plan->hint[r], names[any_below(seed, 5)]);
	while (plan->nguards < MAPLE_PLAN_GUARDS && any_below(seed, 4))
		plan->guard[plan->nguards++] = at[any_below(seed, n)].site;
	while (plan->ncovers < MAPLE_PLAN_COVERS && any_below(seed, 2))
		plan->cover[plan->ncovers++] = at[any_below(seed, n)].site;
}

#endif
