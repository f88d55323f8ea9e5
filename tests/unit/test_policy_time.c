// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The time of a controlled run: who waits for it is no candidate before, time
 * jumps where all wait, and one wait in eight may be over early. Seeds are
 * fixed, so what is tested is arithmetic, not luck.
 *
 * beside: guests
 */
#include "policy_rig.h"

#define SEEDS  4000
#define SECOND 1000000000ull
/* The quantile of chi-square for a chance of one in a thousand. */
#define CHI_1 10.83

/* Pearson's statistic of @n in SEEDS runs, of which @due are expected. */
static double chi_square(double n, double due)
{
	double off = n - due;

	return off * off / due + off * off / (SEEDS - due);
}

/* One operation for each of @n threads; until[i] 0: it waits for nothing. */
static struct rig_program waits(const uint64_t *until, unsigned int n)
{
	struct rig_program program = { .nthreads = n };

	for (unsigned int i = 0; i < n; i++) {
		program.nops[i] = 1;
		program.op[i][0] =
			(struct rig_op){ .site = i + 1, .until = until[i] };
	}
	return program;
}

static const uint64_t sleeper[] = { SECOND, 0 };

static void test_time_jumps_to_the_next_end(void **state)
{
	const uint64_t until[] = { 3 * SECOND, SECOND, 2 * SECOND };
	const unsigned int order[] = { 2, 3, 1 };
	struct rig_program program = waits(until, 3);
	unsigned int patient = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		rig_order(MAPLE_POLICY_RW, seed);
		rig_run(&program);
		assert_int_equal(rig.nsteps, 3);
		assert_int_equal(maple_policy_now(rig.p), 3 * SECOND);
		if (rig.counts.early)
			continue;
		patient++;
		assert_memory_equal(rig.step, order, sizeof(order));
		assert_int_equal(rig.counts.jumps, 3);
	}
	assert_true(patient > SEEDS / 2);
}

static void test_one_wait_in_eight_may_be_over_early(void **state)
{
	struct rig_program program = waits(sleeper, 2);
	unsigned int early = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		rig_order(MAPLE_POLICY_RW, seed);
		rig_run(&program);
		assert_int_equal(rig.counts.early, rig.step[0] == 1);
		assert_int_equal(rig.counts.jumps, rig.step[0] == 2);
		early += rig.step[0] == 1;
	}
	/* Of two candidates RW takes either in one half. */
	assert_true(chi_square(early, SEEDS / 16.) < CHI_1);
}

static void test_who_is_patient_is_never_early(void **state)
{
	struct rig_program program = waits(sleeper, 2);

	program.op[0][0].patient = true;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		rig_order(MAPLE_POLICY_RW, seed);
		rig_run(&program);
		assert_int_equal(rig.step[0], 2);
		assert_int_equal(rig.counts.early, 0);
	}
}

static void test_nobody_hurries_while_others_are_outside(void **state)
{
	struct rig_program program = waits(sleeper, 2);

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		rig_order(MAPLE_POLICY_RW, seed);
		rig.outside = true;
		rig_birth(&program);
		assert_false(maple_policy_waits(rig.p, MAPLE_POLICY_NOBODY));
		rig_go_on(maple_policy_fall(rig.p));
		assert_int_equal(rig.step[0], 2);
		/* Who is left waits for the machine's time. */
		assert_true(maple_policy_waits(rig.p, MAPLE_POLICY_NOBODY));
		rig.outside = false;
		assert_false(maple_policy_waits(rig.p, MAPLE_POLICY_NOBODY));
	}
}

/* How often it is asked who is outside while a thread does @n things in a row. */
static unsigned int asked(unsigned int n, uint32_t kind)
{
	struct rig_program program = waits(sleeper, 2);
	unsigned int sum = 0;

	program.nops[1] = n;
	for (unsigned int i = 0; i < n; i++)
		program.op[1][i] =
			(struct rig_op){ .site = 2 + i, .kind = kind };
	for (uint64_t seed = 0; seed < 1000; seed++) {
		rig_order(MAPLE_POLICY_RW, seed);
		rig.outside = true; /* nobody is early */
		rig_run(&program);
		sum += rig.asked;
	}
	return sum;
}

/* Only the kernel knows, and to ask it takes longer than all the rest. */
static void test_accesses_in_a_row_ask_rarely(void **state)
{
	unsigned int none = asked(1, MAPLE_EV_READ);
	unsigned int reads = asked(RIG_OPS, MAPLE_EV_READ) - none;
	unsigned int signals = asked(RIG_OPS, MAPLE_EV_SIGNAL) - none;

	assert_true(signals > 1000);
	assert_true(reads * 8 < signals);
}

static void test_whose_time_has_come_is_a_candidate(void **state)
{
	struct rig_program program = waits(sleeper, 2);
	unsigned int first = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		rig_order(MAPLE_POLICY_RW, seed);
		rig_birth(&program);
		maple_policy_pass(rig.p, SECOND);
		rig_finish();
		first += rig.step[0] == 1;
		assert_int_equal(rig.counts.early + rig.counts.jumps, 0);
		assert_int_equal(maple_policy_now(rig.p), SECOND + 1);
	}
	assert_true(chi_square(first, SEEDS / 2.) < CHI_1);
}

/* An entry of a thread that goes on itself: its wait there is over early. */
static const struct maple_policy_switch ends_it = {
	.what = MAPLE_POLICY_AT,
	.thread = 1,
	.next = 1,
	.site = 1,
	.hit = 2,
	.next_site = MAPLE_SITE_NONE,
};

/* Thread 1 does so while thread 2 has work. */
static const struct rig_program comes_to_a_wait = {
	.nthreads = 2,
	.nops = { 2, 1 },
	.op = { { { .site = 1 }, { .site = 1, .until = SECOND } },
		{ { .site = 2 } } },
};

/* ... by the first @n entries of @list; of the rig, outside is kept. */
static void follow(const struct rig_program *program,
		   const struct maple_policy_switch *list, uint32_t n, bool made)
{
	bool outside = rig.outside;

	rig_order(MAPLE_POLICY_LIST, 1)->made = made;
	rig.outside = outside;
	strcpy(rig.name[0].text, "0");
	strcpy(rig.name[1].text, "0.1");
	strcpy(rig.name[2].text, "0.2");
	rig.setup.name = rig.name;
	rig.setup.nnames = 3;
	rig.setup.list = list;
	rig.setup.nlist = n;
	rig_run(program);
}

static void test_a_list_lets_go_early_where_it_says_so(void **state)
{
	const unsigned int patient[] = { 1, 2, 1 }, early[] = { 1, 1, 2 };

	for (uint32_t n = 0; n < 2; n++) {
		follow(&comes_to_a_wait, &ends_it, n, false);
		assert_memory_equal(rig.step, n ? early : patient,
				    sizeof(early));
		assert_int_equal(rig.counts.followed, n);
		assert_int_equal(rig.counts.early, n);
		assert_int_equal(rig.counts.jumps, !n);
	}
	/* It is logged, so that the log replays as well. */
	for (uint32_t i = 0; i < rig.nlog; i++)
		if (rig.log[i].what == MAPLE_POLICY_AT &&
		    rig.log[i].thread == 1 && rig.log[i].next == 1 &&
		    rig.log[i].hit == 2)
			return;
	fail_msg("no entry of the early wait");
}

/* Nobody has seen yet that it may: not while others are waited for. */
static void test_a_list_that_was_made_hurries_nobody(void **state)
{
	const unsigned int patient[] = { 1, 2, 1 }, early[] = { 1, 1, 2 };

	for (unsigned int i = 0; i < 4; i++) {
		bool outside = i & 1, made = i & 2, holds = !(outside && made);

		rig_clear();
		rig.outside = outside;
		follow(&comes_to_a_wait, &ends_it, 1, made);
		assert_memory_equal(rig.step, holds ? early : patient,
				    sizeof(early));
		assert_int_equal(rig.counts.followed, holds);
		assert_int_equal(rig.counts.missed, !holds);
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
		cmocka_unit_test(test_time_jumps_to_the_next_end),
		cmocka_unit_test(test_one_wait_in_eight_may_be_over_early),
		cmocka_unit_test(test_who_is_patient_is_never_early),
		cmocka_unit_test(test_nobody_hurries_while_others_are_outside),
		cmocka_unit_test(test_accesses_in_a_row_ask_rarely),
		cmocka_unit_test(test_whose_time_has_come_is_a_candidate),
		cmocka_unit_test(test_a_list_lets_go_early_where_it_says_so),
		cmocka_unit_test(test_a_list_that_was_made_hurries_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
