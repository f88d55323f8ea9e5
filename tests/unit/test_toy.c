// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A system in one file: all that a campaign wants of a strategy. It has older
 * and younger threads first by turns, sees who follows whom, and is done when
 * neither way shows anything new.
 *
 * beside: guests
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "campaign/internal.h"

#define DRY 4 /* runs without news, before it is done */

/* A run's own. */
struct toy_run {
	uint16_t last;
	bool follows[MAPLE_THREADS][8];
	unsigned int events;
};

struct toy {
	struct maple_study *study;
	bool follows[MAPLE_THREADS][8];
	unsigned int asked, came, dry;
	uint64_t pairs;
};

static struct toy toy; /* looked at when the campaign is over */
static bool closed;

static int toy_open(const struct maple_strategy *strategy,
		    struct maple_study *study, void **self,
		    struct maple_error *err)
{
	toy = (struct toy){ .study = study };
	*self = &toy;
	return 0;
}

static enum maple_next toy_next(void *self, struct maple_job *job,
				struct maple_error *err, int *e)
{
	struct toy *t = self;

	if (t->dry >= DRY)
		return MAPLE_NEXT_DONE;
	job->own = calloc(1, sizeof(struct toy_run));
	if (!job->own) {
		*e = maple_error_set(err, ENOMEM, "out of memory");
		return MAPLE_NEXT_DONE;
	}
	job->kind = MAPLE_RUN_PROFILE;
	job->schedule = t->asked++ % 2 ? MAPLE_SCHEDULE_YOUNGER
				       : MAPLE_SCHEDULE_OLDER;
	return MAPLE_NEXT_RUN;
}

static void toy_event(void *self, struct maple_job *job,
		      const struct maple_event *event)
{
	struct toy_run *run = job->own;

	run->events++;
	if (event->thread < 8)
		run->follows[run->last][event->thread] = true;
	run->last = event->thread;
}

static void toy_drop(void *self, struct maple_job *job)
{
	struct toy *t = self;

	t->came++;
	free(job->own);
	job->own = NULL;
}

static int toy_ended(void *self, struct maple_job *job,
		     const struct maple_job_end *end, struct maple_error *err)
{
	struct toy_run *run = job->own;
	struct toy *t = self;

	assert_true(end->run->delivered);
	assert_true(run->events > 10);
	for (unsigned int i = 0; i < MAPLE_THREADS * 8; i++)
		if (run->follows[i / 8][i % 8] && !t->follows[i / 8][i % 8]) {
			t->follows[i / 8][i % 8] = true;
			t->pairs++;
			job->news = true;
		}
	t->dry = job->news ? 0 : t->dry + 1;
	toy_drop(self, job);
	return 0;
}

static void toy_count(const void *self, struct maple_coverage *coverage)
{
	const struct toy *t = self;

	coverage->class->exposed = t->pairs;
}

static void toy_standing(const void *self, struct maple_standing *standing)
{
	*standing = (struct maple_standing){ 0 };
}

static void toy_close(void *self)
{
	closed = true;
}

static const char *const classes[] = { "pair", NULL };

static const struct maple_strategy strategy = {
	.name = "toy",
	.classes = classes,
	.open = toy_open,
	.next = toy_next,
	.event = toy_event,
	.ended = toy_ended,
	.drop = toy_drop,
	.count = toy_count,
	.standing = toy_standing,
	.close = toy_close,
};

static void a_system_is_one_file(void **state)
{
	const char *build = getenv("BUILD") ?: "build";
	char program[4096], agent[4096];
	char *argv[] = { program, NULL };
	struct maple_campaign_options options = { .argv = argv,
						  .agent = agent,
						  .backend = "agent",
						  .seed = 1,
						  .quiet_target = true };
	struct maple_campaign_result *result;
	struct maple_memo *memo;
	struct maple_error err;

	snprintf(program, sizeof(program),
		 "%s/tests/targets/clean/mutex_counter", build);
	snprintf(agent, sizeof(agent), "%s/libmaple-agent.so", build);
	assert_int_equal(maple_memo_open(":memory:", 0, &memo, &err), 0);
	if (maple_campaign_run_by(&strategy, &options, memo, &result, &err))
		fail_msg("%s", err.text);
	assert_int_equal(result->stop, MAPLE_STOP_SATURATED);
	assert_int_equal(result->outcome, MAPLE_CLEAN);
	assert_true(toy.pairs > 2);
	/* What it has asked for was run, and came back, once each. */
	assert_true(toy.asked > DRY);
	assert_int_equal(result->runs.profile, toy.asked);
	assert_int_equal(toy.came, toy.asked);
	assert_int_equal(result->dry_runs, DRY);
	assert_true(closed);
	assert_int_equal(result->coverage.nclasses, 1);
	assert_string_equal(result->coverage.class->name, "pair");
	assert_int_equal(result->coverage.class->exposed, toy.pairs);
	maple_campaign_result_destroy(result);
	maple_memo_close(memo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_system_is_one_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
