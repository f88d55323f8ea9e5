// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Levels (rule 4 of algorithms.md 7): which priority each thread should have
 * as things stand, and handing out the differences to what the caller was
 * told, raises first, so that no thread loses the CPU to one that is only
 * about to be lowered.
 *
 *   HIGH   the executing performer; the bound thread that is waited for
 *   NORM   everyone else, each its own
 *   NEXT   stands before a step that could be executed now
 *   LOW    stands before a later step, or a gate; executed in watch mode
 *   MIN    would break a guard; spins
 */
#include "automaton_state.h"

/* The role that is waited for: k's performer, or k+1's while k's waits. */
static int role_missing(const struct maple_auto *a)
{
	int k = maple_auto_current(a);
	int next;

	if (a->executing >= 0 || k == (int)a->plan.nsteps)
		return -1;
	if (maple_hold_arrived(a, a->plan.step[k].role) != k)
		return a->plan.step[k].role;
	next = maple_hold_next_step(a, k);
	if (next >= 0 && maple_hold_arrived(a, a->plan.step[next].role) != next)
		return a->plan.step[next].role;
	return -1;
}

/*
 * Whether the last that @role did was to wait on a condition. That its thread
 * is in there nobody tells: it has the CPU until it is, before who signals.
 */
static bool falls_asleep(const struct maple_auto *a, int role)
{
	for (int i = (int)a->plan.nsteps - 1; i >= 0; i--) {
		if (a->plan.step[i].role == role && (a->done >> i & 1))
			return a->plan.step[i].kind == MAPLE_EV_SLEEP;
	}
	return false;
}

static unsigned int level_held(const struct maple_auto *a, int t)
{
	const struct maple_auto_thread *thread = &a->thread[t];
	struct maple_hold hold = maple_hold_work_out(a, t, &thread->acc);

	switch (hold.reason) {
	case MAPLE_REASON_ARRIVED:
	case MAPLE_REASON_CAND:
		if (a->executing < 0 && !thread->failed &&
		    maple_auto_pre_done(a, hold.step))
			return MAPLE_PRIO_NEXT;
		return MAPLE_PRIO_LOW;
	case MAPLE_REASON_GATE:
		return MAPLE_PRIO_LOW;
	case MAPLE_REASON_GUARD:
	case MAPLE_REASON_COVER:
		return MAPLE_PRIO_MIN;
	case MAPLE_REASON_FREE:
		break;
	}
	return a->executing >= 0 ? MAPLE_PRIO_LOW : thread->norm;
}

/* Of a thread that stands nowhere. */
static unsigned int level_free(const struct maple_auto *a, int t, int missing)
{
	const struct maple_auto_thread *thread = &a->thread[t];
	int role = maple_auto_role(a, t);

	if (thread->spinning)
		return MAPLE_PRIO_MIN;
	if (maple_auto_performs(a, t))
		return MAPLE_PRIO_HIGH;
	if (role < 0)
		return thread->norm;
	if (falls_asleep(a, role))
		return MAPLE_PRIO_HIGH;
	if (role == missing && !thread->failed)
		return MAPLE_PRIO_HIGH;
	return a->cool[role] ? MAPLE_PRIO_LOW : thread->norm;
}

static unsigned int level_of(const struct maple_auto *a, int t, int missing)
{
	const struct maple_auto_thread *thread = &a->thread[t];
	unsigned int prio;

	if (thread->stands && !thread->spinning && !maple_auto_performs(a, t)) {
		prio = level_held(a, t);
		if (prio != thread->norm)
			return prio;
	}
	return level_free(a, t, missing);
}

/* maple_level_set - @t should have @prio */
void maple_level_set(struct maple_auto *a, int t, unsigned int prio)
{
	struct maple_auto_thread *thread = &a->thread[t];

	if (!maple_auto_knows(a, t))
		return;
	if (!MAPLE_INVARIANT(a,
			     prio >= MAPLE_PRIO_MIN && prio <= MAPLE_PRIO_HIGH))
		return;
	a->ndirty -= thread->want != thread->given;
	thread->want = prio;
	a->ndirty += thread->want != thread->given;
}

/* maple_level_update - every thread's level anew, after a move */
void maple_level_update(struct maple_auto *a)
{
	int missing = role_missing(a);

	for (uint32_t n = 0; n < a->nlive; n++)
		maple_level_set(a, a->live[n], level_of(a, a->live[n], missing));
}

/* maple_level_plain - the level of @t alone, which stands nowhere any more */
void maple_level_plain(struct maple_auto *a, int t)
{
	maple_level_set(a, t, level_of(a, t, role_missing(a)));
}

/* maple_level_is_plain - whether @t has the level that it should have then */
bool maple_level_is_plain(const struct maple_auto *a, int t)
{
	const struct maple_auto_thread *thread = &a->thread[t];

	return thread->want == thread->norm ||
	       thread->want == level_free(a, t, role_missing(a));
}

static bool change_is_due(const struct maple_auto_thread *thread, bool raise)
{
	return raise ? thread->want > thread->given
		     : thread->want < thread->given;
}

/* Whose level to tell next: raises first, @self last; -1: nobody's. */
static int change_next(const struct maple_auto *a, unsigned int self)
{
	for (int raise = 1; raise >= 0; raise--) {
		for (uint32_t n = 0; n < a->nlive; n++) {
			if (!change_is_due(&a->thread[a->live[n]], raise))
				continue;
			if (raise || a->live[n] != self)
				return a->live[n];
		}
	}
	if (maple_auto_knows(a, self) && change_is_due(&a->thread[self], false))
		return (int)self;
	return -1;
}

int maple_auto_change(struct maple_auto *a, unsigned int self, unsigned int *t,
		      unsigned int *prio)
{
	int found;

	if (!a->ndirty)
		return 0;
	found = change_next(a, self);
	if (!MAPLE_INVARIANT(a, found >= 0))
		found = change_next(a, self);
	if (found < 0)
		return 0;
	*t = found;
	*prio = a->thread[found].want;
	a->thread[found].given = a->thread[found].want;
	a->ndirty--;
	/* They were the living threads' levels: one is right now. */
	MAPLE_INVARIANT(a, a->ndirty < a->nlive);
	return 1;
}
