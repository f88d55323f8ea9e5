// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a campaign does about candidates that another one with the same memo
 * tries, or has tried meanwhile; of patterns, see test_pcr.c. The memo's part
 * is in test_memo_postgres.c.
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
#include "strategy/maple/maple.h"
#include "claims_rig.h"

static struct maple_search search;
static struct maple_profiling *const p = &search.profiling;

static int begin(void **state)
{
	share_memo();
	study.most = 2;
	memset(&search, 0, sizeof(search));
	maple_profiling_init(p, &study, true);
	p->seen = true;
	p->dry = MAPLE_DRY_PROFILES;
	return 0;
}

static int end(void **state)
{
	maple_profiling_deinit(p);
	return 0;
}

/* An order of sites of its own; its row is @row. */
static struct maple_candidate *add(uint32_t row)
{
	struct maple_iroot iroot = { .idiom = MAPLE_IDIOM_1 };
	struct maple_candidate *c;

	iroot.e[0] = (struct maple_iroot_event){ 2 * row, MAPLE_EV_WRITE };
	iroot.e[1] = (struct maple_iroot_event){ 2 * row + 1, MAPLE_EV_READ };
	c = maple_candidate_get(&p->candidates, &iroot);
	assert_non_null(c);
	c->predicted = c->facts_known = true;
	c->goal.row = row;
	return c;
}

/* The next run, if it is an enforced one; else it is dropped. */
static bool tries(struct maple_job *job)
{
	struct maple_error err = { "" };

	*job = (struct maple_job){ .seed = 7 };
	assert_int_equal(maple_search_begin(&search, job, &err), 0);
	if (job->kind == MAPLE_RUN_ENFORCE)
		return true;
	maple_search_drop(&search, job);
	return false;
}

static void over(struct maple_job *job)
{
	struct maple_goal *goals[] = { job->goal };

	maple_search_drop(&search, job);
	release(&study, goals, job->goal ? 1 : 0, NULL);
	release(&study, job->beside, job->nthen, NULL);
	assert_int_equal(ours, 0);
}

static void what_a_run_tries_is_claimed(void **state)
{
	struct maple_job job;

	for (uint32_t row = 1; row <= 3; row++)
		add(row);
	assert_true(tries(&job));
	assert_int_equal(job.nthen, 2);
	assert_int_equal(ours, 3);
	assert_true(job.goal->claimed && job.beside[0]->claimed);
	assert_true(job.plan.flags & MAPLE_PLAN_FOLLOWED);
	assert_false(job.then[1].flags & MAPLE_PLAN_FOLLOWED);
	over(&job);
}

static void what_others_try_comes_later(void **state)
{
	struct maple_candidate *theirs = add(1), *other = add(2);
	struct maple_job job;

	others[1] = true;
	assert_true(tries(&job));
	assert_ptr_equal(job.goal, &other->goal);
	assert_int_equal(job.nthen, 0);
	assert_false(job.plan.flags & MAPLE_PLAN_FOLLOWED);
	assert_int_equal(theirs->attempts, 0);
	over(&job);
	/* It is their last, and we have it when they are done with it. */
	other->attempts = 99;
	assert_false(tries(&job));
	assert_false(job.idle);
	assert_false(maple_search_is_idle(&search));
	others[1] = false;
	theirs->goal.elsewhere = 0; /* a moment later */
	assert_true(tries(&job));
	assert_ptr_equal(job.goal, &theirs->goal);
	over(&job);
}

/* It is left, and the campaign may end. */
static void nobody_waits_for_others_for_ever(void **state)
{
	struct maple_candidate *theirs = add(1);
	struct maple_coverage coverage;
	struct maple_job job;

	others[1] = true;
	assert_false(tries(&job));
	assert_false(job.idle);
	theirs->goal.since -= 100;
	assert_false(tries(&job));
	assert_true(job.idle);
	assert_true(maple_search_is_idle(&search));
	assert_int_equal(
		maple_coverage_init(&coverage, maple_strategy_maple.classes), 0);
	maple_choice_count(&p->candidates, &p->limits, &coverage);
	assert_int_equal(maple_coverage_sum(&coverage).left, 1);
	maple_coverage_deinit(&coverage);
}

static void what_others_have_found_out_is_not_tried(void **state)
{
	struct maple_candidate *exposed = add(1), *failed = add(2),
			       *tried = add(3), *broke = add(4);
	struct maple_job job;

	study.most = 0;
	states[1].exposed = true;
	states[2].failed = 6;
	states[3].attempts = 2;
	states[4].attempts = 9; /* and a run failed of it: what of is open */
	states[4].broke = true;
	exposed->score = 9;
	failed->score = 8;
	tried->score = 7;
	assert_true(tries(&job));
	assert_true(exposed->exposed);
	assert_int_equal(failed->failed, 6);
	assert_ptr_equal(job.goal, &tried->goal);
	assert_int_equal(tried->attempts, 3);
	assert_int_equal(job.attempt, 3);
	assert_int_equal(ours, 1);
	over(&job);
	tried->attempts = 9;
	assert_true(tries(&job));
	assert_ptr_equal(job.goal, &broke->goal);
	assert_int_equal(broke->attempts, 1);
	over(&job);
}

static void whoever_has_the_memo_alone_claims_nothing(void **state)
{
	struct maple_candidate *one = add(1);
	struct maple_job job;

	study.claim = NULL;
	others[1] = true;
	states[1].exposed = true;
	assert_true(tries(&job));
	assert_ptr_equal(job.goal, &one->goal);
	assert_int_equal(ours, 0);
	over(&job);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(what_a_run_tries_is_claimed),
		TEST(what_others_try_comes_later),
		TEST(nobody_waits_for_others_for_ever),
		TEST(what_others_have_found_out_is_not_tried),
		TEST(whoever_has_the_memo_alone_claims_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
