// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which failures are one finding: campaign/findings.c.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "campaign/internal.h"

static struct maple_campaign_options options;
static struct maple_strategy strategy = { .forces = true };
static struct maple_campaign campaign = { .options = &options,
					  .strategy = &strategy };
static struct maple_moment moments[2];
static struct maple_frame frames[2][2];
static struct maple_stack stacks[2][2];
static struct maple_finding one, two;

/* Two aborts at one place: the first has an order, the second has none. */
static int set_up(void **state)
{
	struct maple_finding *of[] = { &one, &two };

	memset(&options, 0, sizeof(options));
	memset(moments, 0, sizeof(moments));
	memset(stacks, 0, sizeof(stacks));
	for (int i = 0; i < 2; i++) {
		frames[i][0].place.offset = 0x100;
		frames[i][1].place.offset = 0x200;
		stacks[i][1] = (struct maple_stack){ .failed = true,
						     .nframes = 2,
						     .frames = frames[i] };
		*of[i] = (struct maple_finding){
			.kind = MAPLE_FAILURE_SIGNAL,
			.signo = SIGABRT,
			.nstacks = 2,
			.stacks = stacks[i],
		};
	}
	one.class = "idiom 1";
	return 0;
}

static bool are_one(void)
{
	return maple_findings_are_one(&campaign, &one, &two);
}

static void test_place(void **state)
{
	assert_true(are_one());
	frames[1][1].place.offset++; /* called from elsewhere */
	assert_false(are_one());
}

static void test_depth(void **state)
{
	stacks[1][1].nframes--;
	assert_false(are_one());
	two.nstacks = 0; /* nothing is known of it */
	assert_false(are_one());
}

static void test_failure(void **state)
{
	two.signo = SIGSEGV;
	assert_false(are_one());
	two.native_fails = 1;
	assert_false(are_one());
	two.signo = SIGABRT;
	frames[1][0].place.offset++;
	assert_true(are_one()); /* of any order */
}

/* Two orders are one if they are about one variable, not by their place. */
static void test_orders(void **state)
{
	two.class = "idiom 2";
	assert_false(are_one());
	moments[0].variable = "list.head";
	moments[1].variable = "list+8";
	one.moments = &moments[0];
	two.moments = &moments[1];
	one.nmoments = two.nmoments = 1;
	assert_true(are_one());
}

/* Another block of the same call is the same bug; that of another call is not. */
static void test_blocks(void **state)
{
	two.class = "idiom 2";
	moments[0].variable = "malloc at q.c:12 (2nd by 0.1) + 8";
	moments[1].variable = "malloc at q.c:12 (11th by 0.2) + 16";
	one.moments = &moments[0];
	two.moments = &moments[1];
	one.nmoments = two.nmoments = 1;
	assert_true(are_one());
	moments[1].variable = "malloc at q.c:12 + 8"; /* the only one */
	assert_true(are_one());
	moments[1].variable = "malloc at q.c:1 (2nd by 0.1) + 8";
	assert_false(are_one());
	moments[0].variable = "malloc in (anonymous namespace)::a + 8";
	moments[1].variable =
		"malloc in (anonymous namespace)::b (1st by 0) + 8";
	assert_false(are_one());
}

static void test_keep_going(void **state)
{
	options.keep_going = true;
	assert_false(are_one());
}

/* What never failed again has failed of anything that fails there. */
static void test_never_again(void **state)
{
	two.class = "idiom 2";
	assert_false(are_one());
	one.forced_runs = 5;
	assert_true(are_one());
	frames[1][1].place.offset++; /* called from elsewhere */
	assert_false(are_one());
	two.nstacks = 0; /* nobody knows where */
	assert_true(are_one());
	one.forced_fails = 1;
	assert_false(are_one());
}

/* ... and is no reason to end a campaign. */
static void test_enough(void **state)
{
	struct maple_finding *list[] = { &one };
	struct maple_campaign_result result = { .findings = list };

	campaign.result = &result;
	assert_false(maple_findings_enough(&campaign));
	result.nfindings = 1;
	assert_true(maple_findings_enough(&campaign)); /* not confirmed */
	one.forced_runs = one.flipped_runs = 5;
	assert_false(maple_findings_enough(&campaign));
	one.class = NULL; /* of a profile run */
	one.flipped_runs = 0;
	assert_false(maple_findings_enough(&campaign));
	strategy.forces = false;
	assert_true(maple_findings_enough(&campaign));
	strategy.forces = true;
	one.forced_fails = 1;
	assert_true(maple_findings_enough(&campaign));
	one.forced_fails = 0;
	one.known = true; /* it failed in two campaigns */
	assert_true(maple_findings_enough(&campaign));
}

static void test_suppressed(void **state)
{
	one.suppressed = "race:deposit";
	assert_false(are_one());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_place, set_up),
		cmocka_unit_test_setup(test_depth, set_up),
		cmocka_unit_test_setup(test_failure, set_up),
		cmocka_unit_test_setup(test_orders, set_up),
		cmocka_unit_test_setup(test_blocks, set_up),
		cmocka_unit_test_setup(test_keep_going, set_up),
		cmocka_unit_test_setup(test_suppressed, set_up),
		cmocka_unit_test_setup(test_never_again, set_up),
		cmocka_unit_test_setup(test_enough, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
