// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Quick ways past the machine, for sites that are executed over and over: to
 * get into it safely costs the caller several system calls, and nearly always
 * nothing comes of it.
 *
 *	glance, minds	  the access leaves no trace at all
 *	ignores		  ... nor do others of the same thread and site
 *	skim, skimmed	  it leaves a record that the thread stands there, as
 *			  before() and after() do where that is all they do
 *
 * The caller of skim() may lose the CPU between any two instructions, and
 * others then make moves. So the number of moves is read first and compared
 * last, and the record is shown to them, or taken away, in one store.
 */
#include "automaton_state.h"

#define BARRIER() __asm__ volatile("" : : : "memory")

/*
 * maple_auto_glance - whether @acc is nothing to the plan as things stand
 *
 * Changes nothing but the count of arrivals, and that only if it says yes.
 */
int maple_auto_glance(struct maple_auto *a, unsigned int t,
		      const struct maple_access *acc)
{
	struct maple_access is = maple_access_normal(acc);
	uint32_t arrivals[MAPLE_PLAN_STEPS];

	if (a->finished || !maple_auto_knows(a, t))
		return 1;
	if (maple_auto_performs(a, t) || a->thread[t].stands ||
	    maple_kind_is_lock(is.kind) || !maple_hold_noted(a, t, &is) ||
	    maple_auto_concerns(a, is.addr, is.size))
		return 0;
	for (int i = 0; i < MAPLE_PLAN_STEPS; i++)
		arrivals[i] = a->arrivals[i];
	maple_hold_count_arrival(a, t, &is);
	a->thread[t].pass = a->thread[t].passes >= MAPLE_AUTO_PASSES;
	if (maple_hold_work_out(a, t, &is).reason == MAPLE_REASON_FREE)
		return 1;
	for (int i = 0; i < MAPLE_PLAN_STEPS; i++)
		a->arrivals[i] = arrivals[i];
	return 0;
}

/* maple_auto_minds - whether after() must be told of @acc, which happened */
int maple_auto_minds(const struct maple_auto *a, unsigned int t,
		     const struct maple_access *acc)
{
	return !a->finished && maple_auto_knows(a, t) &&
	       (maple_auto_performs(a, t) || a->thread[t].stands ||
		maple_kind_is_lock(acc->kind) ||
		maple_auto_concerns(a, acc->addr, acc->size));
}

int maple_auto_ignores(const struct maple_auto *a, unsigned int t,
		       const struct maple_access *acc)
{
	int role;

	if (a->finished || !maple_auto_knows(a, t))
		return 1;
	role = maple_auto_role(a, t);
	return !maple_auto_performs(a, t) && !a->thread[t].stands &&
	       maple_event_is_memory(acc->kind) &&
	       (role < 0 || !maple_hold_in_pair(a, role) ||
		a->ntouched[role] > MAPLE_AUTO_TOUCHED) &&
	       !maple_hold_anywhere(a, t, acc);
}

const uint32_t *maple_auto_epoch(const struct maple_auto *a)
{
	return &a->moves;
}

static void widen(struct maple_range *sum, const struct maple_range *r)
{
	uint64_t lo = r->addr, hi = r->addr + r->size;

	if (!r->size)
		return;
	if (sum->size && sum->addr < lo)
		lo = sum->addr;
	if (sum->size && sum->addr + sum->size > hi)
		hi = sum->addr + sum->size;
	*sum = (struct maple_range){ lo, hi - lo };
}

void maple_auto_about(const struct maple_auto *a, unsigned int var,
		      uint64_t *addr, uint64_t *size)
{
	struct maple_range sum = a->var[var];

	for (uint32_t i = 0; i < a->plan.nsteps; i++) {
		if (a->plan.step[i].var == var && (a->done >> i & 1))
			widen(&sum, &a->step_range[i]);
	}
	*addr = sum.addr;
	*size = a->finished ? 0 : sum.size;
}

/*
 * maple_auto_skim - before(), if @acc is free as things stand and @t has no
 * other record
 */
int maple_auto_skim(struct maple_auto *a, unsigned int t,
		    const struct maple_access *acc)
{
	struct maple_access is = maple_access_normal(acc);
	struct maple_auto_thread *thread;
	uint32_t arrivals[MAPLE_PLAN_STEPS], seen = a->moves;

	if (a->finished || !maple_auto_knows(a, t))
		return 0;
	BARRIER();
	thread = &a->thread[t];
	if (thread->stands || maple_auto_performs(a, t))
		return 0;
	for (int i = 0; i < MAPLE_PLAN_STEPS; i++)
		arrivals[i] = a->arrivals[i];
	maple_hold_count_arrival(a, t, &is);
	thread->pass = thread->passes >= MAPLE_AUTO_PASSES;
	if (maple_hold_work_out(a, t, &is).reason != MAPLE_REASON_FREE) {
		for (int i = 0; i < MAPLE_PLAN_STEPS; i++)
			a->arrivals[i] = arrivals[i];
		return 0;
	}
	thread->acc = is;
	thread->go = 1;
	thread->seen = seen;
	BARRIER();
	thread->stands = 1;
	BARRIER();
	/* If not, it may have been bound meanwhile: before() knows. */
	return a->moves == seen;
}

/* Whether @thread stands before a trylock of what @acc lets go of. */
static bool may_try(const struct maple_auto_thread *thread,
		    const struct maple_access *acc)
{
	return thread->stands && thread->acc.may_fail &&
	       thread->acc.addr == acc->addr;
}

/* Whether somebody may be waiting for the lock that @acc lets go of. */
static bool is_awaited(const struct maple_auto *a, int t,
		       const struct maple_access *acc)
{
	if (acc->kind != MAPLE_EV_UNLOCK)
		return false;
	for (uint32_t n = 0; n < a->nlive; n++) {
		if (a->live[n] != t && may_try(&a->thread[a->live[n]], acc))
			return true;
	}
	for (int r = 0; r < MAPLE_PLAN_ROLES; r++) {
		if (a->role[r] >= 0 && a->thread[a->role[r]].failed)
			return true;
	}
	return false;
}

static void note_lock(struct maple_auto *a, int t,
		      const struct maple_access *acc)
{
	struct maple_auto_thread *thread = &a->thread[t];

	if (acc->kind == MAPLE_EV_LOCK && !thread->lock &&
	    maple_gate_known(a, acc->site))
		thread->lock = acc->addr;
	else if (acc->kind == MAPLE_EV_UNLOCK && thread->lock == acc->addr)
		thread->lock = 0;
}

/* maple_auto_skimmed - after(), if nothing follows from @acc */
int maple_auto_skimmed(struct maple_auto *a, unsigned int t,
		       const struct maple_access *acc, int happened)
{
	struct maple_access is = maple_access_normal(acc);
	struct maple_auto_thread *thread;
	uint32_t seen = a->moves;

	if (a->finished || !maple_auto_knows(a, t))
		return 0;
	BARRIER();
	thread = &a->thread[t];
	if (!happened || !thread->stands || thread->acc.site != is.site ||
	    thread->acc.kind != is.kind || thread->acc.addr != is.addr ||
	    maple_auto_performs(a, t) || is_awaited(a, t, &is) ||
	    !maple_hold_noted(a, t, &is) || !maple_level_is_plain(a, t) ||
	    maple_hold_work_out(a, t, &is).reason != MAPLE_REASON_FREE)
		return 0;
	thread->stands = 0;
	BARRIER();
	if (a->moves != seen) {
		thread->stands = 1;
		return 0;
	}
	thread->go = 0;
	thread->pass = 0;
	note_lock(a, t, &is);
	return 1;
}
