// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What a strategy has run next, and what it learns of a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "strategy/expect.h"
#include "strategy/maple/classes.h"
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
	maple_odds_tried(&all->odds, &c->iroot, &c->facts, true, false);
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
	maple_odds_tried(&all.odds, &high->iroot, &high->facts, true, true);
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
	maple_odds_tried(&all.odds, &class->iroot, &class->facts, true, true);
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

/* ---- sharing ---- */

static uint64_t number(const struct maple_study *study, uint64_t salt)
{
	uint64_t z = salt * 0x9e3779b97f4a7c15ull + 7;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static const struct maple_campaign_options plain;
static struct maple_study study = { .random = number, .options = &plain };

/* A profile run as far as sharing goes. */
struct scene {
	struct maple_sample sample;
	struct maple_sharing sharing;
	struct maple_predict *predict;
};

static void feed(struct scene *c, uint16_t thread, uint32_t site, uint64_t addr)
{
	struct maple_event event = { .kind = MAPLE_EV_WRITE,
				     .size = 4,
				     .thread = thread,
				     .site = site,
				     .addr = addr };

	maple_change_note(&study, &c->sample, &event);
	assert_int_equal(maple_predict_event(c->predict, &event), 0);
}

static void profile_once(struct scene *c, bool late)
{
	struct maple_event event = { .kind = MAPLE_EV_CREATE, .aux = 1 };

	maple_change_deinit(&c->sample);
	memset(&c->sample, 0, sizeof(c->sample));
	assert_int_equal(maple_predict_create(NULL, NULL, &c->predict), 0);
	maple_predict_event(c->predict, &event);
	event = (struct maple_event){ .kind = MAPLE_EV_START, .thread = 1 };
	maple_predict_event(c->predict, &event);
	feed(c, 0, 1, 0x1000); /* shared */
	feed(c, 1, 2, 0x1000);
	feed(c, 0, 3, 0x2000); /* alone */
	for (unsigned int i = 0; i < 40; i++)
		feed(c, 0, 5, 0x3000); /* often */
	if (late)
		feed(c, 1, 3, 0x1000);
	maple_predict_finish(c->predict);
	maple_sharing_learn(&c->sharing, &c->sample, c->predict);
	maple_predict_destroy(c->predict);
}

static void cuts_add_up(void **state)
{
	struct maple_predict_options options = { .max_locations = 1 };
	struct maple_prediction prediction = { 0 };
	struct maple_event event = { .kind = MAPLE_EV_WRITE, .size = 4 };
	struct maple_predict *p;

	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(maple_predict_create(&options, NULL, &p), 0);
		for (event.addr = 0; event.addr < 40; event.addr += 4)
			assert_int_equal(maple_predict_event(p, &event), 0);
		assert_int_equal(maple_predict_finish(p), 0);
		maple_prediction_add(&prediction, p);
		maple_predict_destroy(p);
	}
	assert_int_equal(prediction.events, 20);
	assert_int_equal(prediction.cut[MAPLE_CUT_LOCATIONS], 18);
	assert_string_equal(maple_cut_name(MAPLE_CUT_LOCATIONS), "locations");
	for (unsigned int i = 1; i < MAPLE_CUTS; i++)
		assert_int_equal(prediction.cut[i], 0);
}

static unsigned int times_left(struct scene *c, uint32_t site, bool controlled,
			       enum maple_leaves leaves)
{
	unsigned int seed, sum = 0;
	uint8_t *alone;
	uint32_t n;

	for (seed = 0; seed < 400; seed++) {
		alone = maple_sharing_choose(&c->sharing, &study, seed << 8,
					     controlled, leaves, &n);
		sum += site < n && alone[site];
		free(alone);
	}
	return sum;
}

static unsigned int times_alone(struct scene *c, uint32_t site)
{
	return times_left(c, site, false, MAPLE_LEAVES_LONE);
}

static void lonely_sites_are_sampled(void **state)
{
	struct scene c = { 0 };

	assert_int_equal(times_alone(&c, 3), 0);
	profile_once(&c, false);
	assert_int_equal(times_alone(&c, 3), 0); /* one run says little */
	assert_int_equal(times_alone(&c, 5), 0);
	/* Of what would be a point often it says enough. */
	assert_int_equal(times_left(&c, 3, true, MAPLE_LEAVES_LONE), 0);
	assert_in_range(times_left(&c, 5, true, MAPLE_LEAVES_LONE), 370, 399);
	assert_in_range(times_left(&c, 5, true, MAPLE_LEAVES_OFTEN), 370, 399);
	assert_int_equal(times_left(&c, 5, true, MAPLE_LEAVES_NONE), 0);
	profile_once(&c, false);
	assert_in_range(times_alone(&c, 3), 240, 360); /* three of four */
	assert_int_equal(times_left(&c, 3, true, MAPLE_LEAVES_OFTEN), 0);
	assert_in_range(times_alone(&c, 5), 240, 360);
	assert_int_equal(times_alone(&c, 1), 0);
	assert_int_equal(times_alone(&c, 2), 0);
	assert_int_equal(times_alone(&c, 4), 0); /* never executed */
	profile_once(&c, true);
	assert_int_equal(times_alone(&c, 3), 0); /* shared for good */
	profile_once(&c, false);
	profile_once(&c, false);
	assert_int_equal(times_alone(&c, 3), 0);
	maple_sharing_deinit(&c.sharing);
	maple_change_deinit(&c.sample);
}

/* ---- change points ---- */

/* One access of @site by the run under way. */
static void access_site(struct maple_sample *sample, unsigned int kind,
			uint32_t site, uint64_t addr)
{
	struct maple_event event = { .kind = kind, .site = site, .addr = addr };

	maple_change_note(&study, sample, &event);
}

static void change_points_are_what_the_agent_counts(void **state)
{
	struct maple_sample sample = { 0 };
	struct maple_job job = { .seed = 7 };
	uint32_t lock = MAPLE_SITE_CALL | 3;

	access_site(&sample, MAPLE_EV_READ, 3, 1);
	access_site(&sample, MAPLE_EV_BLOCK, lock, 8);
	access_site(&sample, MAPLE_EV_LOCK, lock, 8);  /* counted as BLOCK */
	access_site(&sample, MAPLE_EV_BLOCK, lock, 0); /* a wait, no lock */
	access_site(&sample, MAPLE_EV_CREATE, lock, 8);
	access_site(&sample, MAPLE_EV_START, MAPLE_SITE_NONE, 8);
	access_site(&sample, MAPLE_EV_READ, 3, 1);
	assert_int_equal(sample.seen, 3);
	assert_int_equal(sample.n, 3);
	assert_int_equal(sample.change[1].site, lock);
	assert_int_equal(sample.change[1].hit, 1);
	assert_int_equal(sample.change[2].site, 3);
	assert_int_equal(sample.change[2].hit, 2);
	maple_change_draw(&study, &sample, &job, 5);
	assert_int_equal(job.nchanges, 3);
	maple_change_deinit(&sample);
}

static void change_points_differ_and_follow_the_seed(void **state)
{
	struct maple_sample sample;
	struct maple_job job[2] = { { .seed = 7 }, { .seed = 7 } };
	unsigned int i, j, run;

	for (run = 0; run < 2; run++) {
		memset(&sample, 0, sizeof(sample));
		for (i = 0; i < 1000; i++)
			access_site(&sample, MAPLE_EV_WRITE, i % 10, 1);
		assert_int_equal(sample.seen, 1000);
		assert_int_equal(sample.n, MAPLE_RUN_CHANGES);
		maple_change_draw(&study, &sample, &job[run], 15);
		assert_int_equal(job[run].nchanges, 15);
		maple_change_deinit(&sample);
	}
	assert_memory_equal(job[0].change, job[1].change, sizeof(job[0].change));
	for (i = 0; i < 15; i++)
		for (j = 0; j < i; j++)
			assert_memory_not_equal(&job->change[i], &job->change[j],
						sizeof(job->change[i]));
}

/* What each strategy asks for when it has seen a run, and before. */
struct wish {
	const char *name;
	enum maple_schedule first, then[3];
	unsigned int changes;
};

static bool never(void *ctx)
{
	return false;
}

static void end(const struct maple_strategy *s, void *self,
		struct maple_job *job)
{
	struct maple_run run = { .delivered = true };
	struct maple_job_end end = { .run = &run, .absent = true };
	struct maple_error err;

	assert_int_equal(s->ended(self, job, &end, &err), 0);
	assert_null(job->own);
	free(job->alone);
	free(job->expected.name);
	free(job->expected.weight);
}

/* Accesses enough for each change point that there may be. */
static void run(const struct maple_strategy *s, void *self,
		struct maple_job *job, uint64_t accesses)
{
	struct maple_event event = { .kind = MAPLE_EV_WRITE, .size = 4 };

	for (uint64_t i = 0; i < accesses; i++) {
		event.site = i % 97;
		event.addr = 0x1000 + 8 * event.site;
		s->event(self, job, &event);
	}
	end(s, self, job);
}

/* The first two of controlled runs are profile runs. */
static enum maple_run_kind kind_of(const struct maple_strategy *s,
				   unsigned int i)
{
	return s->needs & MAPLE_NEEDS_CONTROL && i >= 2 ? MAPLE_RUN_CONTROL
							: MAPLE_RUN_PROFILE;
}

static void asks(const struct wish *want, struct maple_study *of)
{
	const struct maple_strategy *s = maple_strategy_find(want->name);
	struct maple_job job;
	struct maple_error err;
	unsigned int dry = 0;
	void *self;
	int e = 0;

	assert_non_null(s);
	assert_string_equal(s->name, want->name);
	assert_int_equal(s->open(s, of, &self, &err), 0);
	for (unsigned int i = 0; i < 4; i++) {
		/* The first run that may be dry is the fourth. */
		job = (struct maple_job){ .seed = i + 1 };
		if (i == 3 && s->forces)
			break;
		assert_int_equal(s->next(self, &job, &err, &e), MAPLE_NEXT_RUN);
		assert_int_equal(e, 0);
		assert_int_equal(job.kind, kind_of(s, i));
		assert_false(job.idle);
		assert_int_equal(job.dry, dry);
		dry += job.kind == MAPLE_RUN_PROFILE;
		assert_int_equal(job.schedule,
				 i ? want->then[i - 1] : want->first);
		assert_int_equal(job.nchanges, i ? want->changes : 0);
		run(s, self, &job, 4 * 50000 + 1);
	}
	/* Only maple ever has nothing left to try, and then goes on looking. */
	job = (struct maple_job){ .seed = 9 };
	assert_int_equal(s->next(self, &job, &err, &e), MAPLE_NEXT_RUN);
	assert_int_equal(e, 0);
	assert_int_equal(job.idle, s->forces);
	assert_int_equal(job.schedule, want->then[2]);
	s->drop(self, &job);
	assert_null(job.own);
	free(job.alone);
	s->close(self);
}

static void a_strategy_says_what_is_next(void **state)
{
#define THRICE(SCHEDULE)                                              \
	{                                                             \
		MAPLE_SCHEDULE_##SCHEDULE, MAPLE_SCHEDULE_##SCHEDULE, \
			MAPLE_SCHEDULE_##SCHEDULE                     \
	}
	static const struct wish want[] = {
		{ "maple",
		  MAPLE_SCHEDULE_OLDER,
		  { MAPLE_SCHEDULE_TURNS, MAPLE_SCHEDULE_PCT,
		    MAPLE_SCHEDULE_PCTLARGE },
		  3 },
		{ "native", MAPLE_SCHEDULE_NATIVE, THRICE(NATIVE), 0 },
		{ "pctlarge", MAPLE_SCHEDULE_PCTLARGE, THRICE(PCTLARGE), 3 },
		{ "randdelay", MAPLE_SCHEDULE_RANDDELAY, THRICE(RANDDELAY), 5 },
		{ "rw", MAPLE_SCHEDULE_OLDER, { MAPLE_SCHEDULE_PCT, 0, 0 }, 0 },
		{ "pos", MAPLE_SCHEDULE_OLDER, { MAPLE_SCHEDULE_PCT, 0, 0 }, 0 },
		{ "surw", MAPLE_SCHEDULE_OLDER, { MAPLE_SCHEDULE_PCT, 0, 0 }, 0 },
		{ "pct", MAPLE_SCHEDULE_OLDER, { MAPLE_SCHEDULE_PCT, 0, 0 }, 0 },
	};
	/* What schedules from outside knows of no turns. */
	static const struct wish outside = { "maple",
					     MAPLE_SCHEDULE_OLDER,
					     { MAPLE_SCHEDULE_PCT,
					       MAPLE_SCHEDULE_PCT,
					       MAPLE_SCHEDULE_PCTLARGE },
					     3 };
	struct maple_campaign_options options = { .depth = 4 };
	struct maple_study of = { .options = &options,
				  .random = number,
				  .over = never,
				  .lanes = 1,
				  .turns = true };
	static const char *const others[] = { "pctvb", "pcr",	 "rank",
					      "chess", "delay",	 "rankchecker",
					      "grey",  "maptest" };
	unsigned int i;

	for (i = 0; i < sizeof(want) / sizeof(*want); i++) {
		assert_string_equal(maple_strategy_name(i + 1), want[i].name);
		asks(&want[i], &of);
	}
	/* What these ask for their own tests say. */
	assert_string_equal(maple_strategy_name(0), "auto");
	for (unsigned int k = 0; k < sizeof(others) / sizeof(*others); k++)
		assert_string_equal(maple_strategy_name(++i), others[k]);
	assert_null(maple_strategy_name(i + 1));
	of.turns = false;
	asks(&outside, &of);
	assert_null(maple_strategy_find("none"));
	assert_ptr_equal(maple_strategy_find(NULL), maple_strategy_find("auto"));
}

/* Reports of schema 1 and the ids of findings go by them. */
static void classes_keep_the_numbers_that_they_had(void **state)
{
	unsigned int i, classes = 0;

	for (i = 0; maple_classes[i]; i++) {
		assert_string_equal(maple_class_numbered(i + 1),
				    maple_classes[i]);
		assert_int_equal(maple_class_number(maple_classes[i]), i + 1);
	}
	assert_int_equal(i, 7);
	assert_null(maple_class_numbered(0));
	assert_null(maple_class_numbered(8));
	assert_int_equal(maple_class_number("pattern 1"), 0);
	assert_int_equal(maple_class_number(NULL), 0);
	assert_null(maple_campaign_classes("1-2,5", &classes));
	assert_int_equal(classes, 1u << 1 | 1u << 2 | 1u << 5 | 1u << 7);
	assert_non_null(maple_campaign_classes("2-1", &classes));
	assert_non_null(maple_campaign_classes("1,", &classes));
	assert_non_null(maple_campaign_classes("7", &classes));
}

/* ---- what controlled runs expect ---- */

static void came(struct maple_variables *v, unsigned int kind, uint16_t thread,
		 uint32_t site, uint64_t addr)
{
	struct maple_event event = { .kind = kind,
				     .size = 4,
				     .thread = thread,
				     .site = site,
				     .addr = addr };

	maple_variables_note(v, &event);
}

/*
 * A whole run of threads 0, 0.1, 0.2: two words of an array that both workers
 * are at, a flag, what is only read, and what is one thread's.
 */
static void expect_of(struct maple_expect *x, uint64_t points)
{
	static struct maple_run_thread threads[3] = { { .name = "0" },
						      { .name = "0.1" },
						      { .name = "0.2" } };
	struct maple_run run = { .nthreads = 3,
				 .threads = threads,
				 .counts.points = points };
	struct maple_variables v = { 0 };

	came(&v, MAPLE_EV_WRITE, 0, 9, 0x3000); /* nobody else was there */
	came(&v, MAPLE_EV_CREATE, 0, 8, 0);
	for (uint16_t t = 1; t < 3; t++) {
		came(&v, MAPLE_EV_READ, t, 1, 0x1000);
		came(&v, MAPLE_EV_WRITE, t, 2, 0x1004);
		came(&v, MAPLE_EV_READ, t, 1, 0x1008);
		came(&v, MAPLE_EV_WRITE, t, 2, 0x100c);
		came(&v, MAPLE_EV_READ, t, 3, 0x4000);
		came(&v, MAPLE_EV_WRITE, t, 5, 0x5000 + 8 * t);
	}
	came(&v, MAPLE_EV_READ, 0, 3, 0x3000);
	came(&v, MAPLE_EV_LOCK, 1, MAPLE_SITE_CALL | 4, 0x3000);
	maple_expect_learn(x, &v, &run);
	assert_null(v.table);
	maple_variables_deinit(&v);
}

static void surw_draws_a_class_and_is_told_its_counts(void **state)
{
	struct maple_expect x = { 0 };
	unsigned int array = 0, flag = 0, base[MAPLE_POLICY_BASES] = { 0 };
	struct maple_job job;

	/* Before any run nothing is interesting. */
	job = (struct maple_job){ .seed = 1 };
	assert_int_equal(maple_expect_order(&x, &study, &job, MAPLE_POLICY_SURW,
					    2, false),
			 0);
	assert_int_equal(job.policy.size, 0);
	assert_null(job.expected.weight);
	expect_of(&x, 20);
	for (uint64_t seed = 0; seed < 600; seed++) {
		job = (struct maple_job){ .seed = seed << 8 };
		assert_int_equal(maple_expect_order(&x, &study, &job,
						    MAPLE_POLICY_SURW, 2, false),
				 0);
		assert_int_equal(job.kind, MAPLE_RUN_CONTROL);
		assert_int_equal(job.policy.size, 8);
		assert_int_equal(job.expected.n, 3);
		assert_string_equal(job.expected.name[2].text, "0.2");
		base[job.policy.base]++;
		if (job.policy.addr == 0x3000) {
			flag++;
			assert_int_equal(job.expected.weight[0], 1);
			assert_int_equal(job.expected.weight[1], 1);
			assert_int_equal(job.expected.weight[2], 0);
		} else {
			assert_in_range(job.policy.addr, 0x1000, 0x1008);
			array++;
			assert_int_equal(job.expected.weight[0], 0);
			assert_int_equal(job.expected.weight[1], 2);
			assert_int_equal(job.expected.weight[2], 2);
		}
		free(job.expected.name);
		free(job.expected.weight);
	}
	assert_in_range(flag, 240, 360);
	assert_int_equal(flag + array, 600);
	for (unsigned int i = 0; i < MAPLE_POLICY_BASES; i++)
		assert_in_range(base[i], 150, 250);
	maple_expect_deinit(&x);
}

static void pct_spreads_its_change_points_over_a_run(void **state)
{
	struct maple_expect x = { .points = 7000 }; /* of a profile run */
	uint64_t high = 0, low = ~0ull;
	struct maple_job job;

	expect_of(&x, 1000);
	assert_int_equal(x.points, 1000);
	/* One that spun is no reason to change them much. */
	expect_of(&x, 60000000);
	assert_in_range(x.points, 1000, 1500);
	for (unsigned int i = 0; i < 100; i++)
		expect_of(&x, 1000);
	assert_in_range(x.points, 1000, 1010);
	for (uint64_t seed = 0; seed < 300; seed++) {
		job = (struct maple_job){ .seed = seed << 8 };
		assert_int_equal(maple_expect_order(&x, &study, &job,
						    MAPLE_POLICY_PCT, 3, false),
				 0);
		assert_int_equal(job.policy.nchanges, 3);
		assert_true(job.policy.change[0] <= job.policy.change[1] &&
			    job.policy.change[1] <= job.policy.change[2]);
		if (job.policy.change[0] < low)
			low = job.policy.change[0];
		if (job.policy.change[2] > high)
			high = job.policy.change[2];
	}
	assert_in_range(low, 1, 30);
	assert_in_range(high, 970, x.points);
	maple_expect_deinit(&x);
}

/* ... or over the accesses to one variable, of which there are few. */
static void pctvb_changes_at_one_variable(void **state)
{
	struct maple_expect x = { 0 };
	unsigned int depth[4] = { 0 }, flag = 0;
	struct maple_job job;

	/* Before any run there is none. */
	job = (struct maple_job){ .seed = 1 };
	assert_int_equal(
		maple_expect_order(&x, &study, &job, MAPLE_POLICY_PCT, 3, true),
		0);
	assert_int_equal(job.policy.size, 0);
	expect_of(&x, 1000);
	for (uint64_t seed = 0; seed < 300; seed++) {
		job = (struct maple_job){ .seed = seed << 8 };
		assert_int_equal(maple_expect_order(&x, &study, &job,
						    MAPLE_POLICY_PCT, 3, true),
				 0);
		assert_int_equal(job.policy.size, 8);
		assert_in_range(job.policy.nchanges, 1, 3);
		depth[job.policy.nchanges]++;
		flag += job.policy.addr == 0x3000;
		for (uint32_t i = 0; i < job.policy.nchanges; i++)
			assert_in_range(job.policy.change[i], 1,
					job.policy.addr == 0x3000 ? 2 : 4);
	}
	assert_in_range(flag, 110, 190);
	for (unsigned int i = 1; i <= 3; i++)
		assert_in_range(depth[i], 60, 140);
	maple_expect_deinit(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuts_add_up),
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
		cmocka_unit_test(lonely_sites_are_sampled),
		cmocka_unit_test(change_points_are_what_the_agent_counts),
		cmocka_unit_test(change_points_differ_and_follow_the_seed),
		cmocka_unit_test(a_strategy_says_what_is_next),
		cmocka_unit_test(classes_keep_the_numbers_that_they_had),
		cmocka_unit_test(surw_draws_a_class_and_is_told_its_counts),
		cmocka_unit_test(pct_spreads_its_change_points_over_a_run),
		cmocka_unit_test(pctvb_changes_at_one_variable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
