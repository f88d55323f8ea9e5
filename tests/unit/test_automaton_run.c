// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The automaton, rules 7 to 9 of algorithms.md 7, and plans that follow;
 * test_automaton_locks.c has rules 6 and 10, test_automaton_broken.c what holds
 * in all of them.
 *
 * beside: guests
 */
#include "automaton_rig.h"

static void test_hooked(void **state)
{
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	plan.guard[plan.nguards++] = GUARD;
	rig_start(2);
	assert_true(site_is_hooked(a, E0));
	assert_true(site_is_hooked(a, E1));
	assert_true(site_is_hooked(a, GUARD));
	assert_false(site_is_hooked(a, E2));
	e0_done(W, R);
	assert_int_equal(resumed(1, 0), GO);
	after(1, E1, R, X);
	assert_false(site_is_hooked(a, E0)); /* over */
}

/* One plan is over, another begins with the threads that there are. */
static void test_next_plan(void **state)
{
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	rig_start(3);
	e0_done(W, R);
	assert_int_equal(resumed(1, 0), GO);
	after(1, E1, R, X);
	assert_true(result().exposed);

	plan_for(MAPLE_IDIOM_1, R, W, 0, 0);
	plan.step[0].site = 100;
	plan.step[1].site = 101;
	assert_true(maple_plan_begins(&plan, 100));
	assert_true(maple_plan_begins(&plan, 101));
	assert_false(maple_plan_begins(&plan, E0));
	maple_auto_next(a, &plan);
	for (unsigned int t = 0; t < 3; t++)
		maple_auto_hint(a, t, 0);
	apply(1);
	for (unsigned int t = 0; t < 3; t++)
		assert_int_equal(prio[t], norm(t)); /* nobody is ahead */
	assert_false(result().finished);
	assert_int_equal(result().steps, 0);
	assert_true(site_is_hooked(a, 100));
	assert_false(site_is_hooked(a, E0));
	/* The old one's sites are nothing to it; its own are. */
	passes(2, E0, W, X);
	assert_int_equal(before(2, 101, W, Y), HELD);
	assert_int_equal(before(0, 100, R, Y), GO);
	after(0, 100, R, Y);
	assert_int_equal(resumed(2, 0), GO);
	after(2, 101, W, Y);
	assert_true(result().exposed);
}

/*
 * Both halves of one instruction are steps, and another's write of the same
 * instruction the one between them.
 */
static void test_halves(void **state)
{
	plan_for(MAPLE_IDIOM_2, R, W, W, 0);
	for (unsigned int i = 0; i < plan.nsteps; i++)
		plan.step[i].site = E0;
	plan.guard[plan.nguards++] = GUARD;
	assert_true(maple_plan_splits(&plan, E0));
	rig_start(3);
	assert_int_equal(before(0, E0, R, X), HELD);
	assert_int_equal(resumed(0, 0), GO);
	after(0, E0, R, X);
	assert_int_equal(before(0, E0, W, X), HELD);
	assert_true(prio[1] > prio[0]);
	passes(1, E0, R, X); /* another's read is nothing between them, */
	passes(2, GUARD, R, X);
	assert_int_equal(before(1, E0, W, X), GO); /* its write is the step */
	after(1, E0, W, X);
	assert_int_equal(prio[0], HIGH);
	assert_int_equal(before(2, GUARD, W, X), HELD);
	assert_int_equal(prio[2], MIN);
	assert_int_equal(resumed(0, 0), GO);
	after(0, E0, W, X);
	assert_true(result().exposed);
	assert_int_equal(result().attempts, 0);
	rig_done();
}

/* With others waiting it does not go on for ever. */
static void test_followed(void **state)
{
	unsigned int turns = 0;

	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	plan.flags |= MAPLE_PLAN_FOLLOWED;
	rig_start(2);
	while (!result().finished && turns++ < 100) {
		if (before(1, E1, R, X) == HELD)
			assert_int_equal(resumed(1, 0), GO);
		after(1, E1, R, X);
	}
	assert_in_range(turns, 20, 60);
	assert_false(result().exposed);
	assert_int_equal(prio[1], norm(1));
}

static void start_hinted(unsigned int n, unsigned int p, unsigned int q)
{
	strcpy(plan.hint[0], "0.1");
	strcpy(plan.hint[1], "0.2");
	rig_start(0);
	for (unsigned int t = 0; t < n; t++) {
		maple_auto_start(a, t, t == p ? 1 : t == q ? 2 : 0);
		apply(t);
	}
}

/* Rule 7: who has which NORM. */
static void test_norm(void **state)
{
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	rig_start(100); /* older first */
	assert_int_equal(prio[0], 83);
	assert_int_equal(prio[79], 4);
	assert_int_equal(prio[80], 83);
	plan.flags = MAPLE_PLAN_YOUNGER;
	rig_start(100);
	assert_int_equal(prio[0], 4);
	assert_int_equal(prio[79], 83);
	assert_int_equal(prio[80], 4);
	plan.flags = MAPLE_PLAN_HINTED | MAPLE_PLAN_Q_FIRST;
	start_hinted(200, 7, 3);
	assert_int_equal(prio[7], 4);
	assert_int_equal(prio[3], 83);
	plan.flags = MAPLE_PLAN_HINTED;
	start_hinted(200, 7, 3);
	assert_int_equal(prio[7], 83);
	assert_int_equal(prio[3], 4);
	for (int t = 0; t < 200; t++) {
		if (t != 3 && t != 7)
			assert_in_range(prio[t], 5, 82);
	}
	assert_true(prio[0] > prio[1]);
}

/* Rule 7: in hinted tries only the hinted threads are candidates. */
static void test_hints(void **state)
{
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	plan.flags = MAPLE_PLAN_HINTED;
	start_hinted(4, 1, 2);
	passes(3, E0, W, X);
	passes(1, E1, R, X);
	assert_int_equal(before(1, E0, W, X), HELD);
	assert_int_equal(before(2, E1, R, X), HELD);
	assert_int_equal(a->executing, 0);
}

/* Rule 7: a hinted thread that is gone was a wrong hint. */
static void test_hints_dropped(void **state)
{
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	plan.flags = MAPLE_PLAN_HINTED;
	start_hinted(4, 1, 2);
	maple_auto_exit(a, 3);
	passes(0, E0, W, X); /* thread 3 was nobody's hint */
	maple_auto_exit(a, 1);
	assert_int_equal(before(0, E0, W, X), HELD);
}

/* Rule 7: the n-th execution, in the first attempt. */
static void test_occurrence(void **state)
{
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	plan.flags = MAPLE_PLAN_HINTED;
	plan.step[0].occurrence = 3;
	start_hinted(3, 1, 2);
	passes(1, E0, W, X);
	passes(0, E0, W, X); /* not the hinted thread's */
	passes(1, E0, W, X);
	assert_int_equal(before(1, E0, W, X), HELD);
}

/* A loop that comes to a step alone, over and over, is let go after a while. */
static void test_hot_loop(void **state)
{
	struct maple_access acc = access_at(E1, R, X);
	int held = 0;

	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	rig_start(2);
	for (int i = 0; i < 2000; i++) {
		if (before(1, E1, R, X) == HELD) {
			held++;
			assert_int_equal(resumed(1, 0), GO);
		}
		after(1, E1, R, X);
	}
	assert_in_range(held, 100, 1000);
	assert_true(maple_auto_glance(a, 1, &acc));
	assert_int_equal(result().finished, 0);
	/* Somebody who could go first changes that, and it ends well. */
	assert_int_equal(before(0, E0, W, X), HELD);
	assert_false(maple_auto_glance(a, 1, &acc));
	assert_int_equal(before(1, E1, R, X), HELD);
	assert_int_equal(resumed(0, 0), GO);
	after(0, E0, W, X);
	assert_int_equal(resumed(1, 0), GO);
	after(1, E1, R, X);
	assert_int_equal(result().exposed, 1);
}

/* What glance() lets by is what before() would, and after() need not know. */
static void test_glance(void **state)
{
	struct maple_access far = access_at(E0, W, Y);
	struct maple_access near = access_at(GUARD, W, X);
	struct maple_access lock = access_at(GATE, L, Z);

	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	plan.guard[plan.nguards++] = GUARD;
	rig_start(3);
	assert_true(maple_auto_glance(a, 2, &near)); /* nothing is open */
	assert_false(maple_auto_minds(a, 2, &near));
	assert_false(maple_auto_glance(a, 2, &far)); /* it could be e0 */
	assert_false(maple_auto_glance(a, 2, &lock));
	assert_int_equal(before(0, E0, W, X), HELD);
	assert_int_equal(resumed(0, 0), GO);
	after(0, E0, W, X);
	assert_false(maple_auto_glance(a, 2, &near)); /* a guard now */
	assert_true(maple_auto_minds(a, 2, &near));
	near.addr = Y;
	assert_true(maple_auto_glance(a, 2, &near));
}

/*
 * What it ignores is the same wherever a thread's access at that site is, but
 * for what the attempt is about; until there is a move.
 */
static void test_ignores(void **state)
{
	struct maple_access first = access_at(E0, W, X);
	struct maple_access guard = access_at(GUARD, W, X);
	struct maple_access lock = access_at(GATE, L, Z);
	uint64_t addr, size;
	uint32_t epoch;

	plan_for(MAPLE_IDIOM_2, W, W, R, 0);
	plan.guard[plan.nguards++] = GUARD;
	rig_start(3);
	assert_true(maple_auto_ignores(a, 2, &guard));
	assert_false(maple_auto_ignores(a, 2, &first)); /* would begin */
	assert_false(maple_auto_ignores(a, 2, &lock));
	maple_auto_about(a, 0, &addr, &size);
	assert_int_equal(size, 0);
	epoch = *maple_auto_epoch(a);
	assert_int_equal(before(0, E0, W, X), HELD);
	assert_false(maple_auto_ignores(a, 0, &guard)); /* it stands */
	assert_int_equal(resumed(0, 0), GO);
	assert_false(maple_auto_ignores(a, 0, &guard)); /* it performs */
	after(0, E0, W, X);
	assert_int_not_equal(*maple_auto_epoch(a), epoch);
	maple_auto_about(a, 0, &addr, &size);
	assert_int_equal(addr, X);
	assert_in_range(size, 1, 8);
	assert_true(maple_auto_ignores(a, 2, &guard));
	assert_true(maple_auto_ignores(a, 2, &first)); /* P is bound */
	/* What P touches within its pair is remembered, while there is room. */
	for (uint64_t i = 0; i < MAPLE_AUTO_TOUCHED; i++) {
		guard.addr = Y + 16 * i;
		assert_false(maple_auto_ignores(a, 0, &guard));
		assert_false(maple_auto_glance(a, 0, &guard));
		passes(0, GUARD, W, guard.addr);
	}
	epoch = *maple_auto_epoch(a);
	guard.addr = Y + 16;
	assert_true(maple_auto_glance(a, 0, &guard));
	guard.addr = Z;
	assert_true(maple_auto_ignores(a, 0, &guard));
	passes(0, GUARD, W, Z);
	assert_int_equal(*maple_auto_epoch(a), epoch);
}

/* Holds that cost more than the run's share of its native time end it. */
static void test_spent(void **state)
{
	int held = 0;

	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	plan.slice_ms = 10;
	rig_start(2);
	for (int i = 0; i < 10000 && !result().finished; i++) {
		passes(1, GUARD, W, Y);
		if (before(i % 2, E1, R, X) == HELD) {
			held++;
			assert_int_equal(resumed(i % 2, 0), GO);
		}
		after(i % 2, E1, R, X);
	}
	assert_int_equal(result().finished, 1);
	assert_int_equal(result().exposed, 0);
	assert_in_range(held, 1000, 3000);
	passes(0, E0, W, X);
}

/*
 * What skim() lets by leaves the record that before() would leave, and
 * skimmed() takes it away, unless after() has more to do.
 */
static void test_skim(void **state)
{
	struct maple_access far = access_at(GUARD, W, Y);
	struct maple_access near = access_at(GUARD, W, X);
	struct maple_access lock = access_at(GATE, L, Z);
	struct maple_access unlock = access_at(GATE, U, Z);
	struct maple_access try = access_at(GATE, L, Z);

	try.may_fail = 1;
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	plan.guard[plan.nguards++] = GUARD;
	rig_start(3);
	assert_true(maple_auto_skim(a, 2, &lock));
	assert_true(a->thread[2].stands);
	assert_false(maple_auto_moved(a, 2));
	assert_false(maple_auto_skim(a, 2, &lock)); /* one record */
	assert_false(maple_auto_skimmed(a, 2, &unlock, 1));
	assert_false(maple_auto_skimmed(a, 2, &lock, 0)); /* it failed */
	assert_true(maple_auto_skimmed(a, 2, &lock, 1));
	assert_false(a->thread[2].stands);

	/* Its hold on the lock is known, and who would fail there is told. */
	plan.step[0].gate[plan.step[0].ngates++] = GATE;
	rig_start(3);
	assert_true(maple_auto_skim(a, 2, &lock));
	assert_true(maple_auto_skimmed(a, 2, &lock, 1));
	assert_int_equal(a->thread[2].lock, Z);
	assert_int_equal(before(0, E0, W, X), HELD);
	assert_true(maple_auto_skim(a, 2, &unlock)); /* no matter to that one */
	assert_true(maple_auto_skimmed(a, 2, &unlock, 1));
	assert_int_equal(a->thread[2].lock, 0);
	assert_true(maple_auto_skim(a, 2, &lock));
	assert_true(maple_auto_skimmed(a, 2, &lock, 1));
	maple_auto_before(a, 1, &try);
	assert_true(a->thread[1].stands);
	assert_true(maple_auto_skim(a, 2, &unlock));
	assert_false(maple_auto_skimmed(a, 2, &unlock, 1));
	after(2, GATE, U, Z);
	assert_int_equal(a->thread[2].lock, 0);
	assert_true(maple_auto_skim(a, 2, &lock));
	assert_int_equal(resumed(0, 0), GO); /* a move, while it stands */
	assert_true(maple_auto_moved(a, 2));
	after(2, GATE, L, Z);
	after(0, E0, W, X);
	assert_true(maple_auto_skim(a, 0, &far));
	assert_int_equal(a->thread[0].want, MAPLE_PRIO_LOW); /* it waits */
	assert_true(maple_auto_skimmed(a, 0, &far, 1));
	assert_false(maple_auto_skim(a, 2, &near)); /* it breaks the attempt */
	assert_true(maple_auto_skim(a, 2, &far));
	a->thread[2].want = MAPLE_PRIO_LOW; /* that was for another access */
	assert_false(maple_auto_skimmed(a, 2, &far, 1));
}

/* Rule 8: at most 1000 attempts, then everyone is let go for good. */
static void test_give_up_for_good(void **state)
{
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	plan.flags &= ~MAPLE_PLAN_TURNING;
	rig_start(3);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(result().finished, 0);
		assert_int_equal(before(0, E0, W, X), HELD);
		assert_int_equal(resumed(0, 0), GO);
		after(0, E0, W, X);
		watched(2, W, X);
		assert_int_equal(result().attempts, i + 1);
	}
	assert_int_equal(result().finished, 1);
	assert_int_equal(result().exposed, 0);
	for (int t = 0; t < 3; t++)
		assert_int_equal(prio[t], norm(t));
	passes(0, E0, W, X);
}

static void setback(int t)
{
	assert_int_equal(before(t, E0, W, X), HELD);
	assert_int_equal(resumed(t, 0), GO);
	after(t, E0, W, X);
	watched(0, W, X);
}

/* Rule 7: a run in which attempts fail turns to the next try's way. */
static void test_turn(void **state)
{
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	plan.flags = MAPLE_PLAN_TURNING | maple_plan_way(1);
	plan.attempt = 1;
	start_hinted(4, 1, 2);
	assert_int_equal(prio[1], 4);
	assert_int_equal(prio[2], 83);
	for (int i = 0; i < 6; i++)
		setback(1);
	assert_int_equal(a->turns, 1);
	assert_int_equal(prio[1], 83);
	assert_int_equal(prio[2], 4);
	for (int i = 0; i < 6; i++)
		setback(1);
	/* No hints now: anybody may begin, and all have levels of their own. */
	assert_int_equal(a->turns, 2);
	assert_int_equal(prio[0], 83);
	assert_int_equal(prio[1], 82);
	for (int i = 0; i < 6; i++)
		setback(3);
	assert_int_equal(a->turns, 3);
	assert_int_equal(prio[3], 7);
}

/* Rule 7: to pass a first step is a setback as well. */
static void test_turn_passes(void **state)
{
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	plan.flags = MAPLE_PLAN_TURNING | maple_plan_way(1);
	plan.attempt = 1;
	start_hinted(4, 1, 2);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(a->turns, 0);
		assert_int_equal(before(2, E1, R, X), HELD);
		assert_int_equal(resumed(2, 0), GO);
		after(2, E1, R, X);
	}
	assert_int_equal(a->turns, 1);
	assert_int_equal(prio[2], 4);
	assert_int_equal(before(2, E1, R, X), HELD);
}

/* Rule 7: not for what others do, and never without the flag. */
static void test_turn_not_yet(void **state)
{
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	plan.flags = MAPLE_PLAN_TURNING | maple_plan_way(1);
	plan.attempt = 1;
	start_hinted(4, 1, 2);
	for (int i = 0; i < 5; i++)
		setback(1);
	for (int i = 0; i < 20; i++)
		passes(3, E1, R, Y);
	assert_int_equal(a->turns, 0);
	setback(1);
	assert_int_equal(a->turns, 1);

	plan.flags = maple_plan_way(1);
	start_hinted(4, 1, 2);
	for (int i = 0; i < 50; i++)
		setback(1);
	assert_int_equal(a->turns, 0);
}

/* Rule 8: a bound thread exits with steps undone. */
static void test_give_up_exit(void **state)
{
	plan_for(MAPLE_IDIOM_2, W, W, R, 0);
	rig_start(3);
	e0_done(W, W);
	maple_auto_exit(a, 2); /* a third one may */
	assert_int_equal(result().attempts, 0);
	maple_auto_exit(a, 0);
	apply(MAPLE_THREADS);
	assert_int_equal(result().attempts, 1);
	assert_int_equal(a->role[1], -1);
	assert_int_equal(prio[1], LOW); /* a candidate of the next attempt */

	/* Idiom 1's P has no more to do: it may leave. */
	plan_for(MAPLE_IDIOM_1, W, W, 0, 0);
	rig_start(3);
	e0_done(W, W);
	maple_auto_exit(a, 0);
	apply(MAPLE_THREADS);
	assert_int_equal(result().attempts, 0);
	assert_int_equal(resumed(1, 0), GO);
	after(1, E1, W, X);
	assert_int_equal(result().exposed, 1);
}

/* Rule 8: an attempt has 50 ms of its threads' CPU time. */
static void test_give_up_time(void **state)
{
	plan_for(MAPLE_IDIOM_2, W, W, R, 0);
	rig_start(3);
	maple_auto_tick(a, 100); /* nothing has begun */
	assert_int_equal(result().attempts, 0);
	e0_done(W, W);
	maple_auto_tick(a, 49);
	assert_int_equal(result().attempts, 0);
	maple_auto_tick(a, 50);
	assert_int_equal(result().attempts, 1);
}

/* Rule 9: all steps done: the last performer stays ahead, no one is held. */
static void test_exposed(void **state)
{
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	rig_start(3);
	assert_int_equal(before(2, E1, R, Y), HELD);
	e0_done(W, R);
	assert_int_equal(resumed(1, 0), GO);
	after(1, E1, R, X);
	assert_int_equal(result().exposed, 1);
	assert_int_equal(result().finished, 1);
	assert_int_equal(result().role[0], 0);
	assert_int_equal(result().role[1], 1);
	assert_int_equal(prio[1], HIGH);
	assert_int_equal(prio[0], norm(0));
	assert_int_equal(prio[2], norm(2));
	assert_int_equal(resumed(2, 0), GO);
	passes(2, E0, W, X); /* it is over */
	assert_int_equal(result().attempts, 0);
}

static void start_deadlock(void)
{
	plan_for(MAPLE_IDIOM_DEADLOCK, L, L, L, L);
	rig_start(3);
	assert_int_equal(before(1, E2, L, Y), HELD);
	assert_int_equal(before(0, E0, L, X), GO);
	after(0, E0, L, X);
	assert_int_equal(resumed(1, 0), GO);
	after(1, E2, L, Y);
}

/* Rule 9: a deadlock plan is exposed when both want their second lock. */
static void test_deadlock(void **state)
{
	start_deadlock();
	assert_int_equal(before(1, E1, L, X), HELD);
	assert_int_equal(result().exposed, 0);
	assert_int_equal(before(0, E3, L, Y), GO);
	assert_int_equal(result().exposed, 1);
	for (int t = 0; t < 3; t++)
		assert_int_equal(prio[t], norm(t));
}

/* Rule 9: who gets its second lock after all shows that nothing came of it. */
static void test_deadlock_missed(void **state)
{
	start_deadlock();
	assert_int_equal(before(1, E1, L, X), HELD);
	assert_int_equal(resumed(1, 0), GO);
	after(1, E1, L, X);
	assert_int_equal(result().exposed, 0);
	assert_int_equal(result().attempts, 1);
}

/* A copy reads and writes in one call: two before(), then two after(). */
static void test_two_at_once(void **state)
{
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	rig_start(2);
	assert_int_equal(before(1, E1, R, X), HELD);
	assert_int_equal(before(0, E0, R, Y), GO);
	assert_int_equal(before(0, E0, W, X), GO);
	after(0, E0, R, Y);
	assert_int_equal(a->executing, 0); /* that was the other half */
	after(0, E0, W, X);
	assert_int_equal(a->done, 1);
	assert_int_equal(a->step_range[0].addr, X);
}

/* A flipped plan: Q's e1 comes before P's e0. */
static void test_flipped(void **state)
{
	plan_for(MAPLE_IDIOM_3, W, R, W, R);
	maple_plan_flip(&plan);
	rig_start(2);
	assert_int_equal(before(0, E0, W, X), HELD);
	assert_int_equal(before(1, E1, R, X), GO);
	after(1, E1, R, X);
	assert_int_equal(resumed(0, 0), GO);
	after(0, E0, W, X);
	assert_int_equal(result().exposed, 1);
	assert_int_equal(result().role[0], 0);
	assert_int_equal(result().role[1], 1);
}

/* Threads beyond the table, and such as never started, are left alone. */
static void test_strangers(void **state)
{
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	rig_start(MAPLE_THREADS);
	maple_auto_start(a, MAPLE_THREADS, 0);
	passes(MAPLE_THREADS, E0, W, X);
	for (unsigned int t = 0; t < MAPLE_THREADS; t += 2)
		maple_auto_exit(a, t);
	apply(1);
	assert_int_equal(a->nlive, MAPLE_THREADS / 2);
	passes(0, E0, W, X);
	assert_int_equal(before(1, E0, W, X), HELD);
	maple_auto_start(a, 0, 0);
	assert_int_equal(before(0, E1, R, X), HELD);
	assert_int_equal(a->executing, 0);
}

static int teardown(void **state)
{
	rig_done();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hooked),
		cmocka_unit_test(test_norm),
		cmocka_unit_test(test_hints),
		cmocka_unit_test(test_hints_dropped),
		cmocka_unit_test(test_occurrence),
		cmocka_unit_test(test_hot_loop),
		cmocka_unit_test(test_glance),
		cmocka_unit_test(test_ignores),
		cmocka_unit_test(test_spent),
		cmocka_unit_test(test_skim),
		cmocka_unit_test(test_turn),
		cmocka_unit_test(test_turn_passes),
		cmocka_unit_test(test_turn_not_yet),
		cmocka_unit_test(test_give_up_for_good),
		cmocka_unit_test(test_give_up_exit),
		cmocka_unit_test(test_give_up_time),
		cmocka_unit_test(test_exposed),
		cmocka_unit_test(test_deadlock),
		cmocka_unit_test(test_deadlock_missed),
		cmocka_unit_test(test_halves),
		cmocka_unit_test(test_next_plan),
		cmocka_unit_test(test_followed),
		cmocka_unit_test(test_two_at_once),
		cmocka_unit_test(test_flipped),
		cmocka_unit_test(test_strangers),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
