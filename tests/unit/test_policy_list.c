// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Schedules of controlled runs: what is logged is followed, whatever else is
 * controlled, and entries hold without each other. And who only waits gives
 * way.
 *
 * beside: guests
 */
#include "policy_rig.h"

#define SEEDS 2000

/* Loops over few sites, reads and writes, with a lock around some. */
static void loops(struct rig_program *program, unsigned int seed)
{
	struct rig_op *op;

	*program = (struct rig_program){ .nthreads = 3 };
	srand(seed);
	for (unsigned int t = 0; t < 3; t++) {
		program->nops[t] = 12 + rand() % 12;
		for (unsigned int i = 0; i < program->nops[t]; i++) {
			op = &program->op[t][i];
			op->site = 40 + rand() % 20;
			op->kind = rand() % 2 ? MAPLE_EV_READ : MAPLE_EV_WRITE;
			op->addr = op->site & 3;
		}
		op = program->op[t];
		op[2] = (struct rig_op){ 30, MAPLE_EV_LOCK, 5, 1 };
		op[5] = (struct rig_op){ 31, MAPLE_EV_UNLOCK, 5 };
	}
}

/* What one run was, to be held against others. */
struct was {
	struct maple_policy_switch log[1024];
	uint32_t nlog;
	unsigned int step[RIG_STEPS], nsteps;
	struct maple_policy_name name[RIG_THREADS + 1];
};

static void keep(struct was *was)
{
	memcpy(was->log, rig.log, sizeof(was->log));
	memcpy(was->step, rig.step, sizeof(was->step));
	memcpy(was->name, rig.name, sizeof(was->name));
	was->nlog = rig.nlog;
	was->nsteps = rig.nsteps;
	assert_int_equal(rig.counts.over + rig.counts.uncounted, 0);
}

static void follow(const struct rig_program *program, const struct was *was)
{
	rig_order(MAPLE_POLICY_LIST, 0);
	rig.setup.list = was->log;
	rig.setup.nlist = was->nlog;
	rig.setup.name = was->name;
	rig.setup.nnames = RIG_THREADS + 1;
	rig_run(program);
}

static void assert_same(const struct was *was)
{
	assert_int_equal(rig.counts.missed, 0);
	assert_int_equal(rig.follows, rig.counts.followed);
	assert_int_equal(rig.nsteps, was->nsteps);
	assert_memory_equal(rig.step, was->step,
			    was->nsteps * sizeof(*was->step));
}

static const enum maple_policy_kind explorers[] = { MAPLE_POLICY_RW,
						    MAPLE_POLICY_POS,
						    MAPLE_POLICY_PCT };

static void explore(const struct rig_program *program, unsigned int seed,
		    struct was *was)
{
	struct maple_policy_order *o = rig_order(explorers[seed % 3], seed);

	o->nchanges = 2;
	o->change[0] = 1 + seed % 10;
	o->change[1] = o->change[0] + seed % 7;
	rig_run(program);
	keep(was);
}

static void test_log_is_followed(void **state)
{
	struct rig_program program;
	struct was was;

	for (unsigned int seed = 0; seed < SEEDS; seed++) {
		loops(&program, seed);
		explore(&program, seed, &was);
		follow(&program, &was);
		assert_same(&was);
		/* Its own log is the same schedule. */
		assert_int_equal(rig.nlog, was.nlog);
		assert_memory_equal(rig.log, was.log,
				    was.nlog * sizeof(*was.log));
	}
}

/* Sites that no entry names are points no more; calls stay what they are. */
static void leave_out(struct rig_program *program, const struct was *was)
{
	struct rig_op *op;
	bool named;

	for (unsigned int t = 0; t < program->nthreads; t++) {
		for (unsigned int i = 0; i < program->nops[t]; i++) {
			op = &program->op[t][i];
			named = op->site < 40;
			for (unsigned int k = 0; k < was->nlog; k++)
				named |= was->log[k].site == op->site;
			if (!named)
				op->flags |= RIG_UNCONTROLLED;
		}
	}
}

static void test_other_sites_do_not_matter(void **state)
{
	struct rig_program program;
	unsigned int fewer = 0;
	struct was was;
	uint64_t points;

	for (unsigned int seed = 0; seed < SEEDS; seed++) {
		loops(&program, seed);
		explore(&program, seed, &was);
		points = rig.counts.points;
		leave_out(&program, &was);
		follow(&program, &was);
		assert_same(&was);
		fewer += rig.counts.points < points;
	}
	assert_true(fewer > SEEDS / 4);
}

/* How many steps the two have in common from the beginning. */
static unsigned int common(const struct was *was)
{
	unsigned int n = 0;

	while (n < was->nsteps && n < rig.nsteps && was->step[n] == rig.step[n])
		n++;
	return n;
}

/*
 * An entry that is taken away has no effect on what comes before its place,
 * and all others whose places come are still carried out.
 */
static void test_entries_hold_without_each_other(void **state)
{
	struct was was, less;
	struct rig_program program;
	unsigned int gone, before, reached = 0, switches;

	for (unsigned int seed = 0; seed < SEEDS; seed++) {
		loops(&program, seed);
		explore(&program, seed, &was);
		less = was;
		gone = seed % was.nlog;
		if (was.log[gone].what == MAPLE_POLICY_ARRIVED)
			continue;
		less.nlog--;
		memmove(less.log + gone, less.log + gone + 1,
			(less.nlog - gone) * sizeof(*less.log));
		follow(&program, &less);
		switches = 0;
		for (unsigned int i = 0; i < less.nlog; i++)
			switches += less.log[i].what != MAPLE_POLICY_ARRIVED;
		/* Of the entries before, each was carried out. */
		before = 0;
		for (unsigned int i = 0; i < gone; i++)
			before += was.log[i].what != MAPLE_POLICY_ARRIVED;
		assert_true(rig.counts.followed >= before);
		assert_true(rig.counts.followed + rig.counts.missed <= switches);
		assert_int_equal(rig.nsteps, was.nsteps);
		assert_true(common(&was) >= before);
		reached += rig.counts.followed == switches;
	}
	assert_true(reached > SEEDS / 10);
}

/* Thread numbers are of the run, names last: 1 and 2 have changed places. */
static void test_threads_are_known_by_name(void **state)
{
	struct rig_program program;
	struct was was;
	struct maple_policy_name name;

	for (unsigned int seed = 0; seed < 100; seed++) {
		loops(&program, seed);
		explore(&program, seed, &was);
		for (unsigned int i = 0; i < was.nlog; i++) {
			uint16_t *t = &was.log[i].thread, *n = &was.log[i].next;

			*t = *t == 1 ? 2 : *t == 2 ? 1 : *t;
			*n = *n == 1 ? 2 : *n == 2 ? 1 : *n;
		}
		name = was.name[1];
		was.name[1] = was.name[2];
		was.name[2] = name;
		follow(&program, &was);
		assert_same(&was);
	}
}

/* What is named may be anything, in a file of the user's. */
/*
 * Behind a point, whichever comes next; and behind the last one, since a thread
 * has ended.
 */
static void test_after_a_point(void **state)
{
	static const struct rig_program program = {
		.nthreads = 2,
		.nops = { 3, 2 },
		.op = { { { 40, MAPLE_EV_READ, 1 },
			  { 41, MAPLE_EV_READ, 1 },
			  { 40, MAPLE_EV_READ, 1 } },
			{ { 50, MAPLE_EV_READ, 1 }, { 51, MAPLE_EV_READ, 1 } } },
	};
	static const struct maple_policy_switch list[] = {
		{ 1, 2, MAPLE_POLICY_AFTER, 41, 1 },
		{ 2, 1, MAPLE_POLICY_AFTER, 50, 1 },
		{ 1, 2, MAPLE_POLICY_AFTER, 40, 2 },
	};
	static const unsigned int wanted[] = { 1, 1, 2, 1, 2 };
	struct was was = { .nlog = 3 };

	for (unsigned int t = 0; t <= RIG_THREADS; t++)
		snprintf(was.name[t].text, MAPLE_POLICY_NAME, t ? "0.%u" : "0",
			 t);
	memcpy(was.log, list, sizeof(list));
	follow(&program, &was);
	assert_int_equal(rig.counts.followed, 3);
	assert_int_equal(rig.counts.missed, 0);
	assert_int_equal(rig.nsteps, 5);
	assert_memory_equal(rig.step, wanted, sizeof(wanted));
}

static void assert_goes(enum maple_policy_first base,
			const struct rig_program *program,
			const unsigned int *wanted, unsigned int n)
{
	rig_order(MAPLE_POLICY_LIST, 0)->base = base;
	rig_run(program);
	assert_int_equal(rig.nsteps, n);
	assert_memory_equal(rig.step, wanted, n * sizeof(*wanted));
}

/* Where nothing is said: one is through after the other, or they take turns. */
static void test_who_is_first(void **state)
{
	static const struct rig_program program = {
		.nthreads = 3,
		.nops = { 2, 3, 2 },
		.op = { { { 40, MAPLE_EV_READ, 1 }, { 41, MAPLE_EV_READ, 1 } },
			{ { 50, MAPLE_EV_READ, 1 },
			  { 51, MAPLE_EV_READ, 1 },
			  { 52, MAPLE_EV_READ, 1 } },
			{ { 60, MAPLE_EV_READ, 1 }, { 61, MAPLE_EV_READ, 1 } } },
	};
	static const unsigned int wanted[MAPLE_POLICY_FIRSTS][7] = {
		[MAPLE_POLICY_OLDEST] = { 1, 1, 2, 2, 2, 3, 3 },
		[MAPLE_POLICY_YOUNGEST] = { 3, 3, 2, 2, 2, 1, 1 },
		[MAPLE_POLICY_TURNS] = { 1, 2, 3, 1, 2, 3, 2 },
		[MAPLE_POLICY_TURNS_BACK] = { 3, 2, 1, 3, 2, 1, 2 },
	};

	for (unsigned int base = 0; base < MAPLE_POLICY_FIRSTS; base++)
		assert_goes(base, &program, wanted[base], 7);
}

/* Who waits for a lock has no turn, and gets one when it is free. */
static void test_turns_pass_by_who_waits(void **state)
{
	static const struct rig_program program = {
		.nthreads = 2,
		.nops = { 4, 4 },
		.op = { { { 40, MAPLE_EV_LOCK, 2, 1 },
			  { 41, MAPLE_EV_READ, 1 },
			  { 42, MAPLE_EV_UNLOCK, 2 },
			  { 43, MAPLE_EV_READ, 1 } },
			{ { 50, MAPLE_EV_LOCK, 2, 1 },
			  { 51, MAPLE_EV_READ, 1 },
			  { 52, MAPLE_EV_UNLOCK, 2 },
			  { 53, MAPLE_EV_READ, 1 } } },
	};
	static const unsigned int wanted[] = { 1, 1, 1, 2, 1, 2, 2, 2 };

	assert_goes(MAPLE_POLICY_TURNS, &program, wanted, 8);
}

static void test_strange_lists_do_no_harm(void **state)
{
	struct rig_program program;
	struct was was;

	for (unsigned int seed = 0; seed < SEEDS; seed++) {
		loops(&program, seed);
		explore(&program, seed, &was);
		for (unsigned int i = 0; i < was.nlog; i++) {
			was.log[i].thread = rand();
			was.log[i].next = rand();
			was.log[i].what = rand() % 4;
			was.log[i].hit = rand() % 20;
		}
		follow(&program, &was);
		assert_int_equal(rig.nsteps, was.nsteps);
	}
}

/* More sites than a thread has room for at first. */
static void test_many_sites(void **state)
{
	struct rig_program program = { .nthreads = 2, .nops = { 60, 60 } };
	struct was was;

	for (unsigned int t = 0; t < 2; t++)
		for (unsigned int i = 0; i < 60; i++)
			program.op[t][i] = (struct rig_op){ 1000 * i + t,
							    MAPLE_EV_READ, 1 };
	for (unsigned int seed = 0; seed < 200; seed++) {
		explore(&program, seed, &was);
		assert_true(rig.nmemory > 0);
		follow(&program, &was);
		assert_same(&was);
	}
}

/*
 * Two threads without a program: 1 stands, is chosen, and is at a read of @addr
 * again and again, while 2 stands somewhere. After how many of these 2 goes on;
 * 0: it never does.
 */
static unsigned int reads_until_way(unsigned int most, bool writes)
{
	struct maple_policy_op op = { 10, MAPLE_EV_READ, 1, 1, 0 };
	struct maple_policy_op own = { 11, MAPLE_EV_WRITE, 2, 1, 0 };

	for (unsigned int i = 1; i <= most; i++) {
		maple_policy_announce(rig.p, 1, &op);
		if (maple_policy_decide(rig.p, 1) != 1)
			return i;
		maple_policy_execute(rig.p, 1);
		if (!writes)
			continue;
		maple_policy_announce(rig.p, 1, &own);
		if (maple_policy_decide(rig.p, 1) != 1)
			return i;
	}
	return 0;
}

/* 1 is above 2, and chosen. */
static void two_threads(enum maple_policy_kind policy)
{
	static const struct rig_program none = { .nthreads = 2,
						 .nops = { 1, 1 } };
	uint64_t seed = 0;

	do {
		rig_order(policy, seed++);
		rig_birth(&none);
	} while (maple_policy_fall(rig.p) != 1);
}

/* Who gave way goes on: 2 has come to where it stays. */
static void back_to_1(void)
{
	struct maple_policy_op op = { 20, MAPLE_EV_NONE, 0, 0, 0 };

	assert_int_equal(maple_policy_chosen(rig.p), 2);
	maple_policy_announce(rig.p, 2, &op);
	assert_int_equal(maple_policy_decide(rig.p, 2), 1);
}

static void test_spinner_gives_way(void **state)
{
	two_threads(MAPLE_POLICY_PCT);
	/* The first read is no repeat. */
	assert_int_equal(reads_until_way(1000, false), 25);
	back_to_1();
	/* What it does again and again may be work. */
	assert_int_equal(reads_until_way(1000, false), 48);
	back_to_1();
	assert_int_equal(reads_until_way(1000, false), 96);
	back_to_1();
	/* What it waited for has come: it did spin. */
	rig.value[1]++;
	assert_int_equal(reads_until_way(1000, false), 25);
	assert_int_equal(rig.counts.yields, 7);
}

static void test_worker_goes_on(void **state)
{
	two_threads(MAPLE_POLICY_PCT);
	assert_int_equal(reads_until_way(10000, true), 0);
	assert_int_equal(rig.counts.yields, 0);
}

/* Nobody can take its place: it is due until somebody can. */
static void test_stays_due(void **state)
{
	struct maple_policy_op op = { 21, MAPLE_EV_LOCK, 1, 1, 1 };

	two_threads(MAPLE_POLICY_PCT);
	maple_policy_exit(rig.p, 2);
	maple_policy_born(rig.p, 3, "0.3", 0);
	maple_policy_announce(rig.p, 3, &op);
	maple_policy_arrive(rig.p, 3);
	rig.owner[1] = 1;
	assert_int_equal(reads_until_way(200, false), 0);
	rig.owner[1] = 0;
	assert_int_equal(reads_until_way(200, false), 1);
}

/* A list that leads elsewhere ends all the same. */
static void test_list_has_patience(void **state)
{
	unsigned int n;

	rig_order(MAPLE_POLICY_LIST, 0);
	rig_birth(
		&(const struct rig_program){ .nthreads = 2, .nops = { 1, 1 } });
	assert_int_equal(maple_policy_fall(rig.p), 1);
	n = reads_until_way(100000, false);
	assert_true(n > 1000 && n < 10000);
}

static void follow_and_go_on(const struct rig_program *program,
			     const struct was *was, uint32_t n,
			     enum maple_policy_kind behind, uint64_t seed)
{
	struct maple_policy_order *o = rig_order(MAPLE_POLICY_LIST, seed);

	o->behind = 1 + behind;
	o->nchanges = 2;
	o->change[0] = 2;
	o->change[1] = 5;
	rig.setup.list = was->log;
	rig.setup.nlist = n;
	rig.setup.name = was->name;
	rig.setup.nnames = RIG_THREADS + 1;
	rig_run(program);
}

/*
 * The beginning is the list's, what follows another policy's, and the log of
 * both is followed as any other.
 */
static void test_a_policy_goes_on_behind(void **state)
{
	struct rig_program program;
	unsigned int others = 0;
	struct was was, now;
	uint32_t n, choices;

	for (unsigned int seed = 0; seed < SEEDS; seed++) {
		loops(&program, seed);
		explore(&program, seed, &was);
		n = seed / 3 % (was.nlog + 1);
		choices = 0;
		for (uint32_t i = 0; i < n; i++)
			choices += was.log[i].what != MAPLE_POLICY_ARRIVED;
		follow_and_go_on(&program, &was, n, explorers[seed % 3],
				 seed + 7);
		assert_int_equal(rig.counts.followed, choices);
		assert_int_equal(rig.counts.missed, 0);
		assert_true(common(&was) + 1 >= choices);
		assert_memory_equal(rig.log, was.log, n * sizeof(*was.log));
		others += common(&was) < was.nsteps;
		keep(&now);
		follow(&program, &now);
		assert_same(&now);
	}
	assert_true(others > SEEDS / 2);
}

static void test_behind_nothing_is_the_policy_itself(void **state)
{
	static const struct was nothing;
	struct rig_program program;
	struct maple_policy_order *o;
	struct was was;

	for (unsigned int seed = 0; seed < 200; seed++) {
		loops(&program, seed);
		o = rig_order(explorers[seed % 3], seed);
		o->nchanges = 2;
		o->change[0] = 2;
		o->change[1] = 5;
		rig_run(&program);
		keep(&was);
		follow_and_go_on(&program, &nothing, 0, explorers[seed % 3],
				 seed);
		assert_same(&was);
	}
}

/* Where what happens is not what the list says, nothing more is expected. */
static void test_a_list_that_strays_is_over(void **state)
{
	struct rig_program program;
	unsigned int early = 0;
	struct was was;

	for (unsigned int seed = 0; seed < SEEDS; seed++) {
		struct maple_policy_switch *e = was.log;

		loops(&program, seed);
		explore(&program, seed, &was);
		while (e->what == MAPLE_POLICY_ARRIVED)
			e++;
		e->next = RIG_THREADS; /* who is never born */
		follow_and_go_on(&program, &was, was.nlog, MAPLE_POLICY_POS,
				 seed);
		assert_int_equal(rig.counts.missed, 1);
		assert_int_equal(rig.counts.followed, 0);
		early += common(&was) < was.nsteps;
	}
	assert_true(early > SEEDS / 2);
}

/* A spin that the list knows nothing of is no reason to wait for its end. */
static void test_a_spin_ends_a_list(void **state)
{
	static const struct maple_policy_switch never = {
		.thread = 1, .next = 2, .site = 99, .hit = 1
	};
	struct maple_policy_order *o = rig_order(MAPLE_POLICY_LIST, 0);
	static const struct maple_policy_name name[] = { { "0" },
							 { "0.1" },
							 { "0.2" } };

	o->behind = 1 + MAPLE_POLICY_POS;
	rig.setup.list = &never;
	rig.setup.nlist = 1;
	rig.setup.name = name;
	rig.setup.nnames = 3;
	rig_birth(
		&(const struct rig_program){ .nthreads = 2, .nops = { 1, 1 } });
	assert_int_equal(maple_policy_fall(rig.p), 1);
	assert_int_equal(reads_until_way(1000, false), 25);
}

static void test_what_may_be_first(void **state)
{
	assert_true(maple_policy_is_base(MAPLE_POLICY_LIST,
					 MAPLE_POLICY_TURNS_BACK));
	assert_false(
		maple_policy_is_base(MAPLE_POLICY_LIST, MAPLE_POLICY_FIRSTS));
	assert_true(
		maple_policy_is_base(MAPLE_POLICY_SURW, MAPLE_POLICY_RANKED));
	assert_false(
		maple_policy_is_base(MAPLE_POLICY_SURW, MAPLE_POLICY_BASES));
}

static void test_what_may_stand_behind(void **state)
{
	assert_true(maple_policy_is_behind(0));
	assert_true(maple_policy_is_behind(1 + MAPLE_POLICY_POS));
	assert_false(maple_policy_is_behind(1 + MAPLE_POLICY_LIST));
	assert_false(maple_policy_is_behind(1 + MAPLE_POLICY_SURW));
	assert_false(maple_policy_is_behind(1 + MAPLE_POLICIES));
}

static int teardown(void **state)
{
	rig_clear();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log_is_followed),
		cmocka_unit_test(test_other_sites_do_not_matter),
		cmocka_unit_test(test_entries_hold_without_each_other),
		cmocka_unit_test(test_threads_are_known_by_name),
		cmocka_unit_test(test_after_a_point),
		cmocka_unit_test(test_who_is_first),
		cmocka_unit_test(test_turns_pass_by_who_waits),
		cmocka_unit_test(test_what_may_be_first),
		cmocka_unit_test(test_strange_lists_do_no_harm),
		cmocka_unit_test(test_many_sites),
		cmocka_unit_test(test_spinner_gives_way),
		cmocka_unit_test(test_worker_goes_on),
		cmocka_unit_test(test_stays_due),
		cmocka_unit_test(test_list_has_patience),
		cmocka_unit_test(test_a_policy_goes_on_behind),
		cmocka_unit_test(test_behind_nothing_is_the_policy_itself),
		cmocka_unit_test(test_a_list_that_strays_is_over),
		cmocka_unit_test(test_a_spin_ends_a_list),
		cmocka_unit_test(test_what_may_stand_behind),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
