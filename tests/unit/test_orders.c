// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which orders of two sites follow from goals that runs have exposed, and from
 * findings: those of their dependencies, and no others.
 *
 * It runs no program under orders, so that neighbours do not disturb it.
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "campaign/reach/orders.h"

static void take(struct maple_orders *o, const char *text)
{
	json_t *goal = json_loads(text, 0, NULL);

	assert_non_null(goal);
	assert_int_equal(maple_orders_take(o, goal), 0);
	json_decref(goal);
}

static struct maple_orders orders_of(const char *text)
{
	struct maple_orders o = { 0 };

	take(&o, text);
	maple_orders_sort(&o);
	return o;
}

/* @want: "ab" is a before b; all others of the sites 1 to 4 are in none. */
static void tells(const char *goal, const char *want)
{
	struct maple_orders o = orders_of(goal);

	for (uint32_t a = 1; a <= 4; a++)
		for (uint32_t b = 1; b <= 4; b++) {
			bool there = false;

			for (const char *w = want; *w; w += 2)
				there |= w[0] - '0' == (int)a &&
					 w[1] - '0' == (int)b;
			if (there != (maple_orders_seen(&o, a, b) &
				      MAPLE_ORDERS_FORWARD))
				fail_msg("%s: %u before %u", goal, a, b);
		}
	maple_orders_deinit(&o);
}

#define GOAL(class, sites) "{\"class\":\"" class "\",\"forced\":[" sites "]}"

static void dependencies_are_orders(void **state)
{
	tells(GOAL("idiom 1", "2,1"), "21");
	tells(GOAL("idiom 2", "1,2,3"), "1223");
	tells(GOAL("idiom 3", "1,2,3,4"), "1234");
	tells(GOAL("idiom 4", "1,2,3,4"), "1234");
	tells(GOAL("idiom 5", "1,2,3,4"), "1234");
	tells(GOAL("idiom 6", "1,2,3,4"), "1234");
	/* As the steps of a pattern go, x and y taking turns or not. */
	tells(GOAL("pattern 3", "1,2"), "12");
	tells(GOAL("pattern 7", "1,2,3"), "1223");
	tells(GOAL("pattern 9", "1,2,3,4"), "1234");
	tells(GOAL("pattern 10", "1,2,3,4"), "1324");
	tells(GOAL("pattern 16", "1,2,3,4"), "1423");
}

static void what_is_of_no_site_of_ours_is_left_out(void **state)
{
	tells(GOAL("idiom 2", "1,-1,3"), "");
	tells(GOAL("idiom 3", "-1,2,3,4"), "34");
	tells(GOAL("idiom 1", "1,4294967296"), "");
}

static void what_is_no_goal_tells_nothing(void **state)
{
	tells(GOAL("deadlock", "1,2,3,4"), "");
	tells(GOAL("sorrow", "1,2"), "");
	tells(GOAL("pattern 20", "1,2"), "");
	tells(GOAL("idiom 1", "1,2,3"), "");
	tells(GOAL("idiom 1", ""), "");
	tells("{\"forced\":[1,2]}", "");
	tells("{\"class\":\"idiom 1\"}", "");
	tells("[1]", "");
}

static void both_orders_take_two_goals(void **state)
{
	struct maple_orders o = { 0 };

	take(&o, GOAL("idiom 1", "1,2"));
	take(&o, GOAL("idiom 1", "3,4"));
	take(&o, GOAL("idiom 2", "2,1,7"));
	take(&o, GOAL("idiom 1", "5,5"));
	maple_orders_sort(&o);
	assert_int_equal(maple_orders_seen(&o, 1, 2), MAPLE_ORDERS_BOTH);
	assert_int_equal(maple_orders_seen(&o, 2, 1), MAPLE_ORDERS_BOTH);
	assert_int_equal(maple_orders_seen(&o, 4, 3), MAPLE_ORDERS_BACKWARD);
	assert_int_equal(maple_orders_seen(&o, 1, 7), MAPLE_ORDERS_FORWARD);
	assert_int_equal(maple_orders_seen(&o, 5, 5), MAPLE_ORDERS_BOTH);
	assert_int_equal(maple_orders_seen(&o, 1, 3), 0);
	assert_int_equal(o.nexecuted, 9);
	maple_orders_deinit(&o);
}

#define FOUND(moments) "{\"found\":[" moments "]}"

static void of_a_finding_each_moment_says_what_it_follows(void **state)
{
	struct maple_orders o;

	tells(FOUND("[0,-1,\"0x1\"],[1,0,\"0x2\"],[2,1,\"0x3\"]"), "1223");
	tells(FOUND("[1,0,\"0x2\"],[0,-1,\"0x1\"]"), "12");
	tells(FOUND("[0,-1,null],[1,0,\"0x2\"]"), "");
	tells(FOUND("[0,-1,\"0x1\"],[1,7,\"0x2\"],[1,null,\"0x2\"]"), "");
	tells(FOUND("[0,-1,\"0x1\"],[1,0,\"0x2 \"],[1,0,\"0x100000002\"]"), "");
	tells(FOUND("0,[],{}"), "");
	o = orders_of(FOUND("[0,-1,\"0x1\"],[1,0,null]"));
	assert_int_equal(o.nexecuted, 1);
	maple_orders_deinit(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dependencies_are_orders),
		cmocka_unit_test(what_is_of_no_site_of_ours_is_left_out),
		cmocka_unit_test(what_is_no_goal_tells_nothing),
		cmocka_unit_test(of_a_finding_each_moment_says_what_it_follows),
		cmocka_unit_test(both_orders_take_two_goals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
