// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Which candidate is next, and what a run reads and writes. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "campaign/candidate.h"
#include "campaign/choice.h"
#include "campaign/internal.h"
#include "campaign/io.h"

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

	maple_choice_count(all, limits, &coverage);
	return maple_iroot_total(coverage.left);
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

	one->row = two->row = 1;
	two->score = 9;
	assert_null(maple_choice_again(&all));
	maple_candidate_exposed(&all, one);
	assert_ptr_equal(maple_choice_again(&all), one);
	/* The most promising, but all others before any a second time. */
	maple_candidate_exposed(&all, two);
	assert_ptr_equal(maple_choice_again(&all), two);
	two->looks = 1;
	assert_ptr_equal(maple_choice_again(&all), one);
	one->looks = 1;
	assert_ptr_equal(maple_choice_again(&all), two);
	/* What a finding is about, is under way, or cannot be planned. */
	two->found = true;
	assert_ptr_equal(maple_choice_again(&all), one);
	one->busy = true;
	assert_null(maple_choice_again(&all));
	one->busy = false;
	one->facts_known = false;
	assert_null(maple_choice_again(&all));
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

static void feed(struct maple_campaign *c, uint16_t thread, uint32_t site,
		 uint64_t addr)
{
	struct maple_event event = { .kind = MAPLE_EV_WRITE,
				     .size = 4,
				     .thread = thread,
				     .site = site,
				     .addr = addr };

	maple_change_note(c, &c->sample, &event);
	assert_int_equal(maple_predict_event(c->predict, &event), 0);
}

static void profile_once(struct maple_campaign *c, bool late)
{
	struct maple_event event = { .kind = MAPLE_EV_CREATE, .aux = 1 };

	maple_change_begin(&c->sample);
	assert_int_equal(maple_predict_create(NULL, NULL, &c->predict), 0);
	maple_predict_event(c->predict, &event);
	event = (struct maple_event){ .kind = MAPLE_EV_START, .thread = 1 };
	maple_predict_event(c->predict, &event);
	feed(c, 0, 1, 0x1000); /* shared */
	feed(c, 1, 2, 0x1000);
	feed(c, 0, 3, 0x2000); /* alone */
	if (late)
		feed(c, 1, 3, 0x1000);
	maple_predict_finish(c->predict);
	maple_sharing_learn(c);
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

static unsigned int times_alone(struct maple_campaign *c, uint32_t site)
{
	unsigned int seed, sum = 0;
	uint8_t *alone;
	uint32_t n;

	for (seed = 0; seed < 400; seed++) {
		alone = maple_sharing_choose(c, seed << 8, &n);
		sum += site < n && alone[site];
		free(alone);
	}
	return sum;
}

static void lonely_sites_are_sampled(void **state)
{
	struct maple_campaign_options options = { 0 };
	struct maple_campaign c = { .options = &options, .seed = 7 };

	assert_int_equal(times_alone(&c, 3), 0);
	profile_once(&c, false);
	assert_int_equal(times_alone(&c, 3), 0); /* one run says little */
	profile_once(&c, false);
	assert_in_range(times_alone(&c, 3), 240, 360); /* three of four */
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

/* ---- judgement ---- */

static void judge(struct maple_trial *trial, enum maple_end end, int status)
{
	struct maple_campaign_options options = { 0 };
	struct maple_campaign c = { .options = &options, .timeout = 10 };
	struct maple_io_run io = { -1, -1, -1 };

	memset(trial, 0, sizeof(*trial));
	trial->run.end = end;
	trial->run.status = status;
	maple_judge(&c, trial, &io);
}

static void verdicts(void **state)
{
	struct maple_trial t;

	judge(&t, MAPLE_END_ITSELF, W_EXITCODE(0, 0));
	assert_int_equal(t.judgement.failure, MAPLE_FAILURE_NONE);
	judge(&t, MAPLE_END_ITSELF, W_EXITCODE(3, 0));
	assert_int_equal(t.judgement.failure, MAPLE_FAILURE_EXIT);
	assert_int_equal(t.judgement.status, 3);
	judge(&t, MAPLE_END_ITSELF, W_EXITCODE(0, SIGSEGV));
	assert_int_equal(t.judgement.failure, MAPLE_FAILURE_SIGNAL);
	assert_int_equal(t.judgement.signo, SIGSEGV);
	judge(&t, MAPLE_END_DEADLOCK, W_EXITCODE(0, SIGKILL));
	assert_int_equal(t.judgement.failure, MAPLE_FAILURE_DEADLOCK);
	judge(&t, MAPLE_END_HANG, W_EXITCODE(0, SIGKILL));
	assert_int_equal(t.judgement.failure, MAPLE_FAILURE_HANG);
	judge(&t, MAPLE_END_STOPPED, W_EXITCODE(0, SIGKILL));
	assert_int_equal(t.judgement.failure, MAPLE_FAILURE_NONE);
}

static bool no_verdict(const struct maple_trial *t, enum maple_unjudged why)
{
	return t->judgement.unjudged && t->judgement.why == why &&
	       !t->judgement.failure;
}

/* What is no verdict is no failure; enough of it ends a campaign. */
static void no_verdicts(void **state)
{
	struct maple_campaign_options options = { 0 };
	struct maple_campaign_result result = { 0 };
	struct maple_campaign c = { .options = &options, .result = &result };
	struct maple_io_run io = { -1, -1, -1 };
	struct maple_trial t;
	unsigned int i;

	judge(&t, MAPLE_END_ITSELF, W_EXITCODE(77, 0));
	assert_true(no_verdict(&t, MAPLE_UNJUDGED_SAID));
	judge(&t, MAPLE_END_ITSELF, W_EXITCODE(125, 0));
	assert_true(no_verdict(&t, MAPLE_UNJUDGED_SAID));
	judge(&t, MAPLE_END_STARVED, W_EXITCODE(0, SIGKILL));
	assert_true(no_verdict(&t, MAPLE_UNJUDGED_STARVED));
	memset(&t, 0, sizeof(t));
	c.expected = 77; /* as its user has said */
	t.run.status = W_EXITCODE(77, 0);
	maple_judge(&c, &t, &io);
	assert_false(t.judgement.unjudged || t.judgement.failure);
	t.run.status = W_EXITCODE(0, SIGTERM);
	t.run.outside = true;
	for (i = 0; i < 5; i++) {
		assert_false(maple_campaign_gave_up(&c));
		t.stopped = false;
		maple_judge(&c, &t, &io);
		assert_true(no_verdict(&t, MAPLE_UNJUDGED_KILLED));
		maple_unjudged_take(&c, &t);
		assert_true(t.stopped);
	}
	assert_true(maple_campaign_gave_up(&c));
	assert_non_null(strstr(c.given_up, "SIGTERM from outside"));
	assert_int_equal(result.delivery.unjudged[MAPLE_UNJUDGED_KILLED], 5);
}

static void same_failure_or_not(void **state)
{
	struct maple_finding f = { .kind = MAPLE_FAILURE_SIGNAL,
				   .signo = SIGSEGV };
	struct maple_trial t;

	judge(&t, MAPLE_END_ITSELF, W_EXITCODE(0, SIGSEGV));
	assert_true(maple_confirm_same(&f, &t));
	judge(&t, MAPLE_END_ITSELF, W_EXITCODE(0, SIGABRT));
	assert_false(maple_confirm_same(&f, &t));
	judge(&t, MAPLE_END_ITSELF, W_EXITCODE(0, 0));
	assert_false(maple_confirm_same(&f, &t));
}

/* ---- standard files ---- */

/* One access of @site by the run under way. */
static void access_site(struct maple_campaign *c, unsigned int kind,
			uint32_t site, uint64_t addr)
{
	struct maple_event event = { .kind = kind, .site = site, .addr = addr };

	maple_change_note(c, &c->sample, &event);
}

static void change_points_are_what_the_agent_counts(void **state)
{
	struct maple_campaign c = { .seed = 1 };
	struct maple_trial trial = { .seed = 7 };
	uint32_t lock = MAPLE_SITE_CALL | 3;

	maple_change_begin(&c.sample);
	access_site(&c, MAPLE_EV_READ, 3, 1);
	access_site(&c, MAPLE_EV_BLOCK, lock, 8);
	access_site(&c, MAPLE_EV_LOCK, lock, 8);  /* counted as BLOCK */
	access_site(&c, MAPLE_EV_BLOCK, lock, 0); /* a wait, no lock */
	access_site(&c, MAPLE_EV_CREATE, lock, 8);
	access_site(&c, MAPLE_EV_START, MAPLE_SITE_NONE, 8);
	access_site(&c, MAPLE_EV_READ, 3, 1);
	assert_int_equal(c.sample.seen, 3);
	assert_int_equal(c.sample.n, 3);
	assert_int_equal(c.sample.change[1].site, lock);
	assert_int_equal(c.sample.change[1].hit, 1);
	assert_int_equal(c.sample.change[2].site, 3);
	assert_int_equal(c.sample.change[2].hit, 2);
	maple_change_draw(&c, &trial, 5);
	assert_int_equal(trial.nchanges, 3);
	maple_change_begin(&c.sample);
	access_site(&c, MAPLE_EV_READ, 3, 1);
	assert_int_equal(c.sample.change[0].hit, 1);
	maple_change_deinit(&c.sample);
}

static void change_points_differ_and_follow_the_seed(void **state)
{
	struct maple_campaign c = { .seed = 1 };
	struct maple_trial trial[2] = { { .seed = 7 }, { .seed = 7 } };
	unsigned int i, j, run;

	for (run = 0; run < 2; run++) {
		maple_change_begin(&c.sample);
		for (i = 0; i < 1000; i++)
			access_site(&c, MAPLE_EV_WRITE, i % 10, 1);
		assert_int_equal(c.sample.seen, 1000);
		assert_int_equal(c.sample.n, MAPLE_RUN_CHANGES);
		maple_change_draw(&c, &trial[run], 15);
		assert_int_equal(trial[run].nchanges, 15);
	}
	assert_memory_equal(trial[0].change, trial[1].change,
			    sizeof(trial[0].change));
	for (i = 0; i < 15; i++)
		for (j = 0; j < i; j++)
			assert_memory_not_equal(&trial->change[i],
						&trial->change[j],
						sizeof(trial->change[i]));
	maple_change_deinit(&c.sample);
}

static void a_strategy_says_what_is_next(void **state)
{
	static const struct {
		enum maple_schedule first, then[3];
		unsigned int changes;
	} want[] = {
		[MAPLE_STRATEGY_MAPLE] = { MAPLE_SCHEDULE_OLDER,
					   { MAPLE_SCHEDULE_TURNS,
					     MAPLE_SCHEDULE_PCT,
					     MAPLE_SCHEDULE_PCTLARGE },
					   3 },
		[MAPLE_STRATEGY_NATIVE] = { 0 },
		[MAPLE_STRATEGY_PCT] = { MAPLE_SCHEDULE_PCT,
					 { MAPLE_SCHEDULE_PCT,
					   MAPLE_SCHEDULE_PCT,
					   MAPLE_SCHEDULE_PCT },
					 3 },
		[MAPLE_STRATEGY_PCTLARGE] = { MAPLE_SCHEDULE_PCTLARGE,
					      { MAPLE_SCHEDULE_PCTLARGE,
						MAPLE_SCHEDULE_PCTLARGE,
						MAPLE_SCHEDULE_PCTLARGE },
					      3 },
		[MAPLE_STRATEGY_RANDDELAY] = { MAPLE_SCHEDULE_RANDDELAY,
					       { MAPLE_SCHEDULE_RANDDELAY,
						 MAPLE_SCHEDULE_RANDDELAY,
						 MAPLE_SCHEDULE_RANDDELAY },
					       5 },
	};
	struct maple_campaign_options options = { .depth = 4 };
	struct maple_backend_ops ops = { .schedules = true, .turns = true };
	struct maple_backend half = { .ops = &ops };
	struct maple_pair pair = { .observe = &half, .enforce = &half };
	struct maple_lane lane = { .pair = &pair };
	struct maple_campaign c = { .options = &options,
				    .sample.n = 60,
				    .lanes.turn = &lane };
	struct maple_trial trial[4];
	struct maple_candidate *candidate;
	unsigned int s, i;

	c.sample.seen = 4 * 50000 + 1;
	for (s = 0; maple_strategy_name(s); s++) {
		options.strategy = s;
		memset(trial, 0, sizeof(trial));
		for (i = 0; i < 4; i++) {
			c.profile_runs = i;
			maple_strategy_schedule(&c, &trial[i]);
			assert_int_equal(trial[i].nchanges,
					 i ? want[s].changes : 0);
		}
		assert_int_equal(trial[0].schedule, want[s].first);
		for (i = 0; i < 3; i++)
			assert_int_equal(trial[1 + i].schedule, want[s].then[i]);
		/* Only maple ever has nothing left to try. */
		c.dry_profiles = 1000;
		assert_int_equal(maple_strategy_next(&c, &candidate),
				 maple_strategy_enforces(&c)
					 ? MAPLE_PHASE_DONE
					 : MAPLE_PHASE_PROFILE);
		assert_null(candidate);
	}
	assert_int_equal(s, sizeof(want) / sizeof(*want));
	c.sample.seen = 1ull << 40;
	assert_int_equal(s - 1, MAPLE_STRATEGY_RANDDELAY);
	trial[0].nchanges = 0;
	maple_strategy_schedule(&c, &trial[0]);
	assert_int_equal(trial[0].nchanges, 60);
	/* What schedules from outside knows of no turns. */
	ops.turns = false;
	options.strategy = MAPLE_STRATEGY_MAPLE;
	c.profile_runs = 1;
	maple_strategy_schedule(&c, &trial[1]);
	assert_int_equal(trial[1].schedule, MAPLE_SCHEDULE_PCT);
}

static char said[256];

static void notice(void *ctx, const char *text)
{
	snprintf(said, sizeof(said), "%s", text);
}

static void put(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* Every run reads the same, from where we would have. */
static void input_again_and_again(void **state)
{
	int saved = dup(STDIN_FILENO), fds[2], i;
	struct maple_io_run run;
	struct maple_io io;
	char buf[16] = "";

	assert_int_equal(pipe(fds), 0);
	put(fds[1], "hello");
	close(fds[1]);
	dup2(fds[0], STDIN_FILENO);
	close(fds[0]);
	said[0] = '\0';
	assert_int_equal(maple_io_init(&io, notice, NULL, NULL), 0);
	for (i = 0; i < 3; i++) {
		assert_int_equal(maple_io_begin(&io, &run, NULL), 0);
		memset(buf, 0, sizeof(buf));
		assert_int_equal(read(run.in, buf, sizeof(buf)), 5);
		assert_string_equal(buf, "hello");
		maple_io_end(&io, &run);
	}
	assert_string_equal(said, "");
	maple_io_deinit(&io);
	dup2(saved, STDIN_FILENO);
	close(saved);
}

static void silent_pipe_is_said(void **state)
{
	int saved = dup(STDIN_FILENO), fds[2];
	struct maple_io io;

	assert_int_equal(pipe(fds), 0);
	dup2(fds[0], STDIN_FILENO);
	close(fds[0]);
	said[0] = '\0';
	assert_int_equal(maple_io_init(&io, notice, NULL, NULL), 0);
	assert_non_null(strstr(said, "stays open"));
	maple_io_deinit(&io);
	close(fds[1]);
	dup2(saved, STDIN_FILENO);
	close(saved);
}

static void words_are_kept_and_compared(void **state)
{
	char path[] = "/tmp/maple-test-XXXXXX";
	int saved = dup(STDIN_FILENO);
	int fd = mkstemp(path), null = open("/dev/null", O_RDONLY);
	struct maple_error err = { "" };
	struct maple_io_run run;
	struct maple_io io;
	char *words;

	dup2(null, STDIN_FILENO);
	assert_int_equal(maple_io_init(&io, notice, NULL, NULL), 0);
	assert_int_equal(maple_io_begin(&io, &run, NULL), 0);
	assert_null(maple_io_words(&run));
	put(run.out, "to you");
	put(run.err, ", and to me");
	words = maple_io_words(&run);
	assert_string_equal(words, "to you, and to me");
	free(words);
	put(fd, "to you");
	assert_int_equal(maple_io_same(&run, path, &err), 1);
	put(fd, "!");
	assert_int_equal(maple_io_same(&run, path, &err), 0);
	unlink(path);
	assert_int_equal(maple_io_same(&run, path, &err), -ENOENT);
	assert_non_null(strstr(err.text, path));
	/* The next run gets an empty file, read and written from its start. */
	maple_io_end(&io, &run);
	assert_int_equal(maple_io_begin(&io, &run, NULL), 0);
	assert_null(maple_io_words(&run));
	assert_int_equal(lseek(run.out, 0, SEEK_CUR), 0);
	assert_int_equal(lseek(run.err, 0, SEEK_CUR), 0);
	maple_io_end(&io, &run);
	maple_io_deinit(&io);
	dup2(saved, STDIN_FILENO);
	close(saved);
	close(null);
	close(fd);
}

/* ---- before the first run ---- */

static void programs_are_found_or_the_reason(void **state)
{
	struct maple_error err = { "" };
	char *path;

	assert_int_equal(maple_campaign_find_program("sh", &path, &err), 0);
	assert_non_null(strstr(path, "/sh"));
	assert_int_equal(maple_campaign_check_program(path, NULL, &err), 0);
	free(path);
	assert_int_equal(
		maple_campaign_find_program("no-such-program", &path, &err),
		-ENOENT);
	assert_int_equal(maple_campaign_find_program("/etc/passwd", &path, &err),
			 -EACCES);
	assert_int_equal(maple_campaign_find_program("/tmp", &path, &err),
			 -EACCES);
	assert_int_equal(maple_campaign_check_program("/etc/passwd", NULL, &err),
			 -ENOEXEC);
	assert_int_equal(
		maple_campaign_check_program("/etc/passwd", "server", &err), 0);
	assert_int_equal(
		maple_campaign_check_program("/usr/bin/ldd", NULL, &err),
		-EINVAL);
	assert_non_null(strstr(err.text, "--exe"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuts_add_up),
		cmocka_unit_test(one_candidate_an_iroot),
		cmocka_unit_test(limits_are_kept),
		cmocka_unit_test(exposed_ones_come_again),
		cmocka_unit_test(none_is_tried_twice_at_once),
		cmocka_unit_test(ranked_tries_each_once_first),
		cmocka_unit_test(paper_goes_by_idiom_then_application),
		cmocka_unit_test(ranked_takes_turns_over_idioms),
		cmocka_unit_test(ranked_tries_all_once_before_any_twice),
		cmocka_unit_test(against_comes_last),
		cmocka_unit_test(startup_rests),
		cmocka_unit_test(failures_put_to_rest),
		cmocka_unit_test(whole_waits_for_its_parts),
		cmocka_unit_test(plan_has_what_profiling_saw),
		cmocka_unit_test(lonely_sites_are_sampled),
		cmocka_unit_test(verdicts),
		cmocka_unit_test(no_verdicts),
		cmocka_unit_test(same_failure_or_not),
		cmocka_unit_test(change_points_are_what_the_agent_counts),
		cmocka_unit_test(change_points_differ_and_follow_the_seed),
		cmocka_unit_test(a_strategy_says_what_is_next),
		cmocka_unit_test(input_again_and_again),
		cmocka_unit_test(silent_pipe_is_said),
		cmocka_unit_test(words_are_kept_and_compared),
		cmocka_unit_test(programs_are_found_or_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
