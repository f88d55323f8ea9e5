// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The automaton at locks: gates (rule 6 of algorithms.md 7), spinners (rule
 * 10), attempts that fail, and a condition's mutex, taken unannounced.
 *
 * beside: guests
 */
#include "automaton_rig.h"

static void gated_plan(uint32_t idiom)
{
	plan_for(idiom, W, R, W, R);
	plan.flags |= MAPLE_PLAN_GATED;
	plan.step[1].gate[plan.step[1].ngates++] = GATE;
}

/* Rule 6: before the lock that leads to e1, while e0 is not done. */
static void test_gate(void **state)
{
	gated_plan(MAPLE_IDIOM_1);
	rig_start(3);
	assert_true(site_is_hooked(a, GATE));
	assert_int_equal(before(1, GATE, L, Z), HELD);
	assert_int_equal(prio[1], LOW);
	assert_int_equal(result().reached, 0);
	assert_int_equal(before(0, E0, W, X), HELD);
	assert_int_equal(resumed(0, 0), GO);
	after(0, E0, W, X);
	assert_int_equal(prio[1], norm(1)); /* now it may */
	assert_int_equal(resumed(1, 0), GO);
	after(1, GATE, L, Z);
	passes(1, E1, R, X);
	assert_int_equal(result().exposed, 1);
}

/* Rules 4 (d) and 6: at a gate, when all else is blocked, it passes. */
static void test_gate_passes(void **state)
{
	gated_plan(MAPLE_IDIOM_1);
	rig_start(2);
	assert_int_equal(before(1, GATE, L, Z), HELD);
	assert_int_equal(resumed(1, 0), GO);
	assert_int_equal(prio[1], norm(1));
	after(1, GATE, L, Z);
	assert_int_equal(result().attempts, 0);
	assert_int_equal(before(1, E1, R, X), HELD);
}

/* Rule 6: no gates in the other tries, and only locks are gates. */
static void test_gate_ungated(void **state)
{
	gated_plan(MAPLE_IDIOM_1);
	rig_start(2);
	passes(1, GATE, R, Z);
	plan.flags &= ~MAPLE_PLAN_GATED;
	rig_start(2);
	assert_false(site_is_hooked(a, GATE));
	passes(1, GATE, L, Z);
}

/* Rule 6: a third thread before a lock over guarded sites, at MIN. */
static void test_gate_cover(void **state)
{
	gated_plan(MAPLE_IDIOM_2);
	rig_start(3);
	passes(2, GATE, U, Z);
	e0_done(W, R);
	assert_int_equal(before(2, GATE, L, Z), HELD);
	assert_int_equal(prio[2], MIN);
	assert_int_equal(resumed(2, 0), GO);
	assert_int_equal(result().attempts, 0);

	/* A lock that leads to none of the steps, but to a guard. */
	plan.cover[plan.ncovers++] = GATE + 1;
	rig_start(3);
	assert_true(site_is_hooked(a, GATE + 1));
	passes(2, GATE + 1, L, Z); /* no guard at work yet */
	e0_done(W, R);
	assert_int_equal(before(2, GATE + 1, L, Z), HELD);
	assert_int_equal(prio[2], MIN);
	plan.flags &= ~MAPLE_PLAN_GATED;
	rig_start(3);
	e0_done(W, R);
	passes(2, GATE + 1, L, Z);
}

/* Rule 6: a trylock that would fail leads around its step for good. */
static void test_gate_trylock(void **state)
{
	struct maple_access try = access_at(GATE, L, Z);

	gated_plan(MAPLE_IDIOM_1);
	try.may_fail = 1;
	rig_start(3);
	assert_int_equal(before(0, E0, W, X), HELD);
	assert_int_equal(resumed(0, 0), GO);
	after(0, E0, W, X);
	passes(2, GATE, L, Z);
	assert_int_equal(before(1, GATE, L, Z), GO); /* this one blocks */
	assert_int_equal(maple_auto_before(a, 1, &try), HELD);
	apply(1);
	assert_int_equal(prio[1], LOW);
	passes(2, GUARD, U, Z + 64); /* another lock */
	assert_int_equal(prio[1], LOW);
	passes(2, GUARD, U, Z);
	assert_int_equal(prio[1], norm(1));
	assert_int_equal(resumed(1, 0), GO);
	assert_int_equal(result().attempts, 0);
}

/* Rule 10: a spinner goes below all who can run, for a while. */
static void test_spin(void **state)
{
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	rig_start(3);
	maple_auto_spin(a, 0);
	apply(0);
	assert_int_equal(prio[0], MIN);
	assert_int_equal(result().spins, 1);
	maple_auto_tick(a, 0);
	apply(0);
	assert_int_equal(prio[0], norm(0));
	/* Also when all is over: the program runs on. */
	e0_done(W, R);
	assert_int_equal(resumed(1, 0), GO);
	after(1, E1, R, X);
	maple_auto_spin(a, 1);
	apply(1);
	assert_int_equal(prio[1], MIN);
	maple_auto_tick(a, 0);
	apply(1);
	assert_int_equal(prio[1], norm(1));
}

/* Rule 10: a spinner is not blocked: it has its chance before holds end. */
static void test_spin_recalled(void **state)
{
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	rig_start(2);
	assert_int_equal(before(0, E0, W, X), HELD);
	for (int i = 0; i < 3; i++) {
		maple_auto_spin(a, 1);
		apply(1);
		assert_int_equal(prio[1], MIN);
		assert_int_equal(resumed(0, 0), HELD);
		assert_int_equal(prio[1], norm(1));
	}
	maple_auto_spin(a, 1);
	apply(1);
	assert_int_equal(resumed(0, 0), GO);
}

/* Rule 10: it spins for one that a guard holds: the guard must go. */
static void test_spin_on_guarded(void **state)
{
	plan_for(MAPLE_IDIOM_2, W, W, R, 0);
	rig_start(3);
	e0_done(W, W);
	assert_int_equal(before(2, GUARD, W, X), HELD);
	for (int i = 0; i < 10 && !result().attempts; i++) {
		maple_auto_spin(a, 0);
		apply(0);
	}
	assert_int_equal(result().attempts, 1);
	assert_int_equal(prio[2], norm(2));
}

/* A failed trylock: nothing has happened, and nobody insists. */
static void test_trylock_fails(void **state)
{
	plan_for(MAPLE_IDIOM_1, U, L, 0, 0);
	rig_start(3);
	e0_done(U, L);
	assert_int_equal(resumed(1, 0), GO);
	fails(1, E1, L, X);
	assert_int_equal(a->done, 1);
	assert_int_equal(a->executing, -1);
	assert_int_equal(result().attempts, 0);
	assert_int_equal(prio[1], norm(1)); /* not HIGH, over and over */
	assert_int_equal(before(1, E1, L, X), HELD);
	assert_int_equal(prio[1], LOW);
	assert_int_equal(resumed(1, 0), GO); /* all others are blocked */
	after(1, E1, L, X);
	assert_int_equal(result().exposed, 1);

	/* One that is nobody's step leaves no trace either. */
	rig_start(3);
	e0_done(U, L);
	assert_int_equal(before(2, GUARD, L, X + 64), GO);
	fails(2, GUARD, L, X);
	assert_int_equal(result().attempts, 0);
}

/* An unlock gives who failed a reason to try again. */
static void test_trylock_forgiven(void **state)
{
	plan_for(MAPLE_IDIOM_DEADLOCK, L, L, L, L);
	rig_start(3);
	assert_int_equal(before(1, E2, L, Y), HELD);
	assert_int_equal(before(0, E0, L, X), GO);
	fails(0, E0, L, X);
	assert_int_equal(before(0, E0, L, X), HELD);
	assert_int_equal(prio[0], LOW);
	passes(2, GUARD, U, X);
	assert_int_equal(a->executing, 0);
	assert_int_equal(prio[0], HIGH);
}

/* A condition wait takes its mutex back: reported after it happened. */
static void test_unannounced_step(void **state)
{
	plan_for(MAPLE_IDIOM_1, U, L, 0, 0);
	rig_start(2);
	assert_int_equal(before(0, E0, U, X), HELD);
	assert_int_equal(resumed(0, 0), GO);
	after(0, E0, U, X);
	after(1, E1, L, X);
	assert_int_equal(result().exposed, 1);

	rig_start(3);
	assert_int_equal(before(0, E0, U, X), HELD);
	assert_int_equal(resumed(0, 0), GO);
	after(0, E0, U, X);
	after(1, GUARD, L, X); /* another site: it broke it */
	assert_int_equal(result().exposed, 0);
	assert_int_equal(result().attempts, 1);
}

static int teardown(void **state)
{
	rig_done();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gate),
		cmocka_unit_test(test_gate_passes),
		cmocka_unit_test(test_gate_ungated),
		cmocka_unit_test(test_gate_cover),
		cmocka_unit_test(test_gate_trylock),
		cmocka_unit_test(test_spin),
		cmocka_unit_test(test_spin_recalled),
		cmocka_unit_test(test_spin_on_guarded),
		cmocka_unit_test(test_trylock_fails),
		cmocka_unit_test(test_trylock_forgiven),
		cmocka_unit_test(test_unannounced_step),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
