// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What makes a plan safe to run, whoever made it: each number in it is in the
 * range of what it is used for, and each step can come after those before it.
 * Nothing is asked about the plan's shape: whether it can be exposed, or means
 * anything, is its maker's business. A plan that makes no sense is given up by
 * the automaton like one whose threads never come.
 *
 * The kernel module takes plans from whoever may open a session, so the
 * automaton relies on this and on nothing else. Freestanding.
 */
#include "plan.h"

#define FLAGS                                                       \
	(MAPLE_PLAN_WAY | MAPLE_PLAN_ROTATED | MAPLE_PLAN_FLIPPED | \
	 MAPLE_PLAN_TURNING | MAPLE_PLAN_FOLLOWED)

/* Of step @i, given that the steps before it have been looked at. */
static const char *step_fault(const struct maple_plan *plan, unsigned int i)
{
	const struct maple_plan_step *step = &plan->step[i];

	if (!maple_event_is_access(step->kind) || step->kind == MAPLE_EV_UPDATE)
		return "a step of the plan has a kind that no step can have";
	if (step->role >= MAPLE_PLAN_ROLES)
		return "a step of the plan has a role beyond MAPLE_PLAN_ROLES";
	if (step->var >= MAPLE_PLAN_VARS)
		return "a step of the plan has a variable beyond MAPLE_PLAN_VARS";
	if (step->event >= MAPLE_PLAN_STEPS)
		return "a step of the plan has an event beyond MAPLE_PLAN_STEPS";
	if (step->ngates > MAPLE_PLAN_GATES)
		return "a step of the plan has more gates than MAPLE_PLAN_GATES";
	if (step->pre >> i)
		return "a step of the plan needs itself, or a later step, to be done before";
	if (step->dep < -1 || step->dep >= (int)i)
		return "a step of the plan depends on no earlier step";
	if (step->dep >= 0 && !(step->pre >> step->dep & 1))
		return "a step of the plan does not need done what it depends on";
	if (step->pair < -1 || step->pair >= (int)i)
		return "a pair of the plan begins with no earlier step";
	if (step->pair >= 0 && plan->step[step->pair].role != step->role)
		return "a pair of the plan begins with another role's step";
	return 0;
}

const char *maple_plan_fault(const struct maple_plan *plan)
{
	const char *fault;
	unsigned int i;

	if (plan->idiom >= MAPLE_IDIOMS)
		return "the plan is of no idiom that there is";
	if (plan->flags & ~FLAGS)
		return "the plan has flags that are not known";
	if (!plan->nsteps || plan->nsteps > MAPLE_PLAN_STEPS)
		return "the plan has no step, or more than MAPLE_PLAN_STEPS";
	if (plan->nguards > MAPLE_PLAN_GUARDS)
		return "the plan has more guards than MAPLE_PLAN_GUARDS";
	if (plan->ncovers > MAPLE_PLAN_COVERS)
		return "the plan has more covers than MAPLE_PLAN_COVERS";
	for (i = 0; i < MAPLE_PLAN_ROLES; i++) {
		if (plan->hint[i][MAPLE_PLAN_NAME - 1])
			return "a thread's name in the plan has no end";
	}
	for (i = 0; i < plan->nsteps; i++) {
		fault = step_fault(plan, i);
		if (fault)
			return fault;
	}
	return 0;
}
