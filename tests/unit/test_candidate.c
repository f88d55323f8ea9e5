// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which candidate is forced next, and what is known of it.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "strategy/maple/candidate.h"
#include "strategy/maple/choice.h"
#include "strategy/maple/classes.h"
#include "strategy/maple/estimate.h"
#include "strategy/maple/maple.h"

static const struct maple_choice_limits ranked = { MAPLE_ORDER_RANKED, 4, 6 };
static const struct maple_choice_limits paper = { MAPLE_ORDER_PAPER, 2, 6 };

static struct maple_candidate *add(struct maple_candidates *all,
				   unsigned int idiom, uint32_t a, uint32_t b)
{
	struct maple_iroot iroot = { .idiom = idiom };
	struct maple_candidate *c;

	iroot.e[0] = (struct maple_iroot_event){ a, MAPLE_EV_WRITE };
	iroot.e[1] = (struct maple_iroot_event){ b, MAPLE_EV_READ };
	c = maple_candidate_get(all, &iroot);
	assert_non_null(c);
	c->predicted = c->facts_known = true;
	return c;
}

static void one_candidate_an_iroot(void **state)
{
	struct maple_candidates all = { 0 };
	struct maple_candidate *c = add(&all, 1, 1, 2);

	assert_ptr_equal(add(&all, 1, 1, 2), c);
	assert_ptr_not_equal(add(&all, 1, 2, 1), c);
	assert_int_equal(all.n, 2);
	maple_candidate_destroy(&all);
}

static uint64_t left_of(struct maple_candidates *all,
			const struct maple_choice_limits *limits)
{
	struct maple_coverage coverage;
	uint64_t left;

	assert_int_equal(maple_coverage_init(&coverage, maple_classes), 0);
	maple_choice_count(all, limits, &coverage);
	left = maple_coverage_sum(&coverage).left;
	maple_coverage_deinit(&coverage);
	return left;
}

static void limits_are_kept(void **state)
{
	struct maple_candidates all = { 0 };
	struct maple_candidate *c = add(&all, 1, 1, 2);

	assert_int_equal(left_of(&all, &ranked), 1);
	c->attempts = 4;
	assert_int_equal(left_of(&all, &ranked), 0);
	assert_null(maple_choice_next(&all, &ranked));
	c->attempts = 0;
	c->failed = 6;
	assert_null(maple_choice_next(&all, &ranked));
	c->failed = 5;
	assert_ptr_equal(maple_choice_next(&all, &ranked), c);
	maple_candidate_exposed(&all, c);
	assert_null(maple_choice_next(&all, &ranked));
	c->exposed = false;
	c->predicted = false;
	assert_null(maple_choice_next(&all, &ranked));
	maple_candidate_destroy(&all);
}

static void exposed_ones_come_again(void **state)
{
	struct maple_candidates all = { 0 };
	struct maple_candidate *one = add(&all, 1, 1, 2);
	struct maple_candidate *two = add(&all, 1, 3, 4);

	one->goal.row = two->goal.row = 1;
	two->score = 9;
	assert_null(maple_choice_again(&all, &ranked));
	maple_candidate_exposed(&all, one);
	assert_ptr_equal(maple_choice_again(&all, &ranked), one);
	/* The most promising, but all others before any a second time. */
	maple_candidate_exposed(&all, two);
	assert_ptr_equal(maple_choice_again(&all, &ranked), two);
	two->looks = 1;
	assert_ptr_equal(maple_choice_again(&all, &ranked), one);
	one->looks = 1;
	assert_ptr_equal(maple_choice_again(&all, &ranked), two);
	/* What a finding is about, is under way, or cannot be planned. */
	two->goal.found = true;
	assert_ptr_equal(maple_choice_again(&all, &ranked), one);
	one->busy = true;
	assert_null(maple_choice_again(&all, &ranked));
	one->busy = false;
	one->facts_known = false;
	assert_null(maple_choice_again(&all, &ranked));
	maple_candidate_destroy(&all);
}

static void a_missed_look_comes_again_once(void **state)
{
	struct maple_candidates all = { 0 };
	struct maple_candidate *one = add(&all, 1, 1, 2);
	struct maple_candidate *two = add(&all, 1, 3, 4);

	one->goal.row = two->goal.row = 1;
	two->score = 9;
	maple_candidate_exposed(&all, one);
	maple_candidate_exposed(&all, two);
	one->looks = 1; /* the first is begun */
	maple_choice_looked(one, true);
	assert_int_equal(one->looks, 0);
	assert_ptr_equal(maple_choice_again(&all, &ranked), one);
	one->looks++;
	maple_choice_looked(one, true);
	assert_int_equal(one->looks, 1);
	assert_ptr_equal(maple_choice_again(&all, &ranked), two);
	two->looks++;
	maple_choice_looked(two, false);
	assert_int_equal(two->looks, 1);
	/* The next look may be missed once as well. */
	one->looks++;
	maple_choice_looked(one, true);
	assert_int_equal(one->looks, 1);
	assert_ptr_equal(maple_choice_again(&all, &ranked), one);
	maple_candidate_destroy(&all);
}

static void none_is_tried_twice_at_once(void **state)
{
	struct maple_candidates all = { 0 };
	struct maple_candidate *one = add(&all, 1, 1, 2);
	struct maple_candidate *two = add(&all, 1, 3, 4);
	struct maple_candidate *first = maple_choice_next(&all, &ranked);

	first->busy = true;
	assert_ptr_equal(maple_choice_next(&all, &ranked),
			 first == one ? two : one);
	one->busy = two->busy = true;
	assert_null(maple_choice_next(&all, &ranked));
	/* But they are not done. */
	assert_int_equal(left_of(&all, &ranked), 2);
	maple_candidate_destroy(&all);
}

static void ranked_tries_each_once_first(void **state)
{
	struct maple_candidates all = { 0 };
	struct maple_candidate *low = add(&all, 1, 1, 2);
	struct maple_candidate *high = add(&all, 1, 3, 4);

	low->score = 1;
	high->score = 9;
	assert_ptr_equal(maple_choice_next(&all, &ranked), high);
	high->attempts = 1;
	assert_ptr_equal(maple_choice_next(&all, &ranked), low);
	maple_candidate_destroy(&all);
}

static void paper_goes_by_idiom_then_application(void **state)
{
	struct maple_candidates all = { 0 };
	struct maple_candidate *two = add(&all, 2, 1, 2);
	struct maple_candidate *library = add(&all, 1, 3, 4);
	struct maple_candidate *own = add(&all, 1, 5, 6);

	own->application = true;
	own->attempts = 1;
	assert_ptr_equal(maple_choice_next(&all, &paper), own);
	own->attempts = 2;
	assert_ptr_equal(maple_choice_next(&all, &paper), library);
	library->attempts = 2;
	assert_ptr_equal(maple_choice_next(&all, &paper), two);
	maple_candidate_destroy(&all);
}

/* Idiom 1 has four turns, idiom 2 three, as the table of weights says. */
static void ranked_takes_turns_over_idioms(void **state)
{
	struct maple_candidates all = { 0 };
	unsigned int turns[3] = { 0 };
	int i;

	add(&all, 1, 1, 2);
	add(&all, 2, 5, 6); /* of other parts */
	for (i = 0; i < 70; i++)
		turns[maple_choice_next(&all, &ranked)->iroot.idiom]++;
	assert_int_equal(turns[1], 40);
	assert_int_equal(turns[2], 30);
	maple_candidate_destroy(&all);
}

static void ranked_tries_all_once_before_any_twice(void **state)
{
	struct maple_candidates all = { 0 };
	struct maple_candidate *one = add(&all, 1, 1, 2);
	struct maple_candidate *two = add(&all, 2, 5, 6);

	one->attempts = 1;
	for (int i = 0; i < 9; i++)
		assert_ptr_equal(maple_choice_next(&all, &ranked), two);
	two->attempts = 2;
	assert_ptr_equal(maple_choice_next(&all, &ranked), one);
	maple_candidate_destroy(&all);
}

static void failed(struct maple_candidates *all, struct maple_candidate *c)
{
	c->attempts = 4;
	maple_estimate_tried(all, c, true, false);
}

/* Against what the program orders: last, and tried all the same. */
static void against_comes_last(void **state)
{
	struct maple_candidates all = { 0 };
	struct maple_candidate *high = add(&all, 1, 1, 2);
	struct maple_candidate *low = add(&all, 2, 3, 4);

	high->score = 9;
	high->facts.against = MAPLE_AGAINST;
	assert_int_equal(left_of(&all, &ranked), 2);
	assert_int_equal(maple_choice_fresh(&all, &ranked), 1);
	assert_int_equal(maple_choice_fresh(&all, &paper), 2);
	assert_ptr_equal(maple_choice_next(&all, &paper), high);
	assert_ptr_equal(maple_choice_next(&all, &ranked), low);
	low->attempts = 4;
	assert_ptr_equal(maple_choice_next(&all, &ranked), high);
	/* One that succeeds speaks for the others. */
	maple_estimate_tried(&all, high, true, true);
	assert_int_equal(maple_choice_fresh(&all, &ranked), 1);
	maple_candidate_destroy(&all);
}

/* What is of a server's start-up comes after all else. */
static void startup_rests(void **state)
{
	struct maple_candidates all = { 0 };
	struct maple_candidate *startup = add(&all, 1, 1, 2);
	struct maple_candidate *other = add(&all, 1, 3, 4);

	startup->score = 9;
	startup->facts.startup = true;
	assert_int_equal(left_of(&all, &ranked), 2);
	assert_ptr_equal(maple_choice_next(&all, &paper), startup);
	assert_ptr_equal(maple_choice_next(&all, &ranked), other);
	other->attempts = 4;
	assert_ptr_equal(maple_choice_next(&all, &ranked), startup);
	maple_candidate_destroy(&all);
}

static void startup_of_a_driven_server_is_left_out(void **state)
{
	struct maple_campaign_options options = { .between = "true" };
	struct maple_choice_limits serving = maple_choice_limits_of(&options);
	struct maple_choice_limits whole;
	struct maple_candidates all = { 0 };
	struct maple_candidate *c = add(&all, 1, 1, 2);

	options.whole = true;
	whole = maple_choice_limits_of(&options);
	c->goal.row = 1;
	assert_int_equal(maple_choice_startup(&all, &serving), 0);
	c->facts.startup = true;
	assert_null(maple_choice_next(&all, &serving));
	assert_int_equal(left_of(&all, &serving), 0);
	assert_int_equal(maple_choice_startup(&all, &serving), 1);
	assert_ptr_equal(maple_choice_next(&all, &whole), c);
	assert_int_equal(left_of(&all, &whole), 1);
	assert_int_equal(maple_choice_startup(&all, &whole), 0);
	maple_candidate_exposed(&all, c);
	assert_null(maple_choice_again(&all, &serving));
	assert_ptr_equal(maple_choice_again(&all, &whole), c);
	maple_candidate_destroy(&all);
}

/* A site rests after three failures, a class after five. */
static void failures_put_to_rest(void **state)
{
	struct maple_candidates all = { 0 };
	struct maple_candidate *site = add(&all, 1, 1, 99);
	struct maple_candidate *class = add(&all, 1, 100, 101);
	struct maple_candidate *other = add(&all, 1, 102, 103);
	uint32_t i;

	site->score = 9;
	class->score = 8;
	other->facts.disjoint = true;
	for (i = 0; i < 3; i++) {
		assert_ptr_equal(maple_choice_next(&all, &ranked), site);
		failed(&all, add(&all, 1, 1, 10 + i));
	}
	for (; i < 5; i++) {
		assert_ptr_equal(maple_choice_next(&all, &ranked), class);
		failed(&all, add(&all, 1, 20 + i, 30 + i));
	}
	assert_ptr_equal(maple_choice_next(&all, &ranked), other);
	assert_int_equal(left_of(&all, &ranked), 3);
	assert_int_equal(maple_choice_fresh(&all, &ranked), 1);
	maple_estimate_tried(&all, class, true, true);
	assert_int_equal(maple_choice_fresh(&all, &ranked), 2);
	other->attempts = 4;
	maple_candidate_exposed(&all, class);
	assert_ptr_equal(maple_choice_next(&all, &ranked), site);
	maple_candidate_destroy(&all);
}

/* The whole waits for its parts, and goes with them. */
static void whole_waits_for_its_parts(void **state)
{
	struct maple_candidates all = { 0 };
	struct maple_iroot iroot = { .idiom = MAPLE_IDIOM_3 };
	struct maple_candidate *one = add(&all, 1, 1, 2);
	struct maple_candidate *two = add(&all, 1, 3, 4);
	struct maple_candidate *whole;
	int i;

	for (i = 0; i < 4; i++)
		iroot.e[i] = (struct maple_iroot_event){
			i + 1, i % 2 ? MAPLE_EV_READ : MAPLE_EV_WRITE
		};
	whole = maple_candidate_get(&all, &iroot);
	whole->predicted = whole->facts_known = true;
	assert_int_equal(left_of(&all, &ranked), 3);
	assert_int_equal(left_of(&all, &paper), 3);
	one->attempts = 4; /* it is tried no more, nor is the whole */
	assert_int_equal(left_of(&all, &ranked), 1);
	assert_int_equal(left_of(&all, &paper), 2);
	one->attempts = 0;
	maple_candidate_exposed(&all, one);
	assert_ptr_equal(maple_choice_next(&all, &ranked), two);
	maple_candidate_exposed(&all, two);
	assert_ptr_equal(maple_choice_next(&all, &ranked), whole);
	two->exposed = false;
	two->attempts = 4;
	assert_null(maple_choice_next(&all, &ranked));
	assert_ptr_equal(maple_choice_next(&all, &paper), whole);
	maple_candidate_destroy(&all);
}

static void plan_has_what_profiling_saw(void **state)
{
	struct maple_candidates all = { 0 };
	struct maple_candidate *c = add(&all, 1, 11, 22);
	struct maple_plan plan;

	strcpy(c->name[0], "0.1");
	strcpy(c->name[1], "0.2");
	c->facts.e[0].ngates = 1;
	c->facts.e[0].gate[0] = MAPLE_SITE_CALL | 7;
	c->facts.e[1].occurrence = 49;
	c->guard[0] = 11; /* a step is no guard */
	c->guard[1] = 33;
	c->nguards = 2;
	assert_int_equal(maple_candidate_plan(c, 1, false, 5, &plan), 0);
	assert_true(maple_plan_valid(&plan));
	assert_int_equal(plan.nsteps, 2);
	assert_string_equal(plan.hint[plan.step[0].role], "0.1");
	assert_string_equal(plan.hint[plan.step[1].role], "0.2");
	assert_int_equal(plan.step[0].gate[0], MAPLE_SITE_CALL | 7);
	assert_int_equal(plan.step[1].occurrence, 50); /* from 1 */
	assert_int_equal(plan.nguards, 1);
	assert_int_equal(plan.guard[0], 33);
	maple_candidate_destroy(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_candidate_an_iroot),
		cmocka_unit_test(limits_are_kept),
		cmocka_unit_test(exposed_ones_come_again),
		cmocka_unit_test(a_missed_look_comes_again_once),
		cmocka_unit_test(none_is_tried_twice_at_once),
		cmocka_unit_test(ranked_tries_each_once_first),
		cmocka_unit_test(paper_goes_by_idiom_then_application),
		cmocka_unit_test(ranked_takes_turns_over_idioms),
		cmocka_unit_test(ranked_tries_all_once_before_any_twice),
		cmocka_unit_test(against_comes_last),
		cmocka_unit_test(startup_rests),
		cmocka_unit_test(startup_of_a_driven_server_is_left_out),
		cmocka_unit_test(failures_put_to_rest),
		cmocka_unit_test(whole_waits_for_its_parts),
		cmocka_unit_test(plan_has_what_profiling_saw),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
