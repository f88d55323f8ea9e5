// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Orders by other callers: what the log of an enforced run tells of who calls,
 * which of it is tried, in which order, and by which plan.
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
#include "strategy/maple/estimate.h"
#include "strategy/maple/maple.h"
#include "study_rig.h"

#define R MAPLE_EV_READ
#define W MAPLE_EV_WRITE
#define X 0x1000

enum { GET = 4, SET = 9 }; /* sites */
/* Of accesses: calls of get() by two functions, each of which makes two. */
enum { OFTEN = 10, AGAIN, ONCE, TWICE, SETTER = 20 };

static struct maple_profiling p;
static struct maple_event event[64];
static struct maple_run run;
static struct maple_job_end end;

static void log_event(unsigned int thread, unsigned int kind, uint32_t site,
		      uint32_t aux)
{
	assert_true(end.nlog < sizeof(event) / sizeof(*event));
	event[end.nlog] = (struct maple_event){
		.addr = maple_event_is_memory(kind) ? X : 0,
		.site = site,
		.size = 8,
		.clock = end.nlog + 1,
		.thread = (uint16_t)thread,
		.kind = (uint8_t)kind,
		.flags = MAPLE_EVF_EXACT,
		.aux = aux,
	};
	end.nlog++;
}

/* The iRoot: two reads by get(), and a write of another thread in between. */
static struct maple_candidate *add(void)
{
	const struct maple_iroot iroot = {
		.idiom = MAPLE_IDIOM_2,
		.e = { { GET, R }, { SET, W }, { GET, R } },
	};
	struct maple_candidate *k = maple_candidate_get(&p.candidates, &iroot);

	assert_non_null(k);
	k->predicted = k->facts_known = true;
	k->goal.row = 1;
	return k;
}

/* Four times in a function that is called often, twice in one that is once. */
static void log_run(void)
{
	static const uint32_t reads[] = { OFTEN, AGAIN, OFTEN, AGAIN,
					  ONCE,	 TWICE, OFTEN, AGAIN };

	end.nlog = 0;
	log_event(0, MAPLE_EV_START, MAPLE_SITE_NONE, 0);
	log_event(0, MAPLE_EV_CREATE, MAPLE_SITE_NONE, 1);
	log_event(0, MAPLE_EV_CREATE, MAPLE_SITE_NONE, 2);
	log_event(1, MAPLE_EV_START, MAPLE_SITE_NONE, 0);
	for (unsigned int i = 0; i < sizeof(reads) / sizeof(*reads); i++)
		log_event(1, R, GET, reads[i]);
	log_event(1, MAPLE_EV_EXIT, MAPLE_SITE_NONE, 0);
	log_event(2, MAPLE_EV_START, MAPLE_SITE_NONE, 0);
	log_event(2, W, SET, SETTER);
	log_event(2, MAPLE_EV_EXIT, MAPLE_SITE_NONE, 0);
}

/* A context whose nearest call is at @offset of this program. */
static void known(uint32_t context, uint32_t image, uint64_t offset)
{
	uint32_t call = maple_registry_call(study.registry, image, offset);

	assert_int_equal(
		maple_registry_context(study.registry, context, &call, 1), 0);
}

static int set_up(void **state)
{
	struct maple_error err;
	const struct maple_table_site *site;
	uint64_t first, second;
	uint32_t image, n, i = 0;

	memset(&p, 0, sizeof(p));
	study.registry = maple_registry_create();
	study.callers = true;
	assert_int_equal(maple_registry_add(study.registry, "/proc/self/exe",
					    &image, &err),
			 0);
	site = maple_image_sites(maple_registry_image(study.registry, image),
				 &n);
	first = site[0].offset;
	while (maple_image_function_at(
		       maple_registry_image(study.registry, image),
		       site[i].offset) ==
	       maple_image_function_at(
		       maple_registry_image(study.registry, image), first))
		assert_true(++i < n);
	second = site[i].offset;
	known(OFTEN, image, first + 1);
	known(AGAIN, image, first + 2);
	known(ONCE, image, second + 1);
	known(TWICE, image, second + 2);
	p.study = &study;
	p.limits = (struct maple_choice_limits){ MAPLE_ORDER_RANKED, 5, 6 };
	run = (struct maple_run){ 0 };
	end = (struct maple_job_end){ .run = &run, .log = event };
	return 0;
}

static int tear_down(void **state)
{
	maple_candidate_destroy(&p.candidates);
	maple_registry_destroy(study.registry);
	study.callers = false;
	return 0;
}

static bool learn_run(void)
{
	struct maple_error err;
	bool news = false;

	assert_int_equal(maple_callers_learn(&p, &end, &news, &err), 0);
	return news;
}

static const struct maple_variant *next(struct maple_candidate **k)
{
	uint32_t which = 0;

	*k = maple_callers_next(&p.candidates, &p.limits, &which);
	return *k ? &(*k)->callers.variant[which - 1] : NULL;
}

/* Only once the iRoot was exposed: one function's pair first, the rare one. */
static void the_rare_pair_comes_first(void **state)
{
	struct maple_candidate *k, *iroot = add();
	const struct maple_variant *v;

	log_run();
	assert_true(learn_run());
	assert_null(next(&k));
	iroot->exposed = true;
	v = next(&k);
	assert_non_null(v);
	assert_ptr_equal(k, iroot);
	assert_int_equal(v->context[0], ONCE);
	assert_int_equal(v->context[1], SETTER);
	assert_int_equal(v->context[2], TWICE);
	assert_int_equal(v->apart, 1);
	assert_int_equal(v->seen, 3);
	/* The same again is no news. */
	assert_false(learn_run());
	iroot->goal.found = true;
	assert_null(next(&k));
}

/* Each twice at most, and four of an iRoot. */
static void there_is_an_end(void **state)
{
	struct maple_candidate *k, *iroot = add();
	const struct maple_variant *v;
	unsigned int tries = 0, once = 0;

	log_run();
	learn_run();
	assert_true(iroot->callers.n > MAPLE_CALLERS_TRIED);
	iroot->exposed = true;
	while ((v = next(&k))) {
		((struct maple_variant *)(uintptr_t)v)->tries++;
		once += v->tries == 1;
		assert_true(++tries < 100);
	}
	assert_int_equal(once, MAPLE_CALLERS_TRIED);
	assert_int_equal(tries, 2 * MAPLE_CALLERS_TRIED);
}

/* A try that the machine took comes again as a first one, but only once. */
static void a_missed_try_is_none(void **state)
{
	struct maple_candidate *k, *iroot = add();
	struct maple_variant *v;

	log_run();
	learn_run();
	iroot->exposed = true;
	v = (struct maple_variant *)(uintptr_t)next(&k);
	v->tries++;
	maple_callers_tried(v, true);
	assert_int_equal(v->tries, 0);
	assert_ptr_equal(next(&k), v);
	v->tries++;
	maple_callers_tried(v, true);
	assert_int_equal(v->tries, 1);
	assert_ptr_not_equal(next(&k), v);
	v->tries++;
	maple_callers_tried(v, false);
	assert_int_equal(v->tries, 2);
}

/* Who was in the order that a run has had, and did not fail, is harmless. */
static void what_was_seen_is_harmless(void **state)
{
	struct maple_candidate *k, *iroot = add();
	const struct maple_variant *v;

	iroot->exposed = true;
	log_run();
	/* The write comes between the two that are executed once. */
	end.nlog -= 7;
	log_event(2, MAPLE_EV_START, MAPLE_SITE_NONE, 0);
	log_event(2, W, SET, SETTER);
	log_event(1, R, GET, TWICE);
	learn_run();
	v = next(&k);
	assert_non_null(v);
	assert_false(v->context[0] == ONCE && v->context[2] == TWICE);
	for (uint32_t i = 0; i < iroot->callers.n; i++)
		if (iroot->callers.variant[i].context[0] == ONCE &&
		    iroot->callers.variant[i].context[2] == TWICE)
			assert_true(iroot->callers.variant[i].exposed);
}

static void nothing_is_learned_from_a_failure(void **state)
{
	add();
	log_run();
	end.failed = true;
	assert_false(learn_run());
	end.failed = false;
	run.lost = 1;
	assert_false(learn_run());
	run.lost = 0;
	study.callers = false;
	assert_false(learn_run());
	study.callers = true;
	p.limits.order = MAPLE_ORDER_PAPER;
	assert_false(learn_run());
	p.limits.order = MAPLE_ORDER_RANKED;
	assert_true(learn_run());
}

/* One caller alone says no more than the iRoot. */
static void one_caller_is_none(void **state)
{
	struct maple_candidate *k;

	add()->exposed = true;
	log_run();
	for (uint32_t i = 0; i < end.nlog; i++)
		if (event[i].site == GET)
			event[i].aux = OFTEN;
	assert_false(learn_run());
	assert_null(next(&k));
}

/* Its steps are those callers' alone, the hints are theirs. */
static void the_plan_names_the_callers(void **state)
{
	struct maple_run_thread threads[3] = { { .name = "0" },
					       { .name = "0.1" },
					       { .name = "0.2" } };
	struct maple_candidate *k;
	const struct maple_variant *v;
	struct maple_plan plan;

	run.threads = threads;
	run.nthreads = 3;
	add()->exposed = true;
	log_run();
	learn_run();
	v = next(&k);
	assert_non_null(v);
	assert_int_equal(
		maple_callers_plan(k, v - k->callers.variant + 1, 1, &plan), 0);
	assert_int_equal(plan.nsteps, 3);
	assert_int_equal(plan.step[0].site, GET);
	assert_int_equal(plan.step[0].context, ONCE);
	assert_int_equal(plan.step[0].occurrence, 1); /* of that caller's */
	assert_int_equal(plan.step[1].context, SETTER);
	assert_int_equal(plan.step[2].context, TWICE);
	assert_string_equal(plan.hint[0], "0.1");
	assert_string_equal(plan.hint[1], "0.2");
	assert_true(maple_plan_valid(&plan));
}

/* First tries before second ones, and less than the iRoot's own score. */
static void fresh_ones_may_come_first(void **state)
{
	struct maple_candidate *k, fresh = { .score = 10 };
	const struct maple_variant *v;
	uint32_t which;

	add()->exposed = true;
	log_run();
	learn_run();
	v = next(&k);
	which = v - k->callers.variant + 1;
	assert_true(maple_estimate_variant(k, which, NULL));
	k->score = 11;
	assert_false(maple_estimate_variant(k, which, &fresh));
	k->score = 12;
	assert_true(maple_estimate_variant(k, which, &fresh));
	k->callers.variant[which - 1].tries = 1;
	assert_false(maple_estimate_variant(k, which, &fresh));
	fresh.attempts = 2;
	assert_true(maple_estimate_variant(k, which, &fresh));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_rare_pair_comes_first),
		TEST(there_is_an_end),
		TEST(a_missed_try_is_none),
		TEST(what_was_seen_is_harmless),
		TEST(nothing_is_learned_from_a_failure),
		TEST(one_caller_is_none),
		TEST(the_plan_names_the_callers),
		TEST(fresh_ones_may_come_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
