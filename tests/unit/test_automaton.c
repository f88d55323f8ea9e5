// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The automaton, rules 1 to 5 of algorithms.md 7.
 *
 * beside: guests
 */
#include "automaton_rig.h"

/* Rule 1: a record before a relevant access, none before others. */
static void test_hold_relevant(void **state)
{
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	rig_start(3);
	passes(0, 99, W, X);
	passes(0, E0, R, X); /* not the step's kind */
	assert_int_equal(result().holds, 0);
	assert_int_equal(before(0, E0, W, X), HELD);
	assert_int_equal(result().holds, 1);
	assert_int_equal(result().reached, 1);
	assert_int_equal(result().steps, 0);
}

static int called(unsigned int t, uint32_t site, uint32_t kind, uint32_t context)
{
	struct maple_access acc = access_at(site, kind, X);
	int verdict;

	acc.context = context;
	verdict = maple_auto_before(a, t, &acc);
	apply(t);
	if (verdict == GO)
		maple_auto_after(a, t, &acc, 1);
	return verdict;
}

/* Rule 1: a step that is about some callers is no other's. */
static void test_hold_callers(void **state)
{
	struct maple_access all = access_at(E0, W, X);

	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	plan.step[0].context = 7;
	rig_start(3);
	assert_int_equal(called(0, E0, W, MAPLE_CONTEXT_NONE), GO);
	assert_int_equal(called(0, E0, W, 8), GO);
	assert_int_equal(result().holds, 0);
	/* Of what is let pass unasked it is not known who called. */
	assert_true(maple_auto_ignores(a, 0, &all));
	all.context = MAPLE_CONTEXT_ALL;
	assert_false(maple_auto_ignores(a, 0, &all));
	assert_int_equal(called(0, E0, W, 7), HELD);
	/* The other step is whoever's. */
	assert_int_equal(called(1, E1, R, 9), HELD);
	assert_int_equal(resumed(0, 0), GO);
	after(0, E0, W, X);
	/* Who is not the step's may not come in between all the same. */
	assert_int_equal(called(2, E0, W, 8), HELD);
	assert_int_equal(resumed(1, 0), GO);
	after(1, E1, R, X);
	assert_int_equal(result().exposed, 1);
}

/* Rule 1: reasons are worked out anew; who became FREE goes on. */
static void test_hold_becomes_free(void **state)
{
	plan_for(MAPLE_IDIOM_2, R, W, R, 0);
	rig_start(3);
	assert_int_equal(before(2, E0, R, X), HELD);
	assert_int_equal(before(0, E0, R, X), HELD);
	assert_int_equal(prio[2], NEXT);
	/* One of the two is bound with thread 1; the other is no use now. */
	assert_int_equal(before(1, E1, W, X), HELD);
	assert_int_equal(a->role[0], 0);
	assert_int_equal(a->executing, 0);
	assert_int_equal(prio[2], LOW); /* not while a step executes */
	assert_int_equal(resumed(0, 0), GO);
	after(0, E0, R, X);
	assert_int_equal(prio[2], norm(2));
	assert_int_equal(resumed(2, 0), GO);
}

/* Rule 1: ranges overlap, or a step is another variable's. */
static void test_hold_ranges(void **state)
{
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	rig_start(4);
	assert_int_equal(before(0, E0, W, X), HELD);
	assert_int_equal(resumed(0, 0), GO);
	after(0, E0, W, X);
	passes(1, E1, R, X + 8); /* beside it */
	assert_int_equal(result().exposed, 0);
	assert_int_equal(before(2, E1, R, X + 4), GO); /* half of it */
	after(2, E1, R, X + 4);
	assert_int_equal(result().exposed, 1);
}

/* Rule 1: idiom 4's second location is not its first. */
static void test_hold_other_variable(void **state)
{
	plan_for(MAPLE_IDIOM_4, W, R, W, R);
	rig_start(2);
	e0_done(W, R);
	assert_int_equal(prio[1], HIGH);
	assert_int_equal(resumed(1, 0), GO);
	after(1, E1, R, X);
	passes(1, E2, W, X + 4);
	assert_int_equal(a->done, 3);
	assert_int_equal(before(1, E2, W, X + 8), HELD);
	assert_int_equal(result().reached, 7);
}

/* Rule 1: in idiom 3 all is on one location. */
static void test_hold_one_variable(void **state)
{
	plan_for(MAPLE_IDIOM_3, W, R, W, R);
	rig_start(2);
	e0_done(W, R);
	assert_int_equal(resumed(1, 0), GO);
	after(1, E1, R, X);
	passes(1, E2, W, Y);
	assert_int_equal(a->done, 3);
	assert_int_equal(before(1, E2, W, X), HELD);
}

/* Rule 1: after W⇒R, who has read the write is no dependent any more. */
static void test_hold_second_read(void **state)
{
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	rig_start(3);
	assert_int_equal(before(0, E0, W, X), HELD);
	assert_int_equal(resumed(0, 0), GO);
	after(0, E0, W, X);
	passes(1, GUARD, R, X);
	passes(1, E1, R, X); /* its second read */
	assert_int_equal(result().exposed, 0);
	passes(2, E1, R, X);
	assert_int_equal(result().exposed, 1);
	assert_int_equal(result().role[1], 2);
}

/* Rule 1: a read-modify-write agrees with both of its halves. */
static void test_hold_update(void **state)
{
	plan_for(MAPLE_IDIOM_1, R, W, 0, 0);
	rig_start(2);
	e0_done(RW, RW);
	assert_int_equal(resumed(1, 0), GO);
	after(1, E1, RW, X);
	assert_int_equal(result().exposed, 1);

	/* One instruction, both ends of a pair: two executions of it. */
	plan_for(MAPLE_IDIOM_2, R, W, W, 0);
	plan.step[2].site = E0;
	rig_start(2);
	e0_done(RW, W);
	assert_int_equal(a->done, 1);
	assert_int_equal(before(0, E0, RW, X), HELD);
	assert_int_equal(resumed(1, 0), GO);
	after(1, E1, W, X);
	assert_int_equal(resumed(0, 0), GO);
	after(0, E0, RW, X);
	assert_int_equal(result().exposed, 1);
}

/* Rule 1: check and access are not one. */
static void test_hold_check_again(void **state)
{
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	rig_start(3);
	assert_int_equal(before(2, GUARD, W, X), GO); /* loses the CPU here */
	e0_done(W, R);
	assert_true(maple_auto_moved(a, 2));
	assert_int_equal(prio[2], MIN);
	/* The write would break e0⇒e1. */
	assert_int_equal(resumed(1, 0), GO);
	after(1, E1, R, X);
	assert_int_equal(result().exposed, 1);
	assert_false(maple_auto_moved(a, 2));
}

/* Rule 2: alone, nobody is bound. */
static void test_bind_late(void **state)
{
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	rig_start(3);
	assert_int_equal(before(0, E0, W, X), HELD);
	assert_int_equal(a->role[0], -1);
	assert_int_equal(before(1, E1, R, Y), HELD); /* another location */
	assert_int_equal(a->role[0], -1);
	assert_int_equal(a->role[1], -1);
	assert_int_equal(before(2, E1, R, X), HELD);
	assert_int_equal(a->role[0], 0);
	assert_int_equal(a->role[1], 2);
	assert_int_equal(a->executing, 0);
	assert_int_equal(prio[0], HIGH);
}

/* Rule 2: idiom 5's two first steps must not be on one location. */
static void test_bind_apart(void **state)
{
	plan_for(MAPLE_IDIOM_5, W, R, W, R);
	rig_start(3);
	assert_int_equal(before(0, E0, W, X), HELD);
	assert_int_equal(before(1, E2, W, X), HELD);
	assert_int_equal(a->executing, -1);
	assert_int_equal(before(2, E2, W, Y), HELD);
	assert_int_equal(a->executing, 0);
	assert_int_equal(a->role[1], 2);
}

/* Rule 3: idiom 2 holds Q before e1 until P stands before e2. */
static void test_execute_idiom2(void **state)
{
	plan_for(MAPLE_IDIOM_2, R, W, R, 0);
	rig_start(2);
	e0_done(R, W);
	assert_int_equal(prio[0], HIGH); /* P is what is missing */
	assert_int_equal(prio[1], NEXT);
	assert_int_equal(a->done, 1);
	assert_int_equal(before(0, E2, R, X), HELD);
	assert_int_equal(prio[1], HIGH);
	assert_int_equal(resumed(1, 0), GO);
	after(1, E1, W, X);
	assert_int_equal(prio[0], HIGH);
	assert_int_equal(resumed(0, 0), GO);
	after(0, E2, R, X);
	assert_int_equal(result().exposed, 1);
	assert_int_equal(result().steps, 7);
	assert_int_equal(result().attempts, 0);
}

/* Rule 3: idiom 3 lets Q through e1 and holds it before e2. */
static void test_execute_idiom3(void **state)
{
	plan_for(MAPLE_IDIOM_3, W, R, W, R);
	rig_start(2);
	e0_done(W, R);
	assert_int_equal(resumed(1, 0), GO);
	after(1, E1, R, X);
	assert_int_equal(before(1, E2, W, X), HELD);
	assert_int_equal(prio[0], HIGH);
	assert_int_equal(before(0, E3, R, X), HELD);
	assert_int_equal(resumed(1, 0), GO);
	after(1, E2, W, X);
	assert_int_equal(resumed(0, 0), GO);
	after(0, E3, R, X);
	assert_int_equal(result().exposed, 1);
}

/* Rule 3: idiom 5 lets both pass, and then waits for both. */
static void test_execute_idiom5(void **state)
{
	plan_for(MAPLE_IDIOM_5, W, R, W, R);
	rig_start(2);
	assert_int_equal(before(1, E2, W, Y), HELD);
	assert_int_equal(before(0, E0, W, X), GO);
	after(0, E0, W, X);
	assert_int_equal(resumed(1, 0), GO);
	after(1, E2, W, Y);
	assert_int_equal(before(1, E1, R, X), HELD);
	assert_int_equal(before(0, E3, R, Y), HELD);
	assert_int_equal(resumed(1, 0), GO);
	after(1, E1, R, X);
	assert_int_equal(resumed(0, 0), GO);
	after(0, E3, R, Y);
	assert_int_equal(result().exposed, 1);
}

/* Rule 4: the levels. */
static void test_levels(void **state)
{
	plan_for(MAPLE_IDIOM_2, W, W, R, 0);
	rig_start(5);
	assert_int_equal(before(3, E1, W, Y), HELD);
	assert_int_equal(prio[3], LOW); /* a candidate before its time */
	assert_int_equal(before(0, E0, W, X), HELD);
	assert_int_equal(prio[0], NEXT);
	assert_int_equal(before(1, E1, W, X), HELD);
	assert_int_equal(prio[0], HIGH); /* executes */
	assert_int_equal(prio[1], LOW);
	assert_int_equal(resumed(0, 0), GO);
	after(0, E0, W, X);
	assert_int_equal(prio[0], HIGH); /* missing */
	assert_int_equal(prio[1], NEXT); /* its pre is done */
	assert_int_equal(before(4, GUARD, R, X), HELD);
	assert_int_equal(prio[4], MIN);
	assert_int_equal(prio[2], norm(2)); /* everyone else */
	assert_int_equal(prio[3], norm(3)); /* no use any more */
}

/* Rule 4: who executed while all else was blocked lets the others go first. */
static void test_levels_watch_mode(void **state)
{
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	rig_start(2);
	assert_int_equal(before(0, E0, W, X), HELD);
	assert_int_equal(resumed(0, 0), GO);
	assert_int_equal(prio[0], HIGH);
	after(0, E0, W, X);
	assert_int_equal(prio[0], LOW);
	assert_int_equal(prio[1], norm(1));
}

/* Rule 4 (a): as long as somebody's wait will end by itself, sleep. */
static void test_runs_sleep(void **state)
{
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	rig_start(2);
	assert_int_equal(before(0, E0, W, X), HELD);
	for (int i = 0; i < 10; i++)
		assert_int_equal(resumed(0, MAPLE_ENDS_SOON), SLEEP);
	assert_int_equal(resumed(0, MAPLE_ENDS_SOON),
			 GO); /* the step's budget */
	assert_int_equal(result().slept, 10);

	rig_start(2);
	assert_int_equal(before(0, E0, W, X), HELD);
	assert_int_equal(resumed(0, MAPLE_ENDS_SOON), SLEEP);
	assert_int_equal(before(1, E1, R, X), HELD); /* it came */
	assert_int_equal(prio[0], HIGH);
	assert_int_equal(resumed(0, 0), GO);
	assert_int_equal(a->watch_mode, 0);
}

/* Rule 4 (a): and no more than 5 s a plan. */
static void test_runs_sleep_budget(void **state)
{
	int slept = 0;

	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	rig_start(5);
	for (int i = 0; i < 20; i++) {
		waiting = 2 + i % 3;
		assert_int_equal(before(0, E0, W, X), HELD);
		while (resumed(0, MAPLE_ENDS_SOON) == SLEEP)
			slept++;
		after(0, E0, W, X);
		watched(1, W, X); /* give up, begin anew */
	}
	waiting = 1;
	assert_int_equal(slept, 50);
}

/* Rule 4 (a): for what may never end three slices a run, not a step. */
static void test_runs_sleep_perhaps(void **state)
{
	int slept = 0;

	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	rig_start(2);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(before(0, E0, W, X), HELD);
		while (resumed(0, MAPLE_ENDS_PERHAPS) == SLEEP)
			slept++;
		after(0, E0, W, X);
		watched(1, W, X); /* give up, begin anew */
	}
	assert_int_equal(slept, 3);
	assert_int_equal(before(0, E0, W, X), HELD);
	assert_int_equal(resumed(0, MAPLE_ENDS_SOON), SLEEP);
}

/*
 * Rule 4 (a): for one thread twenty a run; twenty more after it has come to
 * something, but not when another one has.
 */
static void test_runs_sleep_polls(void **state)
{
	int slept = 0;

	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	rig_start(3);
	waiting = 2;
	for (int i = 0; i < 5; i++) {
		assert_int_equal(before(0, E0, W, X), HELD);
		while (resumed(0, MAPLE_ENDS_SOON) == SLEEP)
			slept++;
		after(0, E0, W, X);
		watched(1, W, X); /* give up, begin anew */
	}
	assert_int_equal(slept, 20);
	assert_int_equal(before(0, E0, W, X), HELD);
	assert_int_equal(before(1, E0, W, X), HELD);
	assert_int_equal(resumed(0, MAPLE_ENDS_SOON), GO);

	rig_start(3);
	assert_int_equal(before(0, E0, W, X), HELD);
	a->thread[2].waited = 20;
	assert_int_equal(before(2, E0, W, X), HELD);
	assert_int_equal(resumed(0, MAPLE_ENDS_SOON), SLEEP);
	waiting = 1;
}

/* Rule 4 (b): of two candidates on two ranges one may go on: 0.7. */
static void test_runs_coin(void **state)
{
	int passed = 0;

	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	for (uint64_t seed = 0; seed < 1000; seed++) {
		plan.seed = seed;
		rig_start(2);
		assert_int_equal(before(0, E0, W, X), HELD);
		assert_int_equal(before(1, E1, R, Y), HELD);
		if (resumed(0, 0) == HELD) {
			assert_int_equal(prio[1], norm(1));
			assert_int_equal(resumed(1, 0), GO);
			passed++;
		} else {
			assert_int_equal(a->executing, 0);
			assert_true(a->watch_mode);
		}
	}
	assert_in_range(passed, 650, 750);
}

/* Rule 4 (c): a candidate whose time has not come passes. */
static void test_runs_candidate_passes(void **state)
{
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	rig_start(2);
	assert_int_equal(before(1, E1, R, X), HELD);
	assert_int_equal(resumed(1, 0), GO);
	assert_int_equal(a->role[1], -1);
	assert_int_equal(prio[1], norm(1));
	after(1, E1, R, X);
	assert_int_equal(result().attempts, 0);
	assert_int_equal(before(1, E1, R, X), HELD); /* that one only */
}

/* Rule 4 (e): whom the guard held gets its way, and may begin anew. */
static void test_runs_guard_gives_up(void **state)
{
	plan_for(MAPLE_IDIOM_2, W, W, R, 0);
	rig_start(3);
	e0_done(W, W);
	assert_int_equal(before(2, GUARD, W, X), HELD);
	assert_int_equal(resumed(2, 0), GO);
	assert_int_equal(result().attempts, 1);
	assert_int_equal(a->done, 0);
	assert_int_equal(a->role[0], -1);
	after(2, GUARD, W, X);

	rig_start(3);
	e0_done(W, W);
	assert_int_equal(before(2, E0, W, X), HELD);
	assert_int_equal(resumed(2, 0), GO); /* a new attempt's e0 */
	assert_int_equal(result().attempts, 1);
	assert_int_equal(a->executing, 0);
	assert_int_equal(a->role[0], 2);
}

/*
 * Rule 5, the table: who may do what between e0 and e1. Threads 0 and 1 are
 * P and Q, 2 is a third one.
 */
static void test_guard_table(void **state)
{
	static const struct {
		unsigned int k0, k1, t, kind;
		int held;
	} cases[] = {
		{ W, R, 2, W, 1 },  { W, R, 2, RW, 1 }, { W, R, 2, R, 0 },
		{ W, R, 0, R, 0 },  { W, R, 0, W, 1 },	{ R, W, 2, W, 1 },
		{ R, W, 2, RW, 1 }, { R, W, 2, R, 0 },	{ R, W, 0, R, 1 },
		{ R, W, 0, RW, 1 }, { W, W, 2, R, 1 },	{ W, W, 2, W, 1 },
		{ W, W, 0, R, 1 },  { U, L, 2, L, 1 },	{ U, L, 2, U, 1 },
		{ U, L, 0, L, 1 },  { U, L, 2, W, 0 }, /* a mutex is never data */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		plan_for(MAPLE_IDIOM_1, cases[i].k0, cases[i].k1, 0, 0);
		rig_start(3);
		e0_done(cases[i].k0, cases[i].k1);
		assert_int_equal(before(cases[i].t, GUARD, cases[i].kind, X),
				 cases[i].held ? HELD : GO);
		if (cases[i].held)
			assert_int_equal(prio[cases[i].t], MIN);
		assert_int_equal(before(cases[i].t, GUARD, cases[i].kind, Z),
				 GO); /* elsewhere nobody is held */
		assert_int_equal(result().attempts, 0);
		/* Not longer than until e1. */
		assert_int_equal(resumed(1, 0), GO);
		after(1, E1, cases[i].k1, X);
		assert_int_equal(result().exposed, 1);
		passes(2, GUARD, cases[i].kind, X);
	}
}

/* Rule 5: the dependent's own earlier read ends the attempt. */
static void test_guard_dependent(void **state)
{
	plan_for(MAPLE_IDIOM_2, R, W, R, 0);
	rig_start(3);
	e0_done(R, W);
	assert_int_equal(before(0, E2, R, X), HELD);
	assert_int_equal(resumed(1, 0), GO);
	after(1, E1, W, X);
	assert_int_equal(before(1, GUARD, W, X), HELD); /* P comes first */
	assert_int_equal(prio[1], MIN);
	assert_int_equal(resumed(0, 0), GO);
	after(0, E2, R, X);
	assert_int_equal(result().exposed, 1);
}

/* Rule 5: the dependent reads the write, but elsewhere: it is spent. */
static void test_guard_dependent_reads(void **state)
{
	plan_for(MAPLE_IDIOM_6, W, R, W, R);
	rig_start(2);
	e0_done(W, R);
	assert_int_equal(resumed(1, 0), GO);
	after(1, E1, R, X);
	assert_int_equal(before(0, E2, W, Y), HELD);
	assert_int_equal(resumed(0, 0), GO);
	after(0, E2, W, Y);
	assert_int_equal(a->done, 7);
	passes(1, GUARD, R, Z);
	assert_int_equal(result().attempts, 0);
	passes(1, GUARD, R, Y);
	assert_int_equal(result().attempts, 1);
}

/* Rule 5: in a pair its own thread touches neither end in between. */
static void test_guard_pair(void **state)
{
	plan_for(MAPLE_IDIOM_3, W, R, W, R);
	rig_start(2);
	e0_done(W, R);
	assert_int_equal(resumed(1, 0), GO);
	after(1, E1, R, X);
	passes(0, GUARD, R, Z);
	assert_int_equal(result().attempts, 0);
	passes(0, GUARD, R, X);
	assert_int_equal(result().attempts, 1);
	assert_int_equal(a->done, 0);
}

/* Rule 5: what P touched before Y was known cannot be Y. */
static void test_guard_touched(void **state)
{
	plan_for(MAPLE_IDIOM_4, W, R, W, R);
	rig_start(2);
	e0_done(W, R);
	passes(0, GUARD, R, Y);
	assert_int_equal(resumed(1, 0), GO);
	after(1, E1, R, X);
	passes(1, E2, W, Y + 4);
	assert_int_equal(a->done, 3); /* that was no e2 */
	assert_int_equal(before(1, E2, W, Z), HELD);
}

/* Rule 5: more was touched than can be remembered: nothing agrees. */
static void test_guard_touched_full(void **state)
{
	plan_for(MAPLE_IDIOM_4, W, R, W, R);
	rig_start(2);
	e0_done(W, R);
	for (int i = 0; i < 2 * MAPLE_AUTO_TOUCHED; i++)
		passes(0, GUARD, R, Y + 16 * i);
	assert_int_equal(resumed(1, 0), GO);
	after(1, E1, R, X);
	passes(1, E2, W, Z);
	assert_int_equal(a->done, 3);
}

/* Rule 5: seen only after it happened, by the watchpoint. */
static void test_guard_watch(void **state)
{
	uint64_t addr, size;

	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	rig_start(3);
	assert_int_equal(maple_auto_watched(a, &addr, &size), 0);
	e0_done(W, R);
	assert_int_equal(maple_auto_watched(a, &addr, &size), 1);
	assert_int_equal(addr, X);
	assert_int_equal(size, 8);
	watched(2, R, X);
	assert_int_equal(result().attempts, 0);
	watched(2, W, X);
	assert_int_equal(result().attempts, 1);
	assert_int_equal(maple_auto_watched(a, &addr, &size), 0);
}

/* Memory that the attempt is about goes: what comes there is another. */
static void test_freed(void **state)
{
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	rig_start(3);
	assert_int_equal(maple_auto_concerns(a, X, 8), 0);
	e0_done(W, R);
	assert_int_equal(maple_auto_concerns(a, X - 8, 16), 1);
	assert_int_equal(maple_auto_concerns(a, X - 8, 8), 0);
	assert_int_equal(maple_auto_concerns(a, X + 8, 100), 0);
	watched(1, W, X);
	assert_int_equal(result().attempts, 1);
	assert_int_equal(result().executed, 1);
	assert_int_equal(result().last_step, 0);
	assert_int_equal(maple_auto_concerns(a, X, 8), 0);
}

static int teardown(void **state)
{
	rig_done();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hold_relevant),
		cmocka_unit_test(test_hold_callers),
		cmocka_unit_test(test_hold_becomes_free),
		cmocka_unit_test(test_hold_ranges),
		cmocka_unit_test(test_hold_other_variable),
		cmocka_unit_test(test_hold_one_variable),
		cmocka_unit_test(test_hold_second_read),
		cmocka_unit_test(test_hold_update),
		cmocka_unit_test(test_hold_check_again),
		cmocka_unit_test(test_bind_late),
		cmocka_unit_test(test_bind_apart),
		cmocka_unit_test(test_execute_idiom2),
		cmocka_unit_test(test_execute_idiom3),
		cmocka_unit_test(test_execute_idiom5),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_levels_watch_mode),
		cmocka_unit_test(test_runs_sleep),
		cmocka_unit_test(test_runs_sleep_budget),
		cmocka_unit_test(test_runs_sleep_perhaps),
		cmocka_unit_test(test_runs_sleep_polls),
		cmocka_unit_test(test_runs_coin),
		cmocka_unit_test(test_runs_candidate_passes),
		cmocka_unit_test(test_runs_guard_gives_up),
		cmocka_unit_test(test_guard_table),
		cmocka_unit_test(test_guard_dependent),
		cmocka_unit_test(test_guard_dependent_reads),
		cmocka_unit_test(test_guard_pair),
		cmocka_unit_test(test_guard_touched),
		cmocka_unit_test(test_guard_touched_full),
		cmocka_unit_test(test_guard_watch),
		cmocka_unit_test(test_freed),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
