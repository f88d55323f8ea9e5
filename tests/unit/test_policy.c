// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The policies of controlled runs, each held against the probabilities that it
 * promises. Seeds are fixed, so what is tested is arithmetic, not luck.
 *
 * beside: guests
 */
#include "policy_rig.h"

/* ASan looks at the code, not at the odds, and takes ten times as long. */
#ifdef __SANITIZE_ADDRESS__
#define RUNS 4000
#else
#define RUNS 20000
#endif

/* Quantiles of chi-square for a chance of one in a thousand. */
#define CHI_1  10.83
#define CHI_2  13.82
#define CHI_9  27.88
#define CHI_19 43.82

/*
 * Pearson's statistic of @n counts in @runs runs, of which @share[i] is due to
 * each; a share of 0 must not have come at all.
 */
static double chi_square(const unsigned int *count, const double *share,
			 unsigned int n, unsigned int runs)
{
	double sum = 0, due;

	for (unsigned int i = 0; i < n; i++) {
		due = share[i] * runs;
		if (!due) {
			assert_int_equal(count[i], 0);
			continue;
		}
		sum += (count[i] - due) * (count[i] - due) / due;
	}
	return sum;
}

/* @n writes to @addr for each of two threads, one site each. */
static void writes(struct rig_program *program, unsigned int n, uint64_t a,
		   uint64_t b)
{
	*program = (struct rig_program){ .nthreads = 2, .nops = { n, n } };
	for (unsigned int i = 0; i < n; i++) {
		program->op[0][i] = (struct rig_op){ 10 + i, MAPLE_EV_WRITE, a };
		program->op[1][i] = (struct rig_op){ 20 + i, MAPLE_EV_WRITE, b };
	}
}

/* The interleaving as a number: bit i is set if thread 2 made step i. */
static unsigned int steps_mask(void)
{
	unsigned int mask = 0;

	for (unsigned int i = 0; i < rig.nsteps; i++)
		mask |= (rig.step[i] == 2) << i;
	return mask;
}

/* Half of it at each step at which both have something left. */
static double walk_share(unsigned int mask, unsigned int n)
{
	unsigned int left[2] = { n, n };
	double share = 1;

	for (unsigned int i = 0; i < 2 * n; i++) {
		if (left[0] && left[1])
			share /= 2;
		if (!left[mask >> i & 1]--)
			return 0;
	}
	return share;
}

static void test_walk_is_even(void **state)
{
	unsigned int count[64] = { 0 };
	struct rig_program program;
	double share[64], sum = 0;

	writes(&program, 3, 1, 1);
	for (unsigned int i = 0; i < 64; i++)
		sum += share[i] = walk_share(i, 3);
	assert_true(sum > 0.999 && sum < 1.001);
	for (unsigned int seed = 0; seed < RUNS; seed++) {
		rig_order(MAPLE_POLICY_RW, seed);
		rig_run(&program);
		count[steps_mask()]++;
	}
	assert_true(chi_square(count, share, 64, RUNS) < CHI_19);
}

/* In which place the only operation of thread 1 was. */
static unsigned int place_of_first(void)
{
	for (unsigned int i = 0; i < rig.nsteps; i++)
		if (rig.step[i] == 1)
			return i;
	return rig.nsteps;
}

static void pos_places(const struct rig_program *program, uint32_t one_in,
		       unsigned int *count)
{
	for (unsigned int seed = 0; seed < RUNS; seed++) {
		rig_order(MAPLE_POLICY_POS, seed)->one_in = one_in;
		rig_run(program);
		count[place_of_first()]++;
	}
}

/*
 * One write of thread 1 against two of thread 2. All in conflict: what is
 * parked draws anew, so it comes first in 1/2, then in half of the rest. Only
 * the last in conflict: thread 1 keeps a priority that was the lower of two,
 * so it stays behind in 1/2 * 2/3.
 */
static void test_pos_draws_anew_after_conflicts_alone(void **state)
{
	const double all[] = { 0.5, 0.25, 0.25 };
	const double last[] = { 1. / 2, 1. / 6, 1. / 3 };
	unsigned int count[3] = { 0 }, more[3] = { 0 };
	struct rig_program program;

	writes(&program, 2, 1, 1);
	program.nops[0] = 1;
	pos_places(&program, 0, count);
	assert_true(chi_square(count, all, 3, RUNS) < CHI_2);
	program.op[1][0].addr = 2;
	pos_places(&program, 1, more);
	assert_true(chi_square(more, last, 3, RUNS) < CHI_2);
}

/* Reads do not conflict: the same as if they were elsewhere. */
static void test_pos_lets_reads_be(void **state)
{
	const double last[] = { 1. / 2, 1. / 6, 1. / 3 };
	unsigned int count[3] = { 0 };
	struct rig_program program;

	writes(&program, 2, 1, 1);
	program.nops[0] = 1;
	program.op[0][0].kind = MAPLE_EV_READ;
	program.op[1][0].kind = MAPLE_EV_READ;
	pos_places(&program, 0, count);
	assert_true(chi_square(count, last, 3, RUNS) < CHI_2);
}

/*
 * The same as all in conflict, but that one in four draws anew: who was the
 * first of two has come in 1/2, and is the second then in 1/2 if it has drawn
 * anew, and else in 1/3, since it stayed the lower of two.
 */
static void test_pos_draws_anew_now_and_then(void **state)
{
	const double second = (1. / 4 / 2 + 3. / 4 / 3) / 2;
	const double share[] = { 0.5, second, 0.5 - second };
	unsigned int count[3] = { 0 };
	struct rig_program program;

	writes(&program, 2, 1, 1);
	program.nops[0] = 1;
	pos_places(&program, 4, count);
	assert_true(chi_square(count, share, 3, RUNS) < CHI_2);
}

/* Threads that want one lock all the time change seldom, and all the same. */
static void test_pos_changes_seldom_at_a_busy_lock(void **state)
{
	uint64_t often = 0, seldom = 0;
	struct rig_program program = { .nthreads = 2,
				       .nops = { RIG_OPS, RIG_OPS } };

	for (unsigned int i = 0; i < RIG_OPS; i++) {
		const unsigned int kind = i % 2 ? MAPLE_EV_UNLOCK
						: MAPLE_EV_LOCK;

		program.op[0][i] = (struct rig_op){ 10 + i % 2, kind, 1, 1 };
		program.op[1][i] = (struct rig_op){ 20 + i % 2, kind, 1, 1 };
	}
	for (unsigned int seed = 0; seed < 400; seed++) {
		rig_order(MAPLE_POLICY_POS, seed);
		rig_run(&program);
		often += rig.counts.switches;
		rig_order(MAPLE_POLICY_POS, seed)->one_in = 16;
		rig_run(&program);
		seldom += rig.counts.switches;
		assert_int_equal(rig.nsteps, 2 * RIG_OPS);
	}
	print_message("# %lu switches, %lu\n", (unsigned long)often,
		      (unsigned long)seldom);
	assert_true(seldom * 2 < often && seldom > 400);
}

/*
 * A bug of depth 3: after its 4th step thread 1 is preempted for good until
 * thread 2 has made exactly 6, goes on to its 6th, and then thread 2.
 */
static bool has_depth_3(void)
{
	unsigned int at[3] = { 0 }, seen = 0;

	for (unsigned int i = 0; i < rig.nsteps; i++) {
		at[rig.step[i]]++;
		if (rig.step[i] == 2 && at[2] == 1)
			seen = at[1] == 4;
		if (rig.step[i] == 1 && at[1] == 5 && at[2] != 6)
			return false;
		if (rig.step[i] == 2 && at[2] == 7 && at[1] < 5)
			return false;
	}
	return seen;
}

static void test_pct_keeps_its_bound(void **state)
{
	const unsigned int n = 2, k = 20, runs = 100000;
	unsigned int found = 0, a, b;
	struct maple_policy_order *o;
	struct rig_program program;

	writes(&program, k / n, 1, 2);
	srand(1);
	for (unsigned int seed = 0; seed < runs; seed++) {
		o = rig_order(MAPLE_POLICY_PCT, seed);
		o->nchanges = 2;
		a = 1 + rand() % k;
		b = 1 + rand() % k;
		o->change[0] = a < b ? a : b;
		o->change[1] = a < b ? b : a;
		rig_run(&program);
		found += has_depth_3();
	}
	assert_true(found >= runs / (n * k * k));
	assert_true(found < runs / 10); /* it is no common order */
}

/* Without change points a thread runs as long as it can. */
static void test_pct_changes_where_it_is_told(void **state)
{
	unsigned int count[2] = { 0 };
	const double half[] = { 0.5, 0.5 };
	struct maple_policy_order *o;
	struct rig_program program;

	writes(&program, 4, 1, 1);
	for (unsigned int seed = 0; seed < 1000; seed++) {
		rig_order(MAPLE_POLICY_PCT, seed);
		rig_run(&program);
		assert_true(steps_mask() == 0xf0 || steps_mask() == 0x0f);
		count[steps_mask() == 0x0f]++;
		/* the 2nd point of whoever goes first is the 4th of the run */
		o = rig_order(MAPLE_POLICY_PCT, seed);
		o->nchanges = 1;
		o->change[0] = 4;
		rig_run(&program);
		assert_true(steps_mask() == 0x3c || steps_mask() == 0xc3);
	}
	assert_true(chi_square(count, half, 2, 1000) < CHI_1);
}

/* With a variable, only what is done to that one counts. */
static void test_pct_changes_at_a_variable(void **state)
{
	struct maple_policy_order *o;
	struct rig_program program;

	writes(&program, 4, 1, 1);
	for (unsigned int t = 0; t < 2; t++)
		program.op[t][2].addr = 7;
	for (unsigned int seed = 0; seed < 1000; seed++) {
		o = rig_order(MAPLE_POLICY_PCT, seed);
		o->addr = 7;
		o->size = 1;
		o->nchanges = 1;
		o->change[0] = 1;
		rig_run(&program);
		/* Whoever goes first stands before its third operation then. */
		assert_true(steps_mask() == 0x3c || steps_mask() == 0xc3);
		o = rig_order(MAPLE_POLICY_PCT, seed);
		o->addr = 8; /* which nobody is at */
		o->size = 1;
		o->nchanges = 1;
		o->change[0] = 1;
		rig_run(&program);
		assert_true(steps_mask() == 0xf0 || steps_mask() == 0x0f);
	}
}

/* Two interesting writes and three others; three, and one. */
static void surw_program(struct rig_program *program)
{
	static const uint64_t addr[2][5] = { { 2, 1, 2, 1, 2 },
					     { 1, 1, 3, 1, 0 } };

	*program = (struct rig_program){ .nthreads = 2, .nops = { 5, 4 } };
	for (unsigned int i = 0; i < 5; i++) {
		program->op[0][i] =
			(struct rig_op){ 10 + i, MAPLE_EV_WRITE, addr[0][i] };
		program->op[1][i] =
			(struct rig_op){ 20 + i, MAPLE_EV_WRITE, addr[1][i] };
	}
}

/* Which of the 10 orders of the interesting ones it was, by their bits. */
static unsigned int interesting_mask(const struct rig_program *program)
{
	unsigned int at[3] = { 0 }, mask = 0, n = 0, t;

	for (unsigned int i = 0; i < rig.nsteps; i++) {
		t = rig.step[i];
		if (program->op[t - 1][at[t]++].addr == 1)
			mask |= (t == 2) << n++;
	}
	assert_int_equal(n, 5);
	return mask;
}

static void test_surw_is_even_at_its_variable(void **state)
{
	static const struct maple_policy_name names[] = { { "0" },
							  { "0.1" },
							  { "0.2" } };
	static const uint32_t weight[] = { 0, 2, 3 };
	unsigned int count[32];
	struct maple_policy_order *o;
	struct rig_program program;
	double share[32];

	surw_program(&program);
	for (unsigned int i = 0; i < 32; i++)
		share[i] = __builtin_popcount(i) == 3 ? 0.1 : 0;
	for (unsigned int base = 0; base < MAPLE_POLICY_BASES; base++) {
		memset(count, 0, sizeof(count));
		for (unsigned int seed = 0; seed < RUNS; seed++) {
			o = rig_order(MAPLE_POLICY_SURW, seed);
			o->base = base;
			o->addr = 1;
			o->size = 1;
			rig.setup.name = names;
			rig.setup.nnames = 3;
			rig.setup.weight = weight;
			rig_run(&program);
			count[interesting_mask(&program)]++;
		}
		assert_true(chi_square(count, share, 32, RUNS) < CHI_9);
	}
}

/* Nothing is known of the threads: each order comes all the same. */
static void test_surw_does_without_counts(void **state)
{
	unsigned int count[32] = { 0 };
	struct maple_policy_order *o;
	struct rig_program program;

	surw_program(&program);
	for (unsigned int seed = 0; seed < RUNS; seed++) {
		o = rig_order(MAPLE_POLICY_SURW, seed);
		o->base = seed % MAPLE_POLICY_BASES;
		o->addr = 1;
		o->size = 1;
		rig_run(&program);
		count[interesting_mask(&program)]++;
	}
	for (unsigned int i = 0; i < 32; i++)
		if (__builtin_popcount(i) == 3)
			assert_true(count[i] > RUNS / 200);
}

/* The steps of the pattern wait for each other, and come in its order. */
static void test_seek_meets_its_pattern(void **state)
{
	struct maple_policy_order *o;
	struct rig_program program;
	unsigned int met = 0;

	writes(&program, 4, 1, 2);
	for (unsigned int t = 0; t < 2; t++)
		for (unsigned int i = 0; i < 4; i++)
			program.op[t][i].site = 10 * (t + 1) + i;
	for (unsigned int seed = 0; seed < 400; seed++) {
		unsigned int at[3] = { 0 }, b = 0;

		o = rig_order(MAPLE_POLICY_SEEK, seed);
		o->nchanges = 3;
		o->change[0] = 2 * 11;
		o->change[1] = 2 * 22 + 1;
		o->change[2] = 2 * 12;
		rig_run(&program);
		assert_int_equal(rig.nsteps, 8);
		for (unsigned int i = 0; i < rig.nsteps; i++) {
			unsigned int t = rig.step[i];

			at[t]++;
			if (t == 2 && at[2] == 3)
				b = at[1];
		}
		met += b == 2;
	}
	assert_int_equal(met, 400);
}

/* A lock that another one has: who wants it is no candidate, unless blind. */
static void test_waits_for_locks(void **state)
{
	struct rig_program program = {
		.nthreads = 2,
		.nops = { 3, 3 },
	};
	unsigned int blind = 0, often;

	for (unsigned int t = 0; t < 2; t++) {
		program.op[t][0] =
			(struct rig_op){ 10 * t, MAPLE_EV_LOCK, 1, 1 };
		program.op[t][1] =
			(struct rig_op){ 10 * t + 1, MAPLE_EV_WRITE, 2 };
		program.op[t][2] =
			(struct rig_op){ 10 * t + 2, MAPLE_EV_UNLOCK, 1 };
	}
	for (unsigned int seed = 0; seed < 1000; seed++) {
		rig_order(MAPLE_POLICY_RW, seed);
		rig_run(&program);
		assert_int_equal(rig.blocked, 0);
		assert_int_equal(rig.counts.disabled, 0);
		assert_true(steps_mask() == 0x38 || steps_mask() == 0x07);
		rig_order(MAPLE_POLICY_RW, seed)->blind = true;
		rig_run(&program);
		blind += rig.blocked;
		assert_int_equal(rig.nsteps, 6);
	}
	assert_true(blind > 100);
	/* One in ten who come to it is. */
	often = blind;
	blind = 0;
	for (unsigned int seed = 0; seed < 1000; seed++) {
		struct maple_policy_order *o = rig_order(MAPLE_POLICY_RW, seed);

		o->blind = true;
		o->one_in = 10;
		rig_run(&program);
		blind += rig.blocked;
		assert_int_equal(rig.nsteps, 6);
	}
	assert_true(blind > often / 20 && blind < often / 5);
}

/* Two give way to each other, and both wait for the third. */
static void test_those_who_spin_let_the_third_one_go_on(void **state)
{
	static const enum maple_policy_kind kinds[] = { MAPLE_POLICY_PCT,
							MAPLE_POLICY_SURW };
	struct rig_program program = { .nthreads = 3, .nops = { 20, 20, 4 } };
	struct maple_policy_order *o;
	unsigned int last;

	for (unsigned int i = 0; i < 20; i++)
		program.op[0][i] = program.op[1][i] =
			(struct rig_op){ 10, MAPLE_EV_NONE };
	for (unsigned int i = 0; i < 4; i++)
		program.op[2][i] = (struct rig_op){ 20 + i, MAPLE_EV_WRITE, 2 };
	for (unsigned int seed = 0; seed < 400; seed++) {
		o = rig_order(kinds[seed % 2], seed);
		o->base = MAPLE_POLICY_RANKED;
		o->addr = 3; /* nobody's */
		o->size = 1;
		rig_run(&program);
		last = rig.nsteps;
		while (last && rig.step[last - 1] != 3)
			last--;
		assert_true(last >= 4 && last <= 6);
	}
}

static int teardown(void **state)
{
	rig_clear();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walk_is_even),
		cmocka_unit_test(test_pos_draws_anew_after_conflicts_alone),
		cmocka_unit_test(test_pos_lets_reads_be),
		cmocka_unit_test(test_pos_draws_anew_now_and_then),
		cmocka_unit_test(test_pos_changes_seldom_at_a_busy_lock),
		cmocka_unit_test(test_pct_keeps_its_bound),
		cmocka_unit_test(test_pct_changes_where_it_is_told),
		cmocka_unit_test(test_pct_changes_at_a_variable),
		cmocka_unit_test(test_surw_is_even_at_its_variable),
		cmocka_unit_test(test_surw_does_without_counts),
		cmocka_unit_test(test_seek_meets_its_pattern),
		cmocka_unit_test(test_waits_for_locks),
		cmocka_unit_test(test_those_who_spin_let_the_third_one_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
