// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Gates (rule 6 of algorithms.md 7): in gated tries a thread is held before
 * the outermost lock that leads to its step, while it holds nothing yet, as
 * long as the others are not where they have to be. Inside the lock it would
 * keep them from getting there.
 */
#include "automaton_state.h"

static bool is_gate(const struct maple_plan_step *step, uint32_t site)
{
	if (site == step->site)
		return false;
	for (uint32_t i = 0; i < step->ngates; i++) {
		if (step->gate[i] == site)
			return true;
	}
	return false;
}

static bool is_cover_site(const struct maple_auto *a, uint32_t site)
{
	for (uint32_t i = 0; i < a->plan.ncovers; i++) {
		if (a->plan.cover[i] == site)
			return true;
	}
	return false;
}

/* maple_gate_known - whether @site is a gate of any step, or a cover */
bool maple_gate_known(const struct maple_auto *a, uint32_t site)
{
	for (int i = 0; i < (int)a->plan.nsteps; i++) {
		if (is_gate(&a->plan.step[i], site))
			return true;
	}
	return is_cover_site(a, site);
}

/*
 * A trylock that would fail now. To block resolves itself; to fail leads
 * around the step for good.
 */
static bool would_fail(const struct maple_auto *a, int t,
		       const struct maple_access *acc)
{
	for (uint32_t n = 0; n < a->nlive && acc->may_fail; n++) {
		if (a->live[n] != t && a->thread[a->live[n]].lock == acc->addr)
			return true;
	}
	return false;
}

/* Step i comes next, but who shall do the one after it is not there yet. */
static bool partner_missing(const struct maple_auto *a, int i)
{
	int next = maple_hold_next_step(a, i);
	int role;

	if (i != maple_auto_current(a) || next < 0 ||
	    a->plan.step[next].role == a->plan.step[i].role)
		return false;
	role = a->plan.step[next].role;
	if (a->role[role] >= 0)
		return !a->thread[a->role[role]].stands;
	for (uint32_t n = 0; n < a->nlive; n++) {
		if (maple_hold_candidate(a, a->live[n], next))
			return false;
	}
	return true;
}

/* maple_gate_of - the step before whose gate @t should wait, or -1 */
int maple_gate_of(const struct maple_auto *a, int t,
		  const struct maple_access *acc)
{
	int mine = maple_auto_role(a, t);
	int k = maple_auto_current(a);

	for (int role = 0; role < MAPLE_PLAN_ROLES; role++) {
		int i = maple_hold_first_step(a, role);
		bool early;

		if (i < 0 || !is_gate(&a->plan.step[i], acc->site))
			continue;
		if (mine == role)
			early = i > 0 && (i != k || partner_missing(a, i));
		else if (mine < 0 && a->role[role] < 0 &&
			 maple_hold_hint_agrees(a, t, role))
			early = (i > 0 && !maple_auto_pre_done(a, i)) ||
				partner_missing(a, i);
		else
			continue;
		if (early || would_fail(a, t, acc))
			return i;
	}
	return -1;
}

/*
 * maple_gate_is_cover - whether @t, a third thread, stands before a lock that
 * leads to guarded sites
 */
bool maple_gate_is_cover(const struct maple_auto *a, int t,
			 const struct maple_access *acc)
{
	bool active = false;

	for (int i = 0; i < (int)a->plan.nsteps; i++) {
		const struct maple_plan_step *step = &a->plan.step[i];

		active |= maple_hold_guard_active(a, i) &&
			  !maple_kind_is_lock(a->plan.step[step->dep].kind);
	}
	if (!active || !maple_gate_known(a, acc->site))
		return false;
	for (int role = 0; role < MAPLE_PLAN_ROLES; role++) {
		if (a->role[role] < 0 && maple_hold_hint_agrees(a, t, role))
			return false;
	}
	return true;
}
