// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The automaton's invariants: whatever contradicts itself, everyone is let go,
 * nothing counts as exposed, and the result says so.
 *
 * beside: guests
 */
#include "automaton_rig.h"

/* Everyone has been let go, and the result says why. */
static void assert_broken(unsigned int nthreads)
{
	struct maple_auto_result r;

	maple_auto_result(a, &r);
	assert_int_equal(r.broken, 1);
	assert_int_equal(r.finished, 1);
	assert_int_equal(r.exposed, 0);
	apply(MAPLE_THREADS);
	for (unsigned int t = 0; t < nthreads; t++) {
		assert_int_equal(prio[t], norm(t));
		assert_int_equal(resumed(t, 0), GO);
	}
}

/* What a move finds, of what it has not to do with. */
static void test_invariants_of_state(void **state)
{
	for (int broken = 0; broken < 12; broken++) {
		plan_for(MAPLE_IDIOM_2, W, W, R, 0);
		rig_start(4);
		e0_done(W, W);
		switch (broken) {
		case 0: /* what is done is done again */
			a->executing = 0;
			break;
		case 1:
			a->executing = (int)a->plan.nsteps;
			break;
		case 2:
			a->watch_mode = true;
			break;
		case 3: /* a step that is none */
			a->done |= 1u << a->plan.nsteps;
			break;
		case 4: /* done, but nowhere; by nobody; unknown to the result */
			a->step_range[0].size = 0;
			break;
		case 5:
			a->step_thread[0] = MAPLE_THREADS;
			break;
		case 6:
			a->result.steps = 0;
			break;
		case 7:
			a->ntouched[1] = MAPLE_AUTO_TOUCHED + 2;
			break;
		case 8: /* a level that will never be told */
			a->ndirty++;
			break;
		case 9:
			a->thread[3].norm = HIGH;
			break;
		case 10:
			a->thread[3].failed = 1;
			break;
		case 11:
			a->result.exposed = 1;
			break;
		}
		maple_move_next(a);
		a->thread[3].norm = maple_way_norm(a, 3);
		for (unsigned int t = 0; t < 4 && broken == 9; t++)
			maple_level_set(a, (int)t, norm(t));
		assert_broken(4);
	}
}

/* What must hold before a move, a level, a thread, a plan. */
static void test_invariants_of_calls(void **state)
{
	for (int broken = 0; broken < 10; broken++) {
		struct maple_access acc = access_at(E1, W, X);
		unsigned int t;

		plan_for(MAPLE_IDIOM_2, W, W, R, 0);
		rig_start(4);
		e0_done(W, W);
		apply(MAPLE_THREADS);
		switch (broken) {
		case 0: /* e1's thread stands there, but e0 is done */
			maple_move_execute(a, 0, false);
			break;
		case 1: /* e2 before e1 */
			maple_move_execute(a, 2, false);
			break;
		case 2: /* not its role */
			maple_move_executed(a, 3, 1, &acc);
			break;
		case 3:
			maple_move_executed(a, 0, 2, &acc);
			break;
		case 4: /* stands nowhere */
			maple_move_bind(a, 3, 1);
			break;
		case 5:
			maple_level_set(a, 3, HIGH + 1);
			break;
		case 6: /* one change, and nobody has it */
			a->ndirty++;
			apply(3);
			break;
		case 7: /* before the last plan is over */
			maple_auto_next(a, &plan);
			break;
		case 8: /* an attempt is under way */
			maple_way_turn(a);
			break;
		case 9:
			plan.step[1].role = MAPLE_PLAN_ROLES;
			maple_auto_init(a, &plan);
			memset(prio, 0, sizeof(prio));
			for (t = 0; t < 4; t++)
				maple_auto_start(a, t, 0);
			break;
		}
		assert_broken(4);
	}
}

/* A hold that nobody can account for: everyone is released, and counted. */
static void test_invariants(void **state)
{
	for (int broken = 0; broken < 5; broken++) {
		struct maple_auto_result r;

		plan_for(MAPLE_IDIOM_2, W, W, R, 0);
		rig_start(4);
		e0_done(W, W);
		switch (broken) {
		case 0:
			a->role[0] = a->role[1];
			break;
		case 1:
			a->done = 2; /* e1 without e0 */
			break;
		case 2:
			a->role[0] = 77; /* no such thread */
			break;
		case 3:
			a->thread[1].acc.size = 0; /* a record of nothing */
			break;
		case 4:
			a->thread[1].live_at++;
			break;
		}
		before(0, E0, W, X); /* any move finds it */
		before(2, E0, W, X);
		before(3, GUARD, W, X);
		maple_auto_result(a, &r);
		assert_int_equal(r.broken, 1);
		assert_int_equal(r.finished, 1);
		assert_int_equal(r.exposed, 0);
		a->thread[1].live_at -= broken == 4;
		for (int t = 0; t < 4; t++)
			assert_true(broken == 4 || prio[t] == norm(t));
		assert_int_equal(resumed(2, 0), GO);
	}
}

static int teardown(void **state)
{
	rig_done();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_invariants),
		cmocka_unit_test(test_invariants_of_state),
		cmocka_unit_test(test_invariants_of_calls),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
