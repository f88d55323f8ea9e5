/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What of a plan the agent and the module put hooks and probes at. */
#ifndef TESTS_HOOKED_SITE_H
#define TESTS_HOOKED_SITE_H

#include "plan/automaton_state.h"

static inline bool site_is_listed(const uint32_t *list, uint32_t n,
				  uint32_t site)
{
	for (uint32_t i = 0; i < n; i++) {
		if (list[i] == site)
			return true;
	}
	return false;
}

/* Whether accesses at @site must be reported to @a at all. */
static inline bool site_is_hooked(const struct maple_auto *a, uint32_t site)
{
	const struct maple_plan *plan = &a->plan;
	bool gated = plan->flags & MAPLE_PLAN_GATED;

	if (a->finished)
		return false;
	for (uint32_t i = 0; i < plan->nsteps; i++) {
		const struct maple_plan_step *step = &plan->step[i];

		if (step->site == site ||
		    (gated && site_is_listed(step->gate, step->ngates, site)))
			return true;
	}
	return site_is_listed(plan->guard, plan->nguards, site) ||
	       (gated && site_is_listed(plan->cover, plan->ncovers, site));
}

#endif
