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
#include "study_rig.h"

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
	maple_switches_deinit(&r->job.switches);
	free(r->job.alone);
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
		maple_strategy_pcr.drop(r.self, &r.job);
		maple_switches_deinit(&r.job.switches);
		free(r.job.alone);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_order_is_solved_for),
		cmocka_unit_test(threads_take_turns_once),
		cmocka_unit_test(it_goes_on_at_random),
		cmocka_unit_test(it_ends_when_all_is_covered),
		cmocka_unit_test(what_was_lost_is_not_covered),
		cmocka_unit_test(patterns_are_looked_for_at_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
