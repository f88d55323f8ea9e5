// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The default strategy: whose turn it is, and what is a controlled run.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "strategy/auto/shares.h"
#include "study_rig.h"

#define N 3

static struct maple_share share[N];
static bool wants[N] = { true, true, true };

static void shares_of(double a, double b, double c)
{
	maple_share_init(&share[0], a);
	maple_share_init(&share[1], b);
	maple_share_init(&share[2], c);
}

/* @runs turns, of which those of @lucky bring news, and take @cost. */
static void take_turns(unsigned int runs, unsigned int lucky, double cost,
		       unsigned int *had)
{
	memset(had, 0, N * sizeof(*had));
	for (unsigned int i = 0; i < runs; i++) {
		unsigned int k = maple_shares_next(share, N, wants);

		assert_true(k < N && wants[k]);
		had[k]++;
		maple_shares_begun(share, N, k);
		maple_shares_ended(&share[k], k == lucky, k == lucky ? cost : 1);
	}
}

static void turns_go_by_weight(void **state)
{
	unsigned int had[N];

	shares_of(4, 2, 1);
	take_turns(7, N, 1, had);
	assert_int_equal(had[0], 4);
	assert_int_equal(had[1], 2);
	assert_int_equal(had[2], 1);
	take_turns(700, N, 1, had);
	assert_in_range(had[0], 390, 410);
	assert_in_range(had[1], 190, 210);
	assert_in_range(had[2], 90, 110);
}

static void news_bring_turns_and_nobody_is_left_out(void **state)
{
	unsigned int had[N];

	shares_of(1, 1, 1);
	take_turns(1200, 1, 1, had);
	assert_true(had[1] > 900);
	assert_true(had[0] > 80 && had[2] > 80);
	/* What was long ago counts no more. */
	take_turns(400, N, 1, had);
	take_turns(900, 2, 1, had);
	assert_true(had[2] > 600);
}

static void what_takes_long_has_fewer_turns(void **state)
{
	unsigned int had[N];

	shares_of(1, 1, 1);
	take_turns(200, N, 1, had); /* nobody is new any more */
	for (unsigned int i = 0; i < 3000; i++) {
		unsigned int k = maple_shares_next(share, N, wants);

		had[k] += i >= 1000;
		if (i == 999)
			memset(had, 0, sizeof(had));
		maple_shares_begun(share, N, k);
		maple_shares_ended(&share[k], false, k ? 1 : 20);
	}
	assert_in_range(had[0], 35, 65);
}

static void who_wanted_none_has_nothing_to_catch_up_on(void **state)
{
	unsigned int had[N];

	shares_of(1, 1, 1);
	wants[2] = false;
	take_turns(300, N, 1, had);
	assert_int_equal(had[2], 0);
	wants[2] = true;
	take_turns(30, N, 1, had);
	assert_in_range(had[2], 9, 15);
	for (unsigned int i = 0; i < N; i++)
		wants[i] = false;
	assert_int_equal(maple_shares_next(share, N, wants), N);
	for (unsigned int i = 0; i < N; i++)
		wants[i] = true;
}

static void what_draws_is_worth_its_weight(void **state)
{
	unsigned int had[N];

	shares_of(4, 4, 1);
	share[2].blind = true;
	take_turns(900, 0, 1, had);
	assert_in_range(had[0], 550, 700);
	assert_in_range(had[2], 130, 190);
	/* Without news the others' 4 are worth some 0.6 each. */
	take_turns(200, N, 1, had);
	take_turns(900, N, 1, had);
	assert_in_range(had[2], 380, 460);
}

/* ---- the strategy ---- */

static const struct maple_strategy *s;
static struct maple_error err;
static struct maple_job job;
static void *self;

static void open_auto(void)
{
	s = maple_strategy_find(NULL);
	assert_string_equal(s->name, "auto");
	study.registry = maple_registry_create();
	assert_non_null(study.registry);
	assert_int_equal(s->open(s, &study, &self, &err), 0);
}

static void close_auto(void)
{
	s->close(self);
	maple_registry_destroy(study.registry);
	options = (struct maple_campaign_options){ 0 };
	study.native = study.native_cpu = 0;
	study.controls = true;
}

static const char *ask(uint64_t seed)
{
	int e = -1;

	job = (struct maple_job){ .seed = seed };
	assert_int_equal(s->next(self, &job, &err, &e), MAPLE_NEXT_RUN);
	assert_int_equal(e, 0);
	return s->parts[job.part];
}

/* The program was not there: nothing is learned. */
static void nothing_came_of_it(double seconds)
{
	struct maple_run run = { .delivered = true, .seconds = seconds };
	struct maple_job_end end = { .run = &run, .absent = true };

	assert_int_equal(s->ended(self, &job, &end, &err), 0);
	assert_null(job.own);
	maple_switches_deinit(&job.switches);
	free(job.alone);
	free(job.expected.name);
	free(job.expected.weight);
}

static void the_first_run_teaches_all_of_them(void **state)
{
	open_auto();
	assert_string_equal(ask(1), "rank");
	assert_int_equal(job.kind, MAPLE_RUN_CONTROL);
	assert_int_equal(job.policy.policy, MAPLE_POLICY_LIST);
	assert_int_equal(job.policy.base, MAPLE_POLICY_OLDEST);
	assert_int_equal(job.switches.n, 0);
	assert_true(job.hold > 0);
	nothing_came_of_it(0.01);
	assert_string_equal(ask(2), "maple");
	assert_int_equal(job.kind, MAPLE_RUN_PROFILE);
	assert_true(job.hold > 0.2);
	nothing_came_of_it(0.01);
	close_auto();
}

/* The first run of one that takes long is not let go before anything is known. */
static void what_runs_take_is_known_after_one(void **state)
{
	study.native = 100;
	open_auto();
	assert_string_equal(ask(1), "maple");
	assert_true(job.hold == 0);
	nothing_came_of_it(200);
	assert_string_equal(ask(2), "maple");
	assert_true(job.hold > 200);
	nothing_came_of_it(200);
	close_auto();
}

/*
 * Then runs of maple, with pcr's between them, of rank, and then turns by worth.
 * Where no run was there, pcr has none, and rank no more than its two bases.
 */
static void the_first_runs_are_those_that_find_most(void **state)
{
	static const char *const whose[] = { "rank",  "maple", "maple", "maple",
					     "maple", "rank",  "pos" };

	open_auto();
	for (unsigned int i = 0; i < sizeof(whose) / sizeof(*whose); i++) {
		assert_string_equal(ask(i), whose[i]);
		if (job.policy.policy == MAPLE_POLICY_LIST)
			assert_int_equal(job.policy.base,
					 i ? MAPLE_POLICY_YOUNGEST
					   : MAPLE_POLICY_OLDEST);
		nothing_came_of_it(0.01);
	}
	close_auto();
}

static void a_program_that_does_much_is_controlled_last(void **state)
{
	unsigned int before = 0;

	study.native = 1;
	open_auto();
	for (unsigned int i = 0; i < 20; i++) {
		ask(i);
		if (job.kind == MAPLE_RUN_CONTROL)
			assert_true(job.idle);
		else
			before += !job.idle;
		nothing_came_of_it(1);
	}
	assert_int_equal(before, 3); /* dry profile runs */
	close_auto();
}

/* In a controlled run nobody waits for time to pass, unless it is to. */
static void a_program_that_waits_is_a_short_one(void **state)
{
	for (int real = 0; real < 2; real++) {
		study.native = 1;
		study.native_cpu = 0.001;
		options.real_time = real != 0;
		open_auto();
		assert_string_equal(ask(1), real ? "maple" : "rank");
		nothing_came_of_it(1);
		close_auto();
	}
}

static void where_no_run_can_be_controlled_none_is(void **state)
{
	for (int paper = 0; paper < 2; paper++) {
		study.controls = paper;
		options.order = paper ? MAPLE_ORDER_PAPER : MAPLE_ORDER_RANKED;
		open_auto();
		for (unsigned int i = 0; i < 20; i++) {
			assert_string_equal(ask(i), "maple");
			assert_int_equal(job.kind, MAPLE_RUN_PROFILE);
			assert_int_equal(job.idle, i >= 3);
			assert_int_equal(job.wanted, 0);
			nothing_came_of_it(0.01);
		}
		close_auto();
	}
}

/* Nothing is left to enforce: all that draw have runs, 1,000 in all. */
static void all_of_them_look_for_news(void **state)
{
	unsigned int had[16] = { 0 }, controlled = 0, wanted = 0;

	open_auto();
	for (unsigned int i = 0; i < 2000; i++) {
		ask(i);
		had[job.part]++;
		controlled += job.kind == MAPLE_RUN_CONTROL;
		if (job.idle)
			wanted = job.wanted;
		nothing_came_of_it(0.01);
		if (job.idle && controlled < 1000)
			assert_true(wanted > 0);
	}
	assert_int_equal(wanted, 0);
	for (unsigned int i = 0; s->parts[i]; i++) {
		/* They know no pattern, and nothing that crosses. */
		if (!strcmp(s->parts[i], "pcr") || !strcmp(s->parts[i], "meet"))
			assert_int_equal(had[i], 0);
		else if (!strcmp(s->parts[i], "rank"))
			assert_int_equal(had[i],
					 2); /* the two that it begins with */
		else
			assert_true(had[i] > 50);
	}
	close_auto();
}

static void a_run_that_was_cut_short_is_forgotten(void **state)
{
	open_auto();
	for (unsigned int i = 0; i < 100; i++) {
		ask(i);
		s->drop(self, &job);
		assert_null(job.own);
		maple_switches_deinit(&job.switches);
		free(job.alone);
		free(job.expected.name);
		free(job.expected.weight);
	}
	close_auto();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns_go_by_weight),
		cmocka_unit_test(news_bring_turns_and_nobody_is_left_out),
		cmocka_unit_test(what_takes_long_has_fewer_turns),
		cmocka_unit_test(who_wanted_none_has_nothing_to_catch_up_on),
		cmocka_unit_test(what_draws_is_worth_its_weight),
		cmocka_unit_test(the_first_run_teaches_all_of_them),
		cmocka_unit_test(what_runs_take_is_known_after_one),
		cmocka_unit_test(the_first_runs_are_those_that_find_most),
		cmocka_unit_test(a_program_that_does_much_is_controlled_last),
		cmocka_unit_test(a_program_that_waits_is_a_short_one),
		cmocka_unit_test(where_no_run_can_be_controlled_none_is),
		cmocka_unit_test(all_of_them_look_for_news),
		cmocka_unit_test(a_run_that_was_cut_short_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
