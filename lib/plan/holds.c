// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Why a thread is held (rules 1 and 5 of algorithms.md 7; 6 is in gates.c). A
 * reason is never stored: it is worked out from the thread's access and the
 * state whenever either may have changed, so that it cannot go stale. Nothing
 * here changes the attempt, but for maple_hold_note(), which remembers what
 * was touched.
 *
 *   stands before an access
 *     |-- bound: its role's first undone step agrees ------> ARRIVED
 *     |-- unbound: the first step of an unbound role ------> CAND
 *     |-- it would break a dependency or its own pair -----> GUARD
 *     |-- gated try: an outer lock of its step, too early -> GATE
 *     |-- gated try: a third thread, guard at work --------> COVER
 *     `-- none of these -----------------------------------> FREE
 */
#include "automaton_state.h"

static bool ranges_overlap(const struct maple_range *r,
			   const struct maple_range *s)
{
	return r->size && s->size && r->addr < s->addr + s->size &&
	       s->addr < r->addr + r->size;
}

static bool step_done(const struct maple_auto *a, int i)
{
	return a->done >> i & 1;
}

/* The pair that step i ends has begun and not ended. */
static bool pair_open(const struct maple_auto *a, int i)
{
	const struct maple_plan_step *step = &a->plan.step[i];

	return step->pair >= 0 && !step_done(a, i) && step_done(a, step->pair);
}

/* maple_hold_guard_active - what @i depends on was executed, @i was not */
bool maple_hold_guard_active(const struct maple_auto *a, int i)
{
	const struct maple_plan_step *step = &a->plan.step[i];

	return step->dep >= 0 && !step_done(a, i) && step_done(a, step->dep);
}

/* A read-modify-write is both of its halves. */
static bool kind_agrees(unsigned int step_kind, unsigned int kind)
{
	return step_kind == kind ||
	       (kind == MAPLE_EV_UPDATE && maple_event_is_memory(step_kind));
}

static bool context_agrees(const struct maple_plan_step *step,
			   const struct maple_access *acc)
{
	return step->context == MAPLE_CONTEXT_ANY ||
	       acc->context == MAPLE_CONTEXT_ALL ||
	       step->context == acc->context;
}

static bool site_agrees(const struct maple_plan_step *step,
			const struct maple_access *acc)
{
	return step->site == acc->site && kind_agrees(step->kind, acc->kind) &&
	       context_agrees(step, acc);
}

static bool touched(const struct maple_auto *a, int role,
		    const struct maple_access *acc)
{
	/* What did not fit may have been anything. */
	if (a->ntouched[role] > MAPLE_AUTO_TOUCHED)
		return true;
	for (uint32_t i = 0; i < a->ntouched[role]; i++) {
		if (maple_range_overlap(&a->touched[role][i], acc))
			return true;
	}
	return false;
}

/* @acc would end a pair of @role, begun elsewhere, on a range it touched. */
static bool pair_spoiled(const struct maple_auto *a, int i,
			 const struct maple_access *acc)
{
	const struct maple_plan_step *step = &a->plan.step[i];

	return touched(a, step->role, acc) &&
	       !maple_range_overlap(&a->step_range[step->pair], acc);
}

static bool is_other_variable(const struct maple_auto *a, int var,
			      const struct maple_access *acc)
{
	for (int v = 0; v < MAPLE_PLAN_VARS; v++) {
		if (v != var && maple_range_overlap(&a->var[v], acc))
			return true;
	}
	return false;
}

static bool range_agrees(const struct maple_auto *a, int t, int i,
			 const struct maple_access *acc)
{
	const struct maple_plan_step *step = &a->plan.step[i];
	const struct maple_range *var = &a->var[step->var];

	if (var->size && !maple_range_overlap(var, acc))
		return false;
	if (is_other_variable(a, step->var, acc))
		return false;
	if (maple_hold_guard_active(a, i)) {
		if (!maple_range_overlap(&a->step_range[step->dep], acc))
			return false;
		/* A second read of the same write depends on nothing new. */
		if (a->plan.step[step->dep].kind == MAPLE_EV_WRITE &&
		    step->kind == MAPLE_EV_READ &&
		    a->read_since[step->dep][t / 64] >> (t % 64) & 1)
			return false;
	}
	if (step->pair >= 0 && step_done(a, step->pair) &&
	    pair_spoiled(a, i, acc))
		return false;
	for (int j = 0; j < (int)a->plan.nsteps; j++) {
		if (j != i && pair_open(a, j) &&
		    a->plan.step[j].var == step->var && pair_spoiled(a, j, acc))
			return false;
	}
	return true;
}

/* Whether @acc of @t, not itself step i, ends what i depends on (rule 5). */
static bool breaks_dependency(const struct maple_auto *a, int t, int i,
			      const struct maple_access *acc)
{
	const struct maple_plan_step *step = &a->plan.step[i];
	const struct maple_plan_step *dep = &a->plan.step[step->dep];

	if (maple_kind_is_lock(dep->kind) != maple_kind_is_lock(acc->kind) ||
	    !maple_range_overlap(&a->step_range[step->dep], acc))
		return false;
	if (maple_kind_is_lock(acc->kind) || (acc->kind & MAPLE_EV_WRITE))
		return true;
	if (dep->kind ==
	    MAPLE_EV_READ) /* a newer read of its thread hides it */
		return a->step_thread[step->dep] == t;
	if (step->kind == MAPLE_EV_READ) /* ... the dependent must be first */
		return a->role[step->role] == t;
	return true;
}

static bool breaks_pair(const struct maple_auto *a, int i,
			const struct maple_access *acc)
{
	const struct maple_plan_step *step = &a->plan.step[i];
	unsigned int kind = a->plan.step[step->pair].kind;

	if (maple_kind_is_lock(kind) != maple_kind_is_lock(acc->kind))
		return false;
	return maple_range_overlap(&a->step_range[step->pair], acc) ||
	       maple_range_overlap(&a->var[step->var], acc);
}

/* maple_hold_breaks - whether @acc of @t would break a guard or its pair */
bool maple_hold_breaks(const struct maple_auto *a, int t,
		       const struct maple_access *acc)
{
	int role = maple_auto_role(a, t);

	for (int i = 0; i < (int)a->plan.nsteps; i++) {
		if (!a->dead && maple_hold_guard_active(a, i) &&
		    breaks_dependency(a, t, i, acc))
			return true;
		if (role == a->plan.step[i].role && pair_open(a, i) &&
		    breaks_pair(a, i, acc))
			return true;
	}
	return false;
}

/*
 * maple_hold_hopeless - whether @acc of bound thread @t breaks something that
 * no other thread can complete first: its own pair, or what it awaits itself
 */
bool maple_hold_hopeless(const struct maple_auto *a, int t,
			 const struct maple_access *acc)
{
	int role = maple_auto_role(a, t);

	for (int i = 0; i < (int)a->plan.nsteps; i++) {
		if (role != a->plan.step[i].role)
			continue;
		if (!a->dead && maple_hold_guard_active(a, i) &&
		    breaks_dependency(a, t, i, acc))
			return true;
		if (pair_open(a, i) && breaks_pair(a, i, acc))
			return true;
	}
	return false;
}

int maple_hold_next_step(const struct maple_auto *a, int step)
{
	for (int i = step + 1; i < (int)a->plan.nsteps; i++) {
		if (!step_done(a, i))
			return i;
	}
	return -1;
}

/* maple_hold_first_step - @role's first undone step; -1 if all are done */
int maple_hold_first_step(const struct maple_auto *a, int role)
{
	for (int i = 0; i < (int)a->plan.nsteps; i++) {
		if (a->plan.step[i].role == role && !step_done(a, i))
			return i;
	}
	return -1;
}

static bool hints_count(const struct maple_auto *a)
{
	return (a->plan.flags & MAPLE_PLAN_HINTED) && !a->dropped;
}

/* maple_hold_hint_agrees - whether @t may have @role, as far as hints go */
bool maple_hold_hint_agrees(const struct maple_auto *a, int t, int role)
{
	return !hints_count(a) || !a->plan.hint[role][0] ||
	       (a->thread[t].roles >> role & 1);
}

/* The occurrence hinted at has not come yet. Counts in the first attempt. */
static bool too_early(const struct maple_auto *a, int step)
{
	return hints_count(a) && !a->result.attempts && !a->turns && !a->late &&
	       a->arrivals[step] < a->plan.step[step].occurrence;
}

static bool fits_first_step(const struct maple_auto *a, int t, int role,
			    const struct maple_access *acc)
{
	int i = maple_hold_first_step(a, role);

	return i >= 0 && a->role[role] < 0 &&
	       maple_hold_hint_agrees(a, t, role) && !a->thread[t].pass &&
	       site_agrees(&a->plan.step[i], acc) &&
	       range_agrees(a, t, i, acc) && !too_early(a, i);
}

/* maple_hold_candidate - whether @t stands before @step and could do it */
bool maple_hold_candidate(const struct maple_auto *a, int t, int step)
{
	int role = a->plan.step[step].role;

	return a->thread[t].stands && maple_auto_role(a, t) < 0 &&
	       maple_hold_first_step(a, role) == step &&
	       fits_first_step(a, t, role, &a->thread[t].acc);
}

/*
 * @acc agrees with step i of bound thread @t. It must not, in the same
 * breath, be a touch within another open pair of its role.
 */
static bool arrives(const struct maple_auto *a, int t, int i,
		    const struct maple_access *acc)
{
	if (!site_agrees(&a->plan.step[i], acc) || !range_agrees(a, t, i, acc))
		return false;
	for (int j = 0; j < (int)a->plan.nsteps; j++) {
		if (j != i && a->plan.step[j].role == a->plan.step[i].role &&
		    pair_open(a, j) && breaks_pair(a, j, acc))
			return false;
	}
	return true;
}

/* maple_hold_work_out - why @t is to be held before @acc, as things stand */
struct maple_hold maple_hold_work_out(const struct maple_auto *a, int t,
				      const struct maple_access *acc)
{
	int role = maple_auto_role(a, t);
	int i;

	if (role >= 0) {
		i = maple_hold_first_step(a, role);
		if (i >= 0 && arrives(a, t, i, acc))
			return (struct maple_hold){ MAPLE_REASON_ARRIVED, i };
	} else {
		for (int r = 0; r < MAPLE_PLAN_ROLES; r++) {
			i = maple_hold_first_step(a, r);
			if (fits_first_step(a, t, r, acc))
				return (struct maple_hold){ MAPLE_REASON_CAND,
							    i };
		}
	}
	if (maple_hold_breaks(a, t, acc))
		return (struct maple_hold){ MAPLE_REASON_GUARD, -1 };
	if ((a->plan.flags & MAPLE_PLAN_GATED) && !a->thread[t].pass &&
	    acc->kind == MAPLE_EV_LOCK) {
		i = maple_gate_of(a, t, acc);
		if (i >= 0)
			return (struct maple_hold){ MAPLE_REASON_GATE, i };
		if (role < 0 && maple_gate_is_cover(a, t, acc))
			return (struct maple_hold){ MAPLE_REASON_COVER, -1 };
	}
	return (struct maple_hold){ MAPLE_REASON_FREE, -1 };
}

/* maple_hold_arrived - the step before which @role's thread stands, or -1 */
int maple_hold_arrived(const struct maple_auto *a, int role)
{
	int t = a->role[role];
	struct maple_hold hold;

	if (t < 0 || !a->thread[t].stands || a->thread[t].failed)
		return -1;
	hold = maple_hold_work_out(a, t, &a->thread[t].acc);
	return hold.reason == MAPLE_REASON_ARRIVED ? hold.step : -1;
}

/* maple_hold_count_arrival - for hints that name an occurrence */
void maple_hold_count_arrival(struct maple_auto *a, int t,
			      const struct maple_access *acc)
{
	bool later[MAPLE_PLAN_ROLES] = { false };

	if (maple_auto_role(a, t) >= 0)
		return;
	for (int i = 0; i < (int)a->plan.nsteps; i++) {
		const struct maple_plan_step *step = &a->plan.step[i];

		if (!later[step->role] && site_agrees(step, acc) &&
		    maple_hold_hint_agrees(a, t, step->role))
			a->arrivals[i]++;
		later[step->role] = true;
	}
}

/*
 * maple_hold_anywhere - whether there are addresses that no step is bound to
 * yet at which an access like @acc of @t would be one, or has to be counted
 */
bool maple_hold_anywhere(const struct maple_auto *a, int t,
			 const struct maple_access *acc)
{
	int mine = maple_auto_role(a, t);

	for (int r = 0; r < MAPLE_PLAN_ROLES; r++) {
		int i = maple_hold_first_step(a, r);

		if (i < 0 || !site_agrees(&a->plan.step[i], acc))
			continue;
		if (mine < 0 &&
		    (a->role[r] >= 0 || !maple_hold_hint_agrees(a, t, r)))
			continue;
		if (mine < 0 && too_early(a, i))
			return true;
		if ((mine < 0 && a->thread[t].passes < MAPLE_AUTO_PASSES) ||
		    mine == r) {
			if (!a->var[a->plan.step[i].var].size)
				return true;
		}
	}
	return false;
}

/* maple_hold_in_pair - whether a local pair of @role has begun, not ended */
bool maple_hold_in_pair(const struct maple_auto *a, int role)
{
	for (int i = 0; i < (int)a->plan.nsteps; i++) {
		if (a->plan.step[i].role == role && pair_open(a, i))
			return true;
	}
	return false;
}

/* That @role touches @acc is known, or all that it touches is. */
static bool touch_known(const struct maple_auto *a, int role,
			const struct maple_access *acc)
{
	uint32_t n = a->ntouched[role];

	if (n > MAPLE_AUTO_TOUCHED)
		return true;
	for (uint32_t i = 0; i < n; i++) {
		const struct maple_range *r = &a->touched[role][i];

		if (r->addr <= acc->addr &&
		    acc->addr + acc->size <= r->addr + r->size)
			return true;
	}
	return false;
}

static void touch(struct maple_auto *a, int role, const struct maple_access *acc)
{
	uint32_t n = a->ntouched[role];

	if (touch_known(a, role, acc))
		return;
	if (n < MAPLE_AUTO_TOUCHED)
		a->touched[role][n] =
			(struct maple_range){ acc->addr, acc->size };
	a->ntouched[role]++;
	a->spent += MAPLE_AUTO_TOUCH_US * a->nlive;
	a->moves++;
}

/* maple_hold_note - @acc of @t has happened: remember what later moves need */
void maple_hold_note(struct maple_auto *a, int t, const struct maple_access *acc)
{
	struct maple_range range = { acc->addr, acc->size };
	int role = maple_auto_role(a, t);

	/* What it has read is noted under its number. */
	if (!MAPLE_INVARIANT(a, maple_auto_knows(a, t)))
		return;
	if (role >= 0 && maple_hold_in_pair(a, role))
		touch(a, role, acc);
	if (!maple_event_is_memory(acc->kind) || !(acc->kind & MAPLE_EV_READ))
		return;
	for (int i = 0; i < (int)a->plan.nsteps; i++) {
		if (step_done(a, i) && ranges_overlap(&a->step_range[i], &range))
			a->read_since[i][t / 64] |= 1ull << (t % 64);
	}
}

/* maple_hold_noted - whether maple_hold_note() would change nothing */
bool maple_hold_noted(const struct maple_auto *a, int t,
		      const struct maple_access *acc)
{
	struct maple_range range = { acc->addr, acc->size };
	int role = maple_auto_role(a, t);

	if (role >= 0 && maple_hold_in_pair(a, role) &&
	    !touch_known(a, role, acc))
		return false;
	if (!maple_event_is_memory(acc->kind) || !(acc->kind & MAPLE_EV_READ))
		return true;
	for (int i = 0; i < (int)a->plan.nsteps; i++) {
		if (step_done(a, i) &&
		    ranges_overlap(&a->step_range[i], &range) &&
		    !(a->read_since[i][t / 64] >> (t % 64) & 1))
			return false;
	}
	return true;
}
