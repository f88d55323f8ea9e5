// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The strategy pcr: what it asks for, before a run and after it. The program is
 * a lost update: two threads read and write one place, one after the other.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "claims_rig.h"

#define PLACE 0x1000u

enum { READ_1 = 10, WRITE_1, READ_2, WRITE_2 };

struct told {
	uint16_t thread;
	uint8_t kind;
	uint32_t site, aux;
};

/* Thread 1 does both, then thread 2; or each reads before either writes. */
static const struct told first_1[] = {
	{ 0, MAPLE_EV_CREATE, 1, 1 }, { 1, MAPLE_EV_START, 2, 0 },
	{ 0, MAPLE_EV_CREATE, 1, 2 }, { 2, MAPLE_EV_START, 2, 0 },
	{ 1, MAPLE_EV_READ, READ_1, 1 }, { 1, MAPLE_EV_WRITE, WRITE_1, 1 },
	{ 2, MAPLE_EV_READ, READ_2, 1 }, { 2, MAPLE_EV_WRITE, WRITE_2, 1 },
	{ 1, MAPLE_EV_EXIT, 2, 0 }, { 2, MAPLE_EV_EXIT, 2, 0 },
}, both_read[] = {
	{ 0, MAPLE_EV_CREATE, 1, 1 }, { 1, MAPLE_EV_START, 2, 0 },
	{ 0, MAPLE_EV_CREATE, 1, 2 }, { 2, MAPLE_EV_START, 2, 0 },
	{ 2, MAPLE_EV_READ, READ_2, 1 }, { 1, MAPLE_EV_READ, READ_1, 1 },
	{ 1, MAPLE_EV_WRITE, WRITE_1, 1 }, { 2, MAPLE_EV_WRITE, WRITE_2, 1 },
	{ 1, MAPLE_EV_EXIT, 2, 0 }, { 2, MAPLE_EV_EXIT, 2, 0 },
};

#define EVENTS (sizeof(first_1) / sizeof(*first_1))

struct rig {
	void *self;
	struct maple_job job;
	struct maple_error err;
};

static void begin_with(struct rig *r, const struct maple_strategy *strategy,
		       bool until_covered)
{
	memset(r, 0, sizeof(*r));
	options = (struct maple_campaign_options){ .until_covered =
							   until_covered };
	study.registry = maple_registry_create();
	assert_non_null(study.registry);
	assert_int_equal(strategy->open(strategy, &study, &r->self, &r->err), 0);
}

static void begin(struct rig *r, bool until_covered)
{
	begin_with(r, &maple_strategy_pcr, until_covered);
}

static void close_rig(struct rig *r)
{
	maple_strategy_pcr.close(r->self);
	maple_registry_destroy(study.registry);
	study.claim = study.release = NULL;
}

static enum maple_next ask(struct rig *r)
{
	enum maple_next next;
	int e = 0;

	r->job = (struct maple_job){ .seed = 1 };
	next = maple_strategy_pcr.next(r->self, &r->job, &r->err, &e);
	assert_int_equal(e, 0);
	if (next == MAPLE_NEXT_RUN)
		assert_int_equal(r->job.kind, MAPLE_RUN_CONTROL);
	return next;
}

/* As the campaign does when the job is over. */
static void free_job(struct rig *r)
{
	if (r->job.attempt && study.release)
		assert_int_equal(
			study.release(&study, &r->job.goal, 1, &r->err), 0);
	maple_switches_deinit(&r->job.switches);
	free(r->job.alone);
}

/* It says nothing. */
static void cut_short(struct rig *r)
{
	maple_strategy_pcr.drop(r->self, &r->job);
	free_job(r);
}

/* The run that was asked for did what is told; whether that was news. */
static bool did_and_lost(struct rig *r, const struct told *told, uint64_t lost)
{
	static struct maple_policy_name names[] = { { "0" },
						    { "0.1" },
						    { "0.2" } };
	struct maple_run run = { .delivered = true,
				 .lost = lost,
				 .nthreads = 3,
				 .names = names,
				 .nnames = 3 };
	struct maple_job_end end = { .run = &run };
	struct maple_run_thread threads[3] = { 0 };

	for (unsigned int i = 0; i < 3; i++)
		memcpy(threads[i].name, names[i].text, MAPLE_POLICY_NAME);
	run.threads = threads;
	for (size_t i = 0; i < EVENTS; i++) {
		struct maple_event event = {
			.thread = told[i].thread,
			.kind = told[i].kind,
			.site = told[i].site,
			.aux = told[i].aux,
			.clock = (uint32_t)i,
		};

		if (maple_event_is_memory(event.kind)) {
			event.addr = PLACE;
			event.size = 4;
		}
		maple_strategy_pcr.event(r->self, &r->job, &event);
	}
	assert_int_equal(
		maple_strategy_pcr.ended(r->self, &r->job, &end, &r->err), 0);
	free_job(r);
	return r->job.news;
}

static bool did(struct rig *r, const struct told *told)
{
	return did_and_lost(r, told, 0);
}

static struct maple_class_count counts(struct rig *r, const char *class)
{
	struct maple_coverage coverage;
	struct maple_class_count count;

	assert_int_equal(
		maple_coverage_init(&coverage, maple_strategy_pcr.classes), 0);
	maple_strategy_pcr.count(r->self, &coverage);
	count = *maple_coverage_class(&coverage, class);
	maple_coverage_deinit(&coverage);
	return count;
}

static void assert_entry(const struct maple_switches *list, uint32_t i,
			 const char *thread, uint32_t site, uint32_t hit,
			 const char *next)
{
	const struct maple_policy_switch *e = &list->entry[i];

	assert_true(i < list->n);
	assert_int_equal(e->what, MAPLE_POLICY_AFTER);
	assert_string_equal(list->name[e->thread].text, thread);
	assert_string_equal(list->name[e->next].text, next);
	assert_int_equal(e->site, site);
	assert_int_equal(e->hit, hit);
}

/* Older threads first, then what is read anew. */
static void an_order_is_solved_for(void **state)
{
	struct rig r;

	begin(&r, false);
	assert_int_equal(ask(&r), MAPLE_NEXT_RUN);
	assert_int_equal(r.job.policy.policy, MAPLE_POLICY_LIST);
	assert_int_equal(r.job.switches.n, 0);
	assert_false(r.job.idle);
	assert_true(did(&r, first_1));
	assert_true(counts(&r, "pattern 1").left > 0);

	assert_int_equal(ask(&r), MAPLE_NEXT_RUN);
	assert_int_equal(r.job.policy.policy, MAPLE_POLICY_LIST);
	assert_non_null(r.job.goal);
	assert_string_equal(r.job.goal->class, "pattern 1");
	assert_int_equal(r.job.goal->use[0].site, READ_2);
	assert_int_equal(r.job.goal->use[1].site, WRITE_1);
	assert_int_equal(r.job.switches.n, 2);
	assert_entry(&r.job.switches, 0, "0", MAPLE_SITE_NONE, 0, "0.2");
	assert_entry(&r.job.switches, 1, "0.2", READ_2, 1, "0.1");
	assert_true(did(&r, both_read));
	assert_true(counts(&r, "pattern 1").exposed > 0);
	close_rig(&r);
}

/* Who begins, in the run in which threads take turns, after four others. */
static uint32_t turns_after(const struct told *told)
{
	struct rig r;
	uint32_t base;

	begin(&r, false);
	for (unsigned int run = 0; run < 4; run++) {
		assert_int_equal(ask(&r), MAPLE_NEXT_RUN);
		assert_int_equal(r.job.policy.base, MAPLE_POLICY_OLDEST);
		did(&r, told);
	}
	assert_int_equal(ask(&r), MAPLE_NEXT_RUN);
	assert_int_equal(r.job.policy.policy, MAPLE_POLICY_LIST);
	assert_int_equal(r.job.switches.n, 0);
	assert_null(r.job.goal);
	base = r.job.policy.base;
	did(&r, told);
	assert_int_equal(ask(&r), MAPLE_NEXT_RUN);
	assert_int_equal(r.job.policy.base, MAPLE_POLICY_OLDEST);
	did(&r, told);
	close_rig(&r);
	return base;
}

/* The latter of these shows all that turns from the older one on would. */
static void threads_take_turns_once(void **state)
{
	assert_int_equal(turns_after(first_1), MAPLE_POLICY_TURNS);
	assert_int_equal(turns_after(both_read), MAPLE_POLICY_TURNS_BACK);
}

/* Then it looks at random, and says so, or is done. */
static void until_nothing_is_left(bool covered)
{
	struct rig r;
	unsigned int runs = 0, idle = 0;

	begin(&r, covered);
	while (idle < 3 && runs++ < 60) {
		assert_int_equal(ask(&r), MAPLE_NEXT_RUN);
		idle += r.job.idle;
		if (r.job.idle) {
			assert_int_equal(r.job.policy.policy, MAPLE_POLICY_POS);
			assert_true(r.job.wanted > 0);
			assert_int_equal(counts(&r, "pattern 1").left, 0);
		}
		did(&r, runs % 2 ? first_1 : both_read);
	}
	assert_int_equal(idle, 3);
	assert_true(runs > 6);
	if (covered) {
		assert_int_equal(ask(&r), MAPLE_NEXT_DONE);
	} else {
		assert_int_equal(ask(&r), MAPLE_NEXT_RUN);
		cut_short(&r);
	}
	close_rig(&r);
}

static void it_goes_on_at_random(void **state)
{
	until_nothing_is_left(false);
}

static void it_ends_when_all_is_covered(void **state)
{
	until_nothing_is_left(true);
}

/* A run that was not seen whole may have had more. */
static void what_was_lost_is_not_covered(void **state)
{
	struct rig r;

	begin(&r, true);
	for (unsigned int run = 0; run < 20; run++) {
		assert_int_equal(ask(&r), MAPLE_NEXT_RUN);
		did_and_lost(&r, first_1, 7);
	}
	assert_true(r.job.idle);
	close_rig(&r);
}

/* No order is solved for: a random run gets the steps to hold threads at. */
static void patterns_are_looked_for_at_random(void **state)
{
	struct rig r;
	unsigned int other = 0;

	begin_with(&r, &maple_strategy_maptest, false);
	assert_int_equal(ask(&r), MAPLE_NEXT_RUN);
	assert_int_equal(r.job.policy.policy, MAPLE_POLICY_SEEK);
	assert_int_equal(r.job.policy.nchanges, 0);
	assert_true(did(&r, first_1));
	for (unsigned int run = 0; run < 20; run++) {
		assert_int_equal(ask(&r), MAPLE_NEXT_RUN);
		assert_int_equal(r.job.policy.policy, MAPLE_POLICY_SEEK);
		assert_int_equal(r.job.switches.n, 0);
		assert_non_null(r.job.goal);
		assert_int_equal(r.job.policy.nchanges, r.job.goal->n);
		assert_int_equal(r.job.policy.change[0],
				 2 * r.job.goal->use[0].site);
		assert_int_equal(r.job.policy.change[1],
				 2 * r.job.goal->use[1].site + 1);
		other += r.job.goal->use[0].site != READ_1;
		did(&r, run % 2 ? both_read : first_1);
	}
	assert_in_range(other, 1, 19);
	close_rig(&r);
}

/* ---- several campaigns ---- */

static void begin_shared(struct rig *r)
{
	begin(r, false);
	share_memo();
	assert_int_equal(ask(r), MAPLE_NEXT_RUN);
	assert_int_equal(r->job.attempt, 0);
	assert_true(did(r, first_1));
	assert_int_equal(ours, 0);
}

/* The memo is told which try it is; two at a time are never of one pattern. */
static void what_is_tried_is_claimed(void **state)
{
	struct rig r;
	struct maple_job first;

	begin_shared(&r);
	assert_int_equal(ask(&r), MAPLE_NEXT_RUN);
	assert_int_equal(r.job.attempt, 1);
	assert_int_equal(ours, 1);
	assert_ptr_equal(wanted, r.job.goal);
	first = r.job;
	while (ask(&r) == MAPLE_NEXT_RUN && r.job.attempt) {
		assert_ptr_not_equal(r.job.goal, first.goal);
		did(&r, first_1);
	}
	cut_short(&r);
	assert_int_equal(ours, 1);
	/* What was cut short was no try. */
	r.job = first;
	cut_short(&r);
	assert_int_equal(ours, 0);
	assert_int_equal(ask(&r), MAPLE_NEXT_RUN);
	if (r.job.goal == first.goal)
		assert_int_equal(r.job.attempt, 1);
	did(&r, both_read);
	assert_int_equal(ours, 0);
	close_rig(&r);
}

/* Meanwhile it looks at random, and at last says that nothing is left. */
static void what_others_try_is_left_to_them(void **state)
{
	struct rig r;
	bool idle = false;

	begin_shared(&r);
	memset(others, true, sizeof(others));
	assert_int_equal(ask(&r), MAPLE_NEXT_RUN);
	assert_int_equal(r.job.attempt, 0);
	assert_int_equal(r.job.policy.policy, MAPLE_POLICY_POS);
	assert_false(r.job.idle);
	assert_true(counts(&r, "pattern 1").left > 0);
	did(&r, first_1);
	/* A moment later, to one of them. */
	memset(others, false, sizeof(others));
	wanted->elsewhere = 0;
	assert_int_equal(ask(&r), MAPLE_NEXT_RUN);
	assert_ptr_equal(r.job.goal, wanted);
	assert_int_equal(r.job.attempt, 1);
	assert_true(wanted->since == 0);
	did(&r, first_1);
	/* For too long: all that are left. */
	memset(others, true, sizeof(others));
	for (unsigned int run = 0; run < 20 && !idle; run++) {
		assert_int_equal(ask(&r), MAPLE_NEXT_RUN);
		assert_int_equal(r.job.attempt, 0);
		wait_in_vain();
		idle = r.job.idle;
		did(&r, first_1);
	}
	assert_true(idle);
	assert_true(counts(&r, "pattern 1").left > 0);
	assert_int_equal(ours, 0);
	close_rig(&r);
}

/* @known: what all that is claimed turns out to be. How many runs try some. */
static unsigned int tries_of(struct maple_memo_state known, unsigned int *first)
{
	unsigned int tries = 0;
	struct rig r;

	begin_shared(&r);
	for (unsigned int i = 0; i < ROWS; i++)
		states[i] = known;
	*first = 0;
	for (unsigned int run = 0; run < 20; run++) {
		assert_int_equal(ask(&r), MAPLE_NEXT_RUN);
		*first = tries ? *first : r.job.attempt;
		tries += r.job.attempt > 0;
		did(&r, first_1);
	}
	assert_int_equal(ours, 0);
	close_rig(&r);
	return tries;
}

static void what_others_have_tried_is_not_tried_again(void **state)
{
	struct maple_memo_state known = { 0 };
	unsigned int all, first, once;

	all = tries_of(known, &first);
	assert_true(all > 2);
	assert_int_equal(first, 1);
	known.attempts = 1;
	once = tries_of(known, &first);
	assert_in_range(once, 1, all - 1);
	assert_int_equal(first, 2);
	known.attempts = 2;
	assert_int_equal(tries_of(known, &first), 0);
	known.broke = true; /* and a run failed of it: what of is open */
	assert_int_equal(tries_of(known, &first), all);
	assert_int_equal(first, 1);
	/* What was shown has one run of its own, as it has in one campaign. */
	known = (struct maple_memo_state){ .exposed = true };
	assert_in_range(tries_of(known, &first), 1, all - 1);
	known.attempts = 1;
	assert_int_equal(tries_of(known, &first), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_order_is_solved_for),
		cmocka_unit_test(threads_take_turns_once),
		cmocka_unit_test(it_goes_on_at_random),
		cmocka_unit_test(it_ends_when_all_is_covered),
		cmocka_unit_test(what_was_lost_is_not_covered),
		cmocka_unit_test(patterns_are_looked_for_at_random),
		cmocka_unit_test(what_is_tried_is_claimed),
		cmocka_unit_test(what_others_try_is_left_to_them),
		cmocka_unit_test(what_others_have_tried_is_not_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
