// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What profiling would know of a plan, from the logs of the two plain runs:
 * which sites touch its locations (guards), under which outermost locks its
 * sites were seen (gates). Threads and occurrences come from a way that the
 * search found, as the predictor's come from the pair it predicts on.
 */
#include <stdio.h>
#include <string.h>
#include "simulate.h"

bool profile_saw(const struct run *plain, const struct maple_iroot *iroot)
{
	for (unsigned int e = 0; e < maple_iroot_events(iroot->idiom); e++) {
		bool seen = false;

		for (int run = 0; run < 2; run++) {
			const struct log *log = &plain[run].log;

			for (int i = 0; i < log->n; i++)
				seen |= log->e[i].site == iroot->e[e].site;
		}
		if (!seen)
			return false;
	}
	return true;
}

static bool is_step(const struct maple_plan *plan, uint32_t site)
{
	for (uint32_t i = 0; i < plan->nsteps; i++) {
		if (plan->step[i].site == site)
			return true;
	}
	return false;
}

static void guard_add(struct maple_plan *plan, uint32_t site)
{
	for (uint32_t i = 0; i < plan->nguards; i++) {
		if (plan->guard[i] == site)
			return;
	}
	if (!is_step(plan, site) && plan->nguards < MAPLE_PLAN_GUARDS)
		plan->guard[plan->nguards++] = site;
}

static void find_guards(const struct log *log, struct maple_plan *plan)
{
	for (int i = 0; i < log->n; i++) {
		const struct entry *e = &log->e[i];

		for (int j = 0; j < log->n; j++) {
			if (is_step(plan, log->e[j].site) &&
			    ranges_meet(e->addr, e->size, log->e[j].addr,
					log->e[j].size)) {
				guard_add(plan, e->site);
				break;
			}
		}
	}
}

static void gate_add(struct maple_plan_step *step, uint32_t site)
{
	for (uint32_t i = 0; i < step->ngates; i++) {
		if (step->gate[i] == site)
			return;
	}
	if (site != step->site && step->ngates < MAPLE_PLAN_GATES)
		step->gate[step->ngates++] = site;
}

static bool is_guard(const struct maple_plan *plan, uint32_t site)
{
	for (uint32_t i = 0; i < plan->nguards; i++) {
		if (plan->guard[i] == site)
			return true;
	}
	return false;
}

static bool is_gate(const struct maple_plan *plan, uint32_t site)
{
	for (uint32_t s = 0; s < plan->nsteps; s++) {
		for (uint32_t i = 0; i < plan->step[s].ngates; i++) {
			if (plan->step[s].gate[i] == site)
				return true;
		}
	}
	return false;
}

static void cover_add(struct maple_plan *plan, uint32_t site)
{
	for (uint32_t i = 0; i < plan->ncovers; i++) {
		if (plan->cover[i] == site)
			return;
	}
	if (plan->ncovers < MAPLE_PLAN_COVERS)
		plan->cover[plan->ncovers++] = site;
}

/* The outermost locks under which steps and guards were seen. */
static void find_gates(const struct log *log, struct maple_plan *plan)
{
	uint32_t outer[MAX_THREADS] = { 0 };
	int depth[MAX_THREADS] = { 0 };

	for (int i = 0; i < log->n; i++) {
		const struct entry *e = &log->e[i];

		if (e->kind == MAPLE_EV_UNLOCK && depth[e->thread] == 1 &&
		    is_gate(plan, outer[e->thread]))
			cover_add(plan, e->site);
		for (uint32_t s = 0; s < plan->nsteps; s++) {
			if (plan->step[s].site == e->site && depth[e->thread])
				gate_add(&plan->step[s], outer[e->thread]);
		}
		if (depth[e->thread] && maple_event_is_memory(e->kind) &&
		    is_guard(plan, e->site))
			cover_add(plan, outer[e->thread]);
		if (e->kind == MAPLE_EV_LOCK && !depth[e->thread]++)
			outer[e->thread] = e->site;
		else if (e->kind == MAPLE_EV_UNLOCK)
			depth[e->thread]--;
	}
}

/* How-manieth execution of its site by thread @t operation @index is. */
static uint32_t occurrence(const struct program *p, int t, int index)
{
	uint32_t n = 0;

	for (int i = 0; i <= index; i++)
		n += op_is_access(&p->op[t][i]) &&
		     p->op[t][i].site == p->op[t][index].site &&
		     p->op[t][i].access == p->op[t][index].access;
	return n;
}

void profile_name(char *name, int thread)
{
	if (thread)
		snprintf(name, MAPLE_PLAN_NAME, "0.%d", thread);
	else
		snprintf(name, MAPLE_PLAN_NAME, "0");
}

void profile_plan(const struct program *p, const struct run *plain,
		  const struct tuple *tuple, unsigned int attempt,
		  uint64_t seed, struct maple_plan *plan)
{
	maple_plan_init(plan, &tuple->iroot, attempt, 0, seed);
	profile_name(plan->hint[0], tuple->p);
	profile_name(plan->hint[1], tuple->q);
	for (uint32_t i = 0; i < plan->nsteps; i++) {
		struct maple_plan_step *step = &plan->step[i];
		int t = step->role ? tuple->q : tuple->p;

		step->occurrence = occurrence(p, t, tuple->index[step->event]);
	}
	for (int run = 0; run < 2; run++) {
		find_guards(&plain[run].log, plan);
		find_gates(&plain[run].log, plan);
	}
}
