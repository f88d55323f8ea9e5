// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a strategy has run next, and what it learns of a run.
 *
 * beside: guests
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "strategy/maple/classes.h"
#include "strategy/maple/maple.h"

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
	struct maple_races *races;
};

static void tell(struct scene *c, const struct maple_event *event)
{
	maple_change_note(&study, &c->sample, event);
	assert_int_equal(maple_predict_event(c->predict, event), 0);
	maple_races_event(c->races, event);
}

static void feed(struct scene *c, uint16_t thread, uint32_t site, uint64_t addr)
{
	struct maple_event event = { .kind = MAPLE_EV_WRITE,
				     .size = 4,
				     .thread = thread,
				     .site = site,
				     .addr = addr };

	tell(c, &event);
}

/* @seen: all of it */
static void profile(struct scene *c, bool late, bool seen)
{
	struct maple_event event = { .kind = MAPLE_EV_CREATE, .aux = 1 };

	maple_change_deinit(&c->sample);
	memset(&c->sample, 0, sizeof(c->sample));
	assert_int_equal(maple_predict_create(NULL, NULL, &c->predict), 0);
	c->races = maple_races_create();
	assert_non_null(c->races);
	for (uint32_t i = 0; i < 40; i++)
		feed(c, 0, 6, 0x4000); /* handed on to the thread below, */
	for (uint32_t i = 0; i < 40; i++)
		feed(c, 0, 8, 0x5000);
	feed(c, 0, 9, 0x2800);
	feed(c, 0, 10, 0x4000);
	for (uint32_t i = 0; i < 40; i++) {
		feed(c, 0, MAPLE_SITE_CALL | 1, 0x2c00); /* alone */
		feed(c, 0, MAPLE_SITE_CALL | 3, 0x4000); /* in order */
	}
	for (uint32_t site = 9; site <= 10; site++) {
		struct maple_event quiet = { .kind = MAPLE_EV_QUIET,
					     .site = site };

		tell(c, &quiet);
	}
	tell(c, &event);
	event = (struct maple_event){ .kind = MAPLE_EV_START, .thread = 1 };
	tell(c, &event);
	feed(c, 1, 7, 0x4000);
	feed(c, 1, 7, 0x5000);
	if (late)
		feed(c, 0, 8, 0x5000); /* ... and taken back unasked */
	feed(c, 0, 1, 0x1000);	       /* shared */
	feed(c, 1, 2, 0x1000);
	for (uint32_t i = 0; i < 40; i++)
		feed(c, 1, MAPLE_SITE_CALL | 2, 0x1000);
	feed(c, 0, 3, 0x2000); /* alone */
	for (unsigned int i = 0; i < 40; i++)
		feed(c, 0, 5, 0x3000); /* often */
	if (late)
		feed(c, 1, 3, 0x1000);
	maple_predict_finish(c->predict);
	maple_sharing_learn(&c->sharing, &c->sample, c->predict,
			    seen ? c->races : NULL);
	maple_predict_destroy(c->predict);
	maple_races_destroy(c->races);
}

static void profile_once(struct scene *c, bool late)
{
	profile(c, late, true);
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
	uint32_t n, number;

	for (seed = 0; seed < 400; seed++) {
		alone = maple_sharing_choose(&c->sharing, &study, seed << 8,
					     controlled, leaves, &n);
		number = site & ~MAPLE_SITE_CALL;
		sum += number < n &&
		       alone[number] &
			       (site & MAPLE_SITE_CALL ? MAPLE_ALONE_CALL
						       : MAPLE_ALONE_SITE);
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

/* Of what is shared, and executed often, what does not race is left as well. */
static void ordered_sites_are_no_points(void **state)
{
	struct scene c = { 0 };

	profile_once(&c, false);
	assert_int_equal(times_left(&c, 6, true, MAPLE_LEAVES_ORDERED), 0);
	profile(&c, false, false);
	assert_int_equal(times_left(&c, 6, true, MAPLE_LEAVES_ORDERED), 0);
	profile_once(&c, false);
	assert_in_range(times_left(&c, 6, true, MAPLE_LEAVES_ORDERED), 370, 399);
	assert_in_range(times_left(&c, 8, true, MAPLE_LEAVES_ORDERED), 370, 399);
	assert_int_equal(times_left(&c, 6, true, MAPLE_LEAVES_LONE), 0);
	assert_int_equal(times_left(&c, 6, true, MAPLE_LEAVES_OFTEN), 0);
	assert_int_equal(times_left(&c, 6, true, MAPLE_LEAVES_NONE), 0);
	/* What used up its budget is nearly never looked at. */
	for (uint32_t site = 9; site <= 10; site++) {
		assert_in_range(times_left(&c, site, true, MAPLE_LEAVES_ORDERED),
				395, 400);
		assert_in_range(times_left(&c, site, true, MAPLE_LEAVES_OFTEN),
				395, 400);
		assert_int_equal(times_left(&c, site, true, MAPLE_LEAVES_NONE),
				 0);
	}
	assert_int_equal(times_alone(&c, 6), 0); /* profile runs see it all */
	assert_int_equal(times_left(&c, 7, true, MAPLE_LEAVES_ORDERED), 0);
	assert_int_equal(times_left(&c, 1, true, MAPLE_LEAVES_ORDERED), 0);
	profile_once(&c, true);
	assert_int_equal(times_left(&c, 8, true, MAPLE_LEAVES_ORDERED), 0);
	profile_once(&c, false);
	assert_int_equal(times_left(&c, 8, true, MAPLE_LEAVES_ORDERED), 0);
	maple_sharing_deinit(&c.sharing);
	maple_change_deinit(&c.sample);
}

/* What functions do for calls is learnt as what sites do is. */
static void calls_are_left_as_sites_are(void **state)
{
	const uint32_t call = MAPLE_SITE_CALL;
	uint8_t both[] = { 3, 3, 3 };
	struct maple_job job = { 0 };
	struct scene c = { 0 };

	profile_once(&c, false);
	profile_once(&c, false);
	assert_in_range(times_left(&c, call | 1, true, MAPLE_LEAVES_LONE), 370,
			399);
	/* What has no number has no place among them, whatever it tells. */
	for (uint32_t i = 0; i < 2; i++) {
		struct maple_event event = {
			.kind = i ? MAPLE_EV_QUIET : MAPLE_EV_WRITE,
			.site = MAPLE_SITE_NONE,
		};

		maple_change_note(&study, &c.sample, &event);
		assert_true(c.sample.hits[0].n < 10000);
		assert_true(c.sample.hits[1].n < 10000);
	}
	assert_int_equal(times_left(&c, call | 2, true, MAPLE_LEAVES_ORDERED),
			 0);
	assert_in_range(times_left(&c, call | 3, true, MAPLE_LEAVES_ORDERED),
			370, 399);
	assert_int_equal(times_left(&c, call | 3, true, MAPLE_LEAVES_LONE), 0);
	assert_int_equal(times_left(&c, call | 9, true, MAPLE_LEAVES_LONE), 0);
	assert_true(maple_sharing_is_shared(&c.sharing, call | 3));
	assert_false(maple_sharing_is_shared(&c.sharing, call | 1));
	maple_sharing_deinit(&c.sharing);
	maple_change_deinit(&c.sample);
	/* What a schedule names is a point all the same. */
	assert_int_equal(maple_job_leave(&job, both, 3), 0);
	maple_job_keep(&job, call | 1);
	maple_job_keep(&job, 2);
	maple_job_keep(&job, 3);
	maple_job_keep(&job, MAPLE_SITE_NONE);
	assert_int_equal(job.alone[0], 3);
	assert_int_equal(job.alone[1], MAPLE_ALONE_SITE);
	assert_int_equal(job.alone[2], MAPLE_ALONE_CALL);
	free(job.alone);
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
	static const char *const others[] = { "pctvb", "pcr",	  "rank",
					      "chess", "delay",	  "rankchecker",
					      "grey",  "maptest", "meet" };
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

static void access_at(const struct maple_strategy *s, void *self,
		      struct maple_job *job, unsigned int thread,
		      unsigned int kind, uint64_t addr, uint32_t site)
{
	struct maple_event e = {
		.kind = (uint8_t)kind,
		.thread = (uint16_t)thread,
		.addr = addr,
		.site = site,
		.size = 4,
	};

	s->event(self, job, &e);
}

/* The next one; 0 and 1 write and read crosswise in it, if it is observed. */
static void cross(const struct maple_strategy *s, void *self,
		  struct maple_job *job, uint64_t met)
{
	struct maple_run run = { .delivered = true, .changes = met };
	struct maple_job_end end = { .run = &run };
	struct maple_error err;
	int e;

	*job = (struct maple_job){ .seed = 1 };
	assert_int_equal(s->next(self, job, &err, &e), MAPLE_NEXT_RUN);
	assert_int_equal(e, 0);
	assert_int_equal(job->kind, MAPLE_RUN_PROFILE);
	access_at(s, self, job, 0, MAPLE_EV_WRITE, 0x1000, 1);
	access_at(s, self, job, 0, MAPLE_EV_READ, 0x2000, 2);
	access_at(s, self, job, 1, MAPLE_EV_WRITE, 0x2000, 3);
	access_at(s, self, job, 1, MAPLE_EV_READ, 0x1000, 4);
	assert_int_equal(s->ended(self, job, &end, &err), 0);
	free(job->alone);
	job->alone = NULL;
}

static int learn_nothing(struct maple_study *study,
			 struct maple_goal *const *goals, size_t n,
			 struct maple_error *err)
{
	return 0;
}

static void what_crosses_is_met(void **state)
{
	const struct maple_strategy *s = maple_strategy_find("meet");
	struct maple_campaign_options options = { .depth = 3 };
	struct maple_prediction prediction = { 0 };
	struct maple_registry *registry = maple_registry_create();
	struct maple_study of = { .options = &options,
				  .registry = registry,
				  .prediction = &prediction,
				  .random = number,
				  .over = never,
				  .learn = learn_nothing,
				  .lanes = 1 };
	struct maple_standing standing;
	struct maple_job job;
	struct maple_error err;
	void *self;

	assert_int_equal(s->open(s, &of, &self, &err), -ENOTSUP);
	of.meets = true;
	assert_int_equal(s->open(s, &of, &self, &err), 0);
	for (int i = 0; i < 2; i++) {
		cross(s, self, &job, 0);
		assert_int_equal(job.schedule, MAPLE_SCHEDULE_NATIVE);
		s->standing(self, &standing);
		assert_non_null(standing.nothing);
	}
	cross(s, self, &job, 0);
	assert_int_equal(job.schedule, MAPLE_SCHEDULE_MEET);
	assert_int_equal(job.nchanges, 2);
	assert_int_equal(job.change[0].site, 1);
	assert_int_equal(job.change[1].site, 3);
	assert_false(job.news);
	s->standing(self, &standing);
	assert_non_null(standing.nothing);
	for (int i = 0; i < 2; i++) {
		cross(s, self, &job, 1);
		assert_int_equal(job.news, !i);
	}
	s->standing(self, &standing);
	assert_null(standing.nothing);
	/* One that is met no more has an end, and then runs are observed. */
	for (int i = 0; i < 1000; i++)
		cross(s, self, &job, 0);
	assert_int_equal(job.schedule, MAPLE_SCHEDULE_NATIVE);
	assert_true(job.idle);
	s->close(self);
	maple_registry_destroy(registry);
}

/* Reports of schema 1 and the ids of findings go by them. */
static void classes_keep_the_numbers_that_they_had(void **state)
{
	unsigned int i, classes = 0;

	for (i = 0; i < 7; i++) {
		assert_string_equal(maple_class_numbered(i + 1),
				    maple_classes[i]);
		assert_int_equal(maple_class_number(maple_classes[i]), i + 1);
	}
	/* Those of sets never had one. */
	for (; maple_classes[i]; i++)
		assert_int_equal(maple_class_number(maple_classes[i]), 0);
	assert_int_equal(i, 11);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuts_add_up),
		cmocka_unit_test(lonely_sites_are_sampled),
		cmocka_unit_test(ordered_sites_are_no_points),
		cmocka_unit_test(calls_are_left_as_sites_are),
		cmocka_unit_test(change_points_are_what_the_agent_counts),
		cmocka_unit_test(change_points_differ_and_follow_the_seed),
		cmocka_unit_test(a_strategy_says_what_is_next),
		cmocka_unit_test(what_crosses_is_met),
		cmocka_unit_test(classes_keep_the_numbers_that_they_had),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
