// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Schedules: copied, and shortened by an oracle that knows what it takes.
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
#include "strategy/switches.h"

#define NEEDED 8

/* Fails if all that it takes is there, in so many runs at most. */
struct oracle {
	uint32_t hit[NEEDED]; /* entries by their hits */
	unsigned int n, runs, most;
	unsigned int unsteady; /* one run in so many says no */
};

static bool has(const struct maple_switches *list, uint32_t hit)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (list->entry[i].hit == hit)
			return true;
	return false;
}

static bool fails(void *ctx, const struct maple_switches *list)
{
	struct oracle *o = ctx;

	o->runs++;
	if (o->unsteady && o->runs % o->unsteady == 0)
		return false;
	for (unsigned int i = 0; i < o->n; i++)
		if (!has(list, o->hit[i]))
			return false;
	return true;
}

static bool may_go_on(void *ctx)
{
	const struct oracle *o = ctx;

	return o->runs < o->most;
}

/* @n switches, to and fro between two threads. */
static struct maple_switches make(uint32_t n)
{
	struct maple_switches s = {
		.n = n,
		.nnames = 3,
		.entry = calloc(n + 1, sizeof(*s.entry)),
		.name = calloc(3, sizeof(*s.name)),
	};

	assert_non_null(s.entry);
	assert_non_null(s.name);
	for (uint32_t i = 0; i < n; i++) {
		s.entry[i].thread = i % 2;
		s.entry[i].next = 1 - i % 2;
		s.entry[i].hit = i + 1;
	}
	return s;
}

static void what_it_takes_is_left(void **state)
{
	static const struct oracle oracles[] = {
		{ { 1 }, 1 },	   { { 200 }, 1 },
		{ { 77, 78 }, 2 }, { { 3, 100, 199 }, 3 },
		{ { 0 }, 0 },	   { { 9, 60, 61, 150, 151, 190 }, 6 },
	};

	for (size_t i = 0; i < sizeof(oracles) / sizeof(*oracles); i++) {
		struct maple_switches s = make(200);
		struct oracle o = oracles[i];

		o.most = 1000;
		assert_int_equal(
			maple_switches_shorten(&s, fails, may_go_on, &o), 0);
		assert_int_equal(s.n, o.n);
		for (unsigned int k = 0; k < o.n; k++)
			assert_int_equal(s.entry[k].hit, o.hit[k]);
		maple_switches_deinit(&s);
	}
}

static void one_of_two_hundred_takes_few_runs(void **state)
{
	for (uint32_t hit = 1; hit <= 200; hit++) {
		struct maple_switches s = make(200);
		struct oracle o = { { hit }, 1, .most = 1000 };

		assert_int_equal(
			maple_switches_shorten(&s, fails, may_go_on, &o), 0);
		assert_int_equal(s.n, 1);
		assert_in_range(o.runs, 1, 25);
		maple_switches_deinit(&s);
	}
}

static void a_limit_is_kept_and_what_is_left_fails(void **state)
{
	for (unsigned int most = 0; most < 60; most++) {
		struct maple_switches s = make(200);
		struct oracle o = { { 3, 100, 199 }, 3, .most = most };

		assert_int_equal(
			maple_switches_shorten(&s, fails, may_go_on, &o), 0);
		assert_in_range(o.runs, 0, most);
		assert_true(fails(&o, &s));
		maple_switches_deinit(&s);
	}
}

/* Who says no now and then costs entries, and never what it takes. */
static void an_unsteady_failure_is_never_lost(void **state)
{
	struct maple_switches s = make(200);
	struct oracle o = { { 3, 100 }, 2, .most = 1000, .unsteady = 10 };

	assert_int_equal(maple_switches_shorten(&s, fails, may_go_on, &o), 0);
	o.unsteady = 0;
	assert_true(fails(&o, &s));
	assert_in_range(s.n, 2, 4);
	maple_switches_deinit(&s);
}

/* Fails when thread 0 gives way to thread 2, be it by way of 1. */
static bool reaches_two(void *ctx, const struct maple_switches *list)
{
	uint16_t at = 0;

	for (uint32_t i = 0; i < list->n; i++)
		if (list->entry[i].thread == at)
			at = list->entry[i].next;
	return at == 2;
}

static bool always(void *ctx)
{
	return true;
}

static void a_detour_goes(void **state)
{
	struct maple_switches s = make(2);

	s.entry[1].next = 2; /* 0 to 1, 1 to 2 */
	assert_int_equal(maple_switches_shorten(&s, reaches_two, always, NULL),
			 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.entry[0].thread, 0);
	assert_int_equal(s.entry[0].next, 2);
	maple_switches_deinit(&s);
}

/* Fails when who goes first, 1 unless it is said, gives way to 3 - it, or so. */
static bool gives_way(void *ctx, const struct maple_switches *list)
{
	uint16_t first = 1;

	for (uint32_t i = 0; i < list->n; i++)
		if (list->entry[i].what == MAPLE_POLICY_BLOCKED)
			first = list->entry[i].next;
	for (uint32_t i = 0; i < list->n; i++)
		if (list->entry[i].what == MAPLE_POLICY_AT &&
		    list->entry[i].thread == first &&
		    list->entry[i].next == 3 - first)
			return true;
	return false;
}

/* Threads that do the same change places, and nobody has to go first. */
static void who_goes_first_goes(void **state)
{
	struct maple_switches s = make(2);

	s.nnames = 3;
	s.name = realloc(s.name, 3 * sizeof(*s.name));
	memset(s.name, 0, 3 * sizeof(*s.name));
	s.entry[0] = (struct maple_policy_switch){
		.thread = 0, .next = 2, .what = MAPLE_POLICY_BLOCKED
	};
	s.entry[1] = (struct maple_policy_switch){ .thread = 2, .next = 1 };
	assert_true(gives_way(NULL, &s));
	assert_int_equal(maple_switches_shorten(&s, gives_way, always, NULL), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.entry[0].thread, 1);
	assert_int_equal(s.entry[0].next, 2);
	maple_switches_deinit(&s);
}

static void the_last_choice_is_the_control(void **state)
{
	struct maple_switches s = make(3), copy;

	s.entry[2].what = MAPLE_POLICY_ARRIVED;
	assert_int_equal(maple_switches_copy(&copy, &s), 0);
	maple_switches_drop_last(&s);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.entry[0].hit, 1);
	assert_int_equal(s.entry[1].hit, 3);
	/* The copy is another one's. */
	assert_int_equal(copy.n, 3);
	assert_int_equal(copy.entry[1].hit, 2);
	maple_switches_drop_last(&s);
	maple_switches_drop_last(&s);
	assert_int_equal(s.n, 1);
	maple_switches_deinit(&s);
	maple_switches_deinit(&copy);
	maple_switches_deinit(&copy);
}

/* Who goes on where a thread waits may have been the only one. */
static void a_preemption_is_the_control_before_all_else(void **state)
{
	struct maple_switches s = make(3);

	s.entry[1].what = s.entry[2].what = MAPLE_POLICY_BLOCKED;
	maple_switches_drop_last(&s);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.entry[0].hit, 2);
	maple_switches_drop_last(&s);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.entry[0].hit, 2);
	maple_switches_deinit(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_takes_is_left),
		cmocka_unit_test(one_of_two_hundred_takes_few_runs),
		cmocka_unit_test(a_limit_is_kept_and_what_is_left_fails),
		cmocka_unit_test(an_unsteady_failure_is_never_lost),
		cmocka_unit_test(a_detour_goes),
		cmocka_unit_test(who_goes_first_goes),
		cmocka_unit_test(the_last_choice_is_the_control),
		cmocka_unit_test(a_preemption_is_the_control_before_all_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
