// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The life of one access (rules 4 and 5 of algorithms.md 7): what a thread
 * that stands before it is told, what becomes of a held thread that runs
 * because everything else is blocked, what follows from it having happened.
 *
 *   before() ---- nothing to do with the plan ----------------> GO
 *      |
 *      `-- record, move (moves.c) --- it executes a step -----> GO
 *              |
 *              `---------------------------------------------> HELD
 *   resumed()  everything else is blocked (rule 4):
 *      |-- somebody's wait will end by itself ---------------> SLEEP
 *      |-- it can execute its step all the same (watch mode) -> GO
 *      |-- it is a candidate or at a gate, too early: passes -> GO
 *      `-- else the attempt is given up, and it passes -------> GO
 */
#include "automaton_state.h"

#define SLEEPS_PLAN 50 /* slices of 100 ms at most: 5 s a plan (rule 4) */
/*
 * Slices slept in a run for what may never end: a request of somebody's, or
 * input. A server that serves natively for a second waits for nothing most of
 * the time, and would be held for five.
 */
#define HOPES 3
/*
 * Slices slept in a run, in all plans, for the waits of one thread, without its
 * coming to anything of a plan: a thread that polls waits for ever. So many
 * make two native runs.
 */
#define WAITED (2 * MAPLE_AUTO_SLICES)
/*
 * How often a step's wait gives spinners another chance, 10 ms of CPU each.
 * Of the simulator's programs that spin 0 exposes 91.3 %, 1 to 6 98.2 %; more
 * than one because what they wait for may take several turns.
 */
#define RECALLS 3
/*
 * Which of two candidates with different ranges goes on: 0.7 of 2^32, as in
 * algorithms.md. With hints the simulator hardly sees a difference.
 */
#define COIN 3006477107u

/*
 * A run is given up in which holds and what comes of them have taken so many us
 * for each ms of slice_ms: three tenths of the time that it takes natively.
 */
#define SPENT_A_MS 3000

static uint32_t random_next(struct maple_auto *a)
{
	uint64_t z = a->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (z ^ (z >> 31)) >> 32;
}

static enum maple_verdict go(struct maple_auto *a, unsigned int t)
{
	struct maple_auto_thread *thread = &a->thread[t];

	thread->go = 1;
	thread->seen = a->moves;
	return MAPLE_GO;
}

/* @t passes, by decision: nothing will hold it before this access. */
static enum maple_verdict pass(struct maple_auto *a, unsigned int t)
{
	MAPLE_INVARIANT(a, a->thread[t].stands);
	a->thread[t].pass = 1;
	a->thread[t].passes++;
	a->setbacks++;
	maple_level_plain(a, t);
	if (maple_way_stuck(a))
		maple_way_turn(a);
	return go(a, t);
}

/* @t has come to something: what others could not do alone, they may now. */
static void wake_others(struct maple_auto *a, int t)
{
	for (uint32_t n = 0; n < a->nlive; n++)
		if (a->live[n] != t)
			a->thread[a->live[n]].passes = 0;
}

static void mark_reached(struct maple_auto *a, struct maple_hold hold)
{
	if (hold.reason != MAPLE_REASON_ARRIVED &&
	    hold.reason != MAPLE_REASON_CAND)
		return;
	/* Neither is before a step that was done in this attempt. */
	if (MAPLE_INVARIANT(a, hold.step >= maple_auto_current(a) &&
				       hold.step < (int)a->plan.nsteps))
		a->result.reached |= 1u << hold.step;
}

enum maple_verdict maple_auto_before(struct maple_auto *a, unsigned int t,
				     const struct maple_access *acc)
{
	struct maple_auto_thread *thread;
	struct maple_hold hold;

	if (a->finished || !maple_auto_knows(a, t))
		return MAPLE_GO;
	thread = &a->thread[t];
	if (maple_auto_performs(a, t))
		return go(a, t);
	thread->acc = maple_access_normal(acc);
	thread->stands = 1;
	thread->go = 0;
	thread->pass = thread->passes >= MAPLE_AUTO_PASSES;
	maple_hold_count_arrival(a, t, &thread->acc);

	hold = maple_hold_work_out(a, t, &thread->acc);
	mark_reached(a, hold);
	if (hold.reason != MAPLE_REASON_FREE) {
		thread->waited = 0;
		wake_others(a, t);
		a->spent += MAPLE_AUTO_HOLD_US * a->nlive;
		if (a->spent / SPENT_A_MS >= a->plan.slice_ms)
			maple_move_finish(a, false);
	}
	if (a->finished)
		return MAPLE_GO;
	if (hold.reason == MAPLE_REASON_GUARD && maple_auto_role(a, t) >= 0 &&
	    maple_hold_hopeless(a, t, &thread->acc)) {
		/* What it does breaks its own attempt; it may begin another. */
		maple_move_give_up(a);
		if (a->finished)
			return MAPLE_GO;
		hold = maple_hold_work_out(a, t, &thread->acc);
		maple_move_next(a);
	} else if (hold.reason != MAPLE_REASON_FREE) {
		maple_move_next(a);
	}
	if (a->finished || maple_auto_performs(a, t) ||
	    hold.reason == MAPLE_REASON_FREE)
		return go(a, t);
	/* Others may make it a performer only as long as it stands. */
	MAPLE_INVARIANT(a, thread->stands && !thread->go);
	a->result.holds++;
	return MAPLE_HELD;
}

int maple_auto_moved(const struct maple_auto *a, unsigned int t)
{
	const struct maple_auto_thread *thread;

	if (a->finished || !maple_auto_knows(a, t) || maple_auto_performs(a, t))
		return 0;
	thread = &a->thread[t];
	return !thread->pass && thread->seen != a->moves;
}

static bool others_asleep(const struct maple_auto *a, int t)
{
	for (uint32_t n = 0; n < a->nlive; n++) {
		if (a->live[n] != t && a->thread[a->live[n]].asleep)
			return true;
	}
	return false;
}

/* Whether some thread's wait ends by itself, and that may bring something. */
static bool wait_pays(struct maple_auto *a, const struct maple_waits *waits)
{
	bool pays = false;

	for (uint32_t n = 0; n < a->nlive; n++) {
		unsigned int u = a->live[n];

		if (!(waits->soon[u / 64] >> u % 64 & 1) ||
		    a->thread[u].waited >= WAITED)
			continue;
		a->thread[u].waited++;
		pays = true;
	}
	return pays;
}

static bool may_sleep(struct maple_auto *a, int t,
		      const struct maple_waits *waits)
{
	if (a->slept_step >= MAPLE_AUTO_SLICES || a->result.slept >= SLEEPS_PLAN)
		return false;
	if (!wait_pays(a, waits) && !others_asleep(a, t)) {
		if (!waits->perhaps || a->hoped >= HOPES)
			return false;
		a->hoped++;
	}
	a->slept_step++;
	a->result.slept++;
	/* A step's slices are the plan's as well. */
	MAPLE_INVARIANT(a, a->slept_step <= a->result.slept);
	return true;
}

/*
 * A spinner at MIN is below the held ones, but it is not blocked: what it
 * waits for may have come. It spins again before a held thread must run.
 */
static bool recall_spinners(struct maple_auto *a)
{
	bool any = false;

	if (a->recalled_step >= RECALLS)
		return false;
	for (uint32_t n = 0; n < a->nlive; n++) {
		any |= a->thread[a->live[n]].spinning;
		a->thread[a->live[n]].spinning = 0;
	}
	if (!any)
		return false;
	a->recalled_step++;
	a->moves++;
	maple_level_update(a);
	return true;
}

/*
 * Candidates for k and k+1 stand there, but on different ranges, so they
 * cannot be bound together; if the latter goes on it may come to ours.
 */
static bool other_passes(struct maple_auto *a, int t, int step)
{
	int next = maple_hold_next_step(a, step);

	if (a->done || next < 0 || !maple_auto_pre_done(a, step) ||
	    a->plan.step[next].role == a->plan.step[step].role ||
	    maple_hold_candidate(a, t, next))
		return false;
	for (uint32_t n = 0; n < a->nlive; n++) {
		int u = a->live[n];

		if (u == t || !maple_hold_candidate(a, u, next) ||
		    maple_hold_candidate(a, u, step) || random_next(a) >= COIN)
			continue;
		a->thread[u].pass = 1;
		a->moves++;
		maple_level_update(a);
		return true;
	}
	return false;
}

/* @t, a candidate, becomes performer of a step that needs nothing before. */
static bool begin_with(struct maple_auto *a, int t)
{
	MAPLE_INVARIANT(a, a->executing < 0);
	for (int i = 0; i < (int)a->plan.nsteps; i++) {
		if (a->plan.step[i].pre || !maple_hold_candidate(a, t, i))
			continue;
		maple_move_bind(a, t, i);
		maple_move_execute(a, i, true);
		return true;
	}
	return false;
}

/* Rule 4 (e): nothing else can run, and @t must not: the attempt is over. */
static enum maple_verdict give_way(struct maple_auto *a, int t)
{
	maple_move_give_up(a);
	if (a->finished || begin_with(a, t))
		return go(a, t);
	a->thread[t].pass = 1;
	maple_move_next(a);
	return go(a, t);
}

static enum maple_verdict candidate_runs(struct maple_auto *a, int t, int step)
{
	if (a->executing >= 0)
		return give_way(a, t);
	if (other_passes(a, t, step))
		return MAPLE_HELD;
	if (maple_auto_pre_done(a, step)) {
		maple_move_bind(a, t, step);
		maple_move_execute(a, step, true);
		return go(a, t);
	}
	if (begin_with(a, t))
		return go(a, t);
	if (!a->done)
		return pass(a, t);
	return give_way(a, t);
}

enum maple_verdict maple_auto_resumed(struct maple_auto *a, unsigned int t,
				      const struct maple_waits *waits)
{
	struct maple_auto_thread *thread;
	struct maple_hold hold;

	if (a->finished || !maple_auto_knows(a, t))
		return MAPLE_GO;
	thread = &a->thread[t];
	thread->asleep = 0;
	thread->go = 0;
	if (maple_auto_performs(a, t) || !thread->stands)
		return go(a, t);
	thread->failed = 0;
	hold = maple_hold_work_out(a, t, &thread->acc);
	if (hold.reason == MAPLE_REASON_FREE) {
		maple_level_plain(a, t);
		return go(a, t);
	}
	if (may_sleep(a, t, waits)) {
		thread->asleep = 1;
		return MAPLE_SLEEP;
	}
	if (recall_spinners(a))
		return MAPLE_HELD;
	switch (hold.reason) {
	case MAPLE_REASON_ARRIVED:
		if (a->executing >= 0 || !maple_auto_pre_done(a, hold.step))
			return give_way(a, t);
		maple_move_execute(a, hold.step, true);
		return go(a, t);
	case MAPLE_REASON_CAND:
		return candidate_runs(a, t, hold.step);
	case MAPLE_REASON_GATE:
	case MAPLE_REASON_COVER:
		return pass(a, t);
	default:
		return give_way(a, t);
	}
}

/*
 * An access of @t has happened that was not its step when it was let go, or
 * that nobody announced: it may have been the step that was waited for, it
 * may have broken the attempt, or it is only remembered.
 */
static void happened_unasked(struct maple_auto *a, int t,
			     const struct maple_access *acc)
{
	struct maple_hold hold = maple_hold_work_out(a, t, acc);
	bool fits = hold.reason == MAPLE_REASON_ARRIVED ||
		    hold.reason == MAPLE_REASON_CAND;

	if (fits && a->executing < 0 && a->plan.step[hold.step].dep >= 0 &&
	    maple_auto_pre_done(a, hold.step)) {
		int *role = &a->role[a->plan.step[hold.step].role];

		/* It takes no other thread's role away. */
		if (!MAPLE_INVARIANT(a, *role < 0 || *role == t))
			return;
		*role = t;
		mark_reached(a, hold);
		maple_move_executed(a, t, hold.step, acc);
		maple_move_next(a);
	} else if (maple_hold_breaks(a, t, acc)) {
		maple_move_give_up(a);
		maple_move_next(a);
	} else {
		maple_hold_note(a, t, acc);
	}
}

/* Whoever would have failed at this lock, or did, may try now. */
static void unlocked(struct maple_auto *a, int t, const struct maple_access *acc)
{
	struct maple_range lock = { acc->addr, acc->size };

	if (a->thread[t].lock == acc->addr) {
		a->thread[t].lock = 0;
		maple_move_next(a);
	}

	for (int r = 0; r < MAPLE_PLAN_ROLES && !a->finished; r++) {
		struct maple_auto_thread *thread;

		if (a->role[r] < 0)
			continue;
		thread = &a->thread[a->role[r]];
		if (!thread->failed || !maple_range_overlap(&lock, &thread->acc))
			continue;
		thread->failed = 0;
		maple_move_next(a);
	}
}

void maple_auto_after(struct maple_auto *a, unsigned int t,
		      const struct maple_access *acc, int happened)
{
	struct maple_access is = maple_access_normal(acc);
	struct maple_auto_thread *thread;
	bool announced;
	int step;

	if (a->finished || !maple_auto_knows(a, t))
		return;
	thread = &a->thread[t];
	announced = thread->acc.site == is.site &&
		    thread->acc.kind == is.kind && thread->acc.addr == is.addr;
	step = announced && maple_auto_performs(a, t) ? a->executing : -1;
	if (announced) {
		thread->stands = 0;
		thread->go = 0;
	}
	if (step >= 0 && happened) {
		maple_move_executed(a, t, step, &is);
		maple_move_next(a);
	} else if (step >= 0) {
		a->executing = -1;
		a->watch_mode = false;
		thread->failed = 1;
		maple_move_next(a);
	} else if (happened) {
		happened_unasked(a, t, &is);
	}
	thread->pass &= !announced;
	if (a->finished)
		return;
	if (happened && is.kind == MAPLE_EV_LOCK && !thread->lock &&
	    maple_gate_known(a, is.site))
		thread->lock = is.addr;
	if (happened && is.kind == MAPLE_EV_UNLOCK)
		unlocked(a, t, &is);
	if (thread->want != thread->norm)
		maple_level_plain(a, t);
}

void maple_auto_watch(struct maple_auto *a, unsigned int t,
		      const struct maple_access *acc)
{
	struct maple_access is = maple_access_normal(acc);

	if (!a->finished && maple_auto_knows(a, t))
		happened_unasked(a, t, &is);
}
