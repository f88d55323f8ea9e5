// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Moves (rules 2, 3, 8, 9 of algorithms.md 7): who is bound to which role,
 * which step is executed, when an attempt ends. Each move ends with levels
 * for all, and with the invariants checked: a hold that nobody can account
 * for would hang the target, so then everyone is released instead.
 */
#include "automaton_state.h"

/*
 * In one run. A loop that comes to its first step a hundred times before
 * another thread comes to anything needs many; SLEEPS_PLAN bounds their cost.
 */
#define MAX_ATTEMPTS 1000

static bool levels_sound(const struct maple_auto_thread *thread)
{
	return thread->norm >= MAPLE_PRIO_NORM_FIRST &&
	       thread->norm <= MAPLE_PRIO_NORM_LAST &&
	       thread->want >= MAPLE_PRIO_MIN &&
	       thread->want <= MAPLE_PRIO_HIGH &&
	       thread->given <= MAPLE_PRIO_HIGH;
}

static bool thread_sound(const struct maple_auto *a, int t)
{
	const struct maple_auto_thread *thread = &a->thread[t];
	bool lowered = thread->want < MAPLE_PRIO_NORM_FIRST;

	if (!maple_auto_knows(a, t) || !levels_sound(thread))
		return false;
	if (thread->stands && !thread->acc.size)
		return false;
	/* What it failed at was a step of its role. */
	if (thread->failed && maple_auto_role(a, t) < 0)
		return false;
	if (!lowered || thread->spinning)
		return true;
	/* Lowered: there must be a record with a reason, or watch mode. */
	if (thread->stands)
		return a->executing >= 0 ||
		       maple_hold_work_out(a, t, &thread->acc).reason !=
			       MAPLE_REASON_FREE ||
		       (maple_auto_role(a, t) >= 0 &&
			a->cool[maple_auto_role(a, t)]);
	return maple_auto_role(a, t) >= 0 && a->cool[maple_auto_role(a, t)];
}

/* Step @i was done after what it needs, somewhere, and the result has it. */
static bool done_sound(const struct maple_auto *a, int i)
{
	return maple_auto_pre_done(a, i) && a->step_range[i].size &&
	       a->var[a->plan.step[i].var].size && (a->result.steps >> i & 1) &&
	       a->step_thread[i] < MAPLE_THREADS;
}

static bool roles_sound(const struct maple_auto *a)
{
	for (int r = 0; r < MAPLE_PLAN_ROLES; r++) {
		/* It lives, and has no role before this one. */
		if (a->role[r] >= 0 && (!maple_auto_knows(a, a->role[r]) ||
					maple_auto_role(a, a->role[r]) != r))
			return false;
		/* One more than there is room for: what did not fit. */
		if (a->ntouched[r] > MAPLE_AUTO_TOUCHED + 1)
			return false;
	}
	return true;
}

/* The thread that does its step now, and only that one, need not stand. */
static bool executing_sound(const struct maple_auto *a)
{
	int i = a->executing, t;

	if (i < 0)
		return !a->watch_mode;
	if (i >= (int)a->plan.nsteps || (a->done >> i & 1) ||
	    !maple_auto_pre_done(a, i))
		return false;
	t = a->role[a->plan.step[i].role];
	return t >= 0 && !a->thread[t].stands;
}

static bool state_sound(const struct maple_auto *a)
{
	uint32_t dirty = 0;

	if (a->finished || a->result.finished || a->result.exposed ||
	    a->nlive > MAPLE_THREADS || a->done >> a->plan.nsteps)
		return false;
	for (int i = 0; i < (int)a->plan.nsteps; i++) {
		if ((a->done >> i & 1) && !done_sound(a, i))
			return false;
	}
	if (!roles_sound(a) || !executing_sound(a))
		return false;
	for (uint32_t n = 0; n < a->nlive; n++) {
		const struct maple_auto_thread *thread;

		if (!thread_sound(a, a->live[n]))
			return false;
		thread = &a->thread[a->live[n]];
		dirty += thread->want != thread->given;
	}
	return dirty == a->ndirty;
}

static void attempt_clear(struct maple_auto *a)
{
	int t = a->executing < 0 ? -1
				 : a->role[a->plan.step[a->executing].role];

	/* The performer stands before its access still, or is in it. */
	if (t >= 0)
		a->thread[t].stands = 1;
	a->done = 0;
	a->executing = -1;
	a->watch_mode = false;
	a->slept_step = 0;
	a->recalled_step = 0;
	for (int r = 0; r < MAPLE_PLAN_ROLES; r++) {
		a->role[r] = -1;
		a->cool[r] = false;
		a->ntouched[r] = 0;
	}
	for (int v = 0; v < MAPLE_PLAN_VARS; v++)
		a->var[v].size = 0;
	for (int i = 0; i < MAPLE_PLAN_STEPS; i++) {
		for (int w = 0; w < MAPLE_THREADS / 64; w++) {
			a->read_since[i][w] = 0;
			__asm__ volatile("" : : : "memory"); /* no memset */
		}
	}
	for (uint32_t n = 0; n < a->nlive; n++)
		a->thread[a->live[n]].failed = 0;
}

/*
 * maple_move_finish - over, for better or worse; nobody is held any more
 *
 * After an exposure the performer of the last step stays ahead, so that what
 * it read or wrote shows before others can repair it.
 */
void maple_move_finish(struct maple_auto *a, bool exposed)
{
	int last = -1;

	if (!MAPLE_INVARIANT(a, !exposed || a->dead ||
					maple_auto_current(a) ==
						(int)a->plan.nsteps))
		return;
	if (exposed) {
		for (int r = 0; r < MAPLE_PLAN_ROLES; r++)
			a->result.role[r] = a->role[r];
		if (!a->dead)
			last = a->role[a->plan.step[a->plan.nsteps - 1].role];
	}
	a->result.exposed = exposed;
	a->result.finished = 1;
	a->finished = true;
	a->moves++;
	attempt_clear(a);
	for (uint32_t n = 0; n < a->nlive; n++) {
		int t = a->live[n];

		a->thread[t].stands = 0;
		a->thread[t].spinning = 0;
		maple_level_set(
			a, t, t == last ? MAPLE_PRIO_HIGH : a->thread[t].norm);
	}
}

/* maple_move_give_up - this attempt is over; the next one may begin */
void maple_move_give_up(struct maple_auto *a)
{
	if (!MAPLE_INVARIANT(a, !a->finished))
		return;
	a->moves++;
	attempt_clear(a);
	if (++a->result.attempts >= MAX_ATTEMPTS) {
		maple_move_finish(a, false);
		return;
	}
	a->setbacks++;
	if (maple_way_stuck(a))
		maple_way_turn(a);
}

static void var_set(struct maple_auto *a, int step,
		    const struct maple_access *acc)
{
	struct maple_range *var = &a->var[a->plan.step[step].var];

	if (!var->size)
		*var = (struct maple_range){ acc->addr, acc->size };
}

/* maple_move_bind - @t, which stands before @step, has its role from now */
void maple_move_bind(struct maple_auto *a, int t, int step)
{
	if (!MAPLE_INVARIANT(a, maple_hold_candidate(a, t, step)))
		return;
	a->role[a->plan.step[step].role] = t;
	var_set(a, step, &a->thread[t].acc);
}

/* Levels, and the invariants: on every move. */
static void move_end(struct maple_auto *a)
{
	a->moves++;
	maple_level_update(a);
	MAPLE_INVARIANT(a, state_sound(a));
}

/* maple_move_execute - @step's bound performer does its access now */
void maple_move_execute(struct maple_auto *a, int step, bool watch_mode)
{
	int t = a->role[a->plan.step[step].role];

	/* One step at a time, each once, after what it needs. */
	if (!MAPLE_INVARIANT(a, !a->finished && t >= 0 && a->executing < 0 &&
					!(a->done >> step & 1) &&
					maple_auto_pre_done(a, step)))
		return;
	var_set(a, step, &a->thread[t].acc);
	a->thread[t].stands = 0;
	a->thread[t].failed = 0;
	a->executing = step;
	a->watch_mode = watch_mode;
	move_end(a);
}

/* Whether no later step has the role of @step. */
static bool is_last(const struct maple_auto *a, int step)
{
	for (int i = step + 1; i < (int)a->plan.nsteps; i++) {
		if (a->plan.step[i].role == a->plan.step[step].role)
			return false;
	}
	return true;
}

/* maple_move_executed - @acc, which is @step, has happened */
void maple_move_executed(struct maple_auto *a, int t, int step,
			 const struct maple_access *acc)
{
	int role = a->plan.step[step].role;

	if (!MAPLE_INVARIANT(a, !a->finished && a->role[role] == t &&
					!(a->done >> step & 1) &&
					maple_auto_pre_done(a, step)))
		return;
	/* Nobody else is in the middle of a step. */
	if (!MAPLE_INVARIANT(a, a->executing < 0 || a->executing == step))
		return;
	var_set(a, step, acc);
	a->step_range[step] = (struct maple_range){ acc->addr, acc->size };
	a->step_thread[step] = t;
	a->done |= 1u << step;
	a->result.steps |= 1u << step;
	a->result.executed++;
	a->result.last_step = step;
	a->cool[role] = a->watch_mode;
	a->executing = -1;
	a->watch_mode = false;
	a->slept_step = 0;
	a->recalled_step = 0;
	a->spent += MAPLE_AUTO_STEP_US * a->nlive;
	a->moves++;
	maple_hold_note(a, t, acc);
	if (a->dead && is_last(a, step)) /* it got its last lock */
		maple_move_give_up(a);
}

/* All have their first locks and stand at, or block in, their last one. */
static bool deadlocked(const struct maple_auto *a)
{
	if (!a->dead)
		return false;
	for (int i = 0; i < (int)a->plan.nsteps; i++) {
		bool last = is_last(a, i);

		if (!last && !(a->done >> i & 1))
			return false;
		if (last && a->executing != i &&
		    maple_hold_arrived(a, a->plan.step[i].role) != i)
			return false;
	}
	return true;
}

/* Two candidates for k and the step after it that agree (rule 2). */
static bool bind_two(struct maple_auto *a, int k, int next)
{
	bool same = a->plan.step[k].var == a->plan.step[next].var;

	for (uint32_t n = 0; n < a->nlive; n++) {
		int t = a->live[n];
		struct maple_range range = { a->thread[t].acc.addr,
					     a->thread[t].acc.size };

		if (!maple_hold_candidate(a, t, k))
			continue;
		for (uint32_t m = 0; m < a->nlive; m++) {
			int u = a->live[m];

			if (u == t || !maple_hold_candidate(a, u, next) ||
			    maple_range_overlap(&range, &a->thread[u].acc) !=
				    same)
				continue;
			maple_move_bind(a, t, k);
			maple_move_bind(a, u, next);
			return true;
		}
	}
	return false;
}

static int any_candidate(const struct maple_auto *a, int step, int but)
{
	for (uint32_t n = 0; n < a->nlive; n++) {
		if (a->live[n] != but &&
		    maple_hold_candidate(a, a->live[n], step))
			return a->live[n];
	}
	return -1;
}

/* Binds whoever can be bound to k's role, not too early. */
static void bind_current(struct maple_auto *a, int k, int next)
{
	int role = a->plan.step[k].role;
	int other = next < 0 ? role : a->plan.step[next].role;
	int t;

	if (other != role && a->role[other] < 0) {
		bind_two(a, k, next);
		return;
	}
	t = any_candidate(a, k, -1);
	if (t >= 0 &&
	    (other == role || a->done || maple_hold_arrived(a, other) == next))
		maple_move_bind(a, t, k);
}

/* Who does the step after k is there, or it is k's own performer. */
static bool partner_ready(struct maple_auto *a, int k, int next)
{
	int role, t;

	if (next < 0 || a->plan.step[next].role == a->plan.step[k].role)
		return true;
	role = a->plan.step[next].role;
	if (a->role[role] >= 0)
		return maple_hold_arrived(a, role) == next;
	t = any_candidate(a, next, a->role[a->plan.step[k].role]);
	if (t < 0)
		return false;
	maple_move_bind(a, t, next);
	return true;
}

/* maple_move_next - does what can be done now (rules 2, 3, 9) */
void maple_move_next(struct maple_auto *a)
{
	int k = maple_auto_current(a);
	int next, role, t;

	if (a->finished)
		return;
	if (k == (int)a->plan.nsteps || deadlocked(a)) {
		maple_move_finish(a, true);
		return;
	}
	if (a->executing < 0) {
		next = maple_hold_next_step(a, k);
		role = a->plan.step[k].role;
		if (a->role[role] < 0)
			bind_current(a, k, next);
		t = a->role[role];
		if (t >= 0 && maple_hold_arrived(a, role) == k &&
		    maple_auto_pre_done(a, k)) {
			var_set(a, k, &a->thread[t].acc);
			if (partner_ready(a, k, next)) {
				maple_move_execute(a, k, false);
				return;
			}
		}
	}
	move_end(a);
}
