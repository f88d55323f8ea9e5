// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What Maple's paper compares it with (6.1, 6.2.1): the program is run again
 * and again, each time in a schedule of its own, and what counts is which
 * iRoots that exposed. What the predictor says is not listened to, but it runs:
 * its history tells the observer what is certain where sites went quiet.
 *
 *   native     left alone: no priorities, no CPU of ours
 *   pctlarge   random nice values, depth - 1 change points that drop the
 *              thread which meets them
 *   randdelay  left alone, but each change point sleeps for a random time
 *
 * Change points come from the run before, so the first run has none. PCT with
 * strict priorities is a policy of controlled runs (strategy/control).
 */
#include <errno.h>
#include <stdlib.h>
#include "../maple/classes.h"
#include "../maple/profile.h"

#define DELAY_EVERY  50000 /* RandDelay: events between two sleeps ... */
#define DELAYS_LEAST 3	   /* ... of which a run has so many at least */

struct maple_random {
	struct maple_profiling profiling;
	enum maple_schedule schedule;
};

static int open_random(const struct maple_strategy *strategy,
		       struct maple_study *study, void **self,
		       struct maple_error *err)
{
	struct maple_random *r = calloc(1, sizeof(*r));

	if (!r)
		return maple_error_set(err, ENOMEM, "out of memory");
	maple_profiling_init(&r->profiling, study, false);
	r->schedule = strategy->variant;
	*self = r;
	return 0;
}

static unsigned int delays(const struct maple_sample *sample)
{
	uint64_t n = sample->seen / DELAY_EVERY + 1;

	if (n > MAPLE_RUN_CHANGES)
		n = MAPLE_RUN_CHANGES;
	return n < DELAYS_LEAST ? DELAYS_LEAST : n;
}

static unsigned int changes(const struct maple_random *r)
{
	switch (r->schedule) {
	case MAPLE_SCHEDULE_NATIVE:
		return 0;
	case MAPLE_SCHEDULE_RANDDELAY:
		return delays(&r->profiling.sample);
	default:
		return maple_change_depth(r->profiling.study);
	}
}

static enum maple_next next(void *self, struct maple_job *job,
			    struct maple_error *err, int *e)
{
	struct maple_random *r = self;
	struct maple_profiling *p = &r->profiling;

	job->schedule = p->study->options->attached ? MAPLE_SCHEDULE_NATIVE
						    : r->schedule;
	if (p->runs + p->underway)
		maple_change_draw(p->study, &p->sample, job, changes(r));
	*e = maple_profiling_begin(p, job, err);
	return MAPLE_NEXT_RUN;
}

static void event(void *self, struct maple_job *job,
		  const struct maple_event *event)
{
	maple_profiling_event(job, event);
}

static int ended(void *self, struct maple_job *job,
		 const struct maple_job_end *end, struct maple_error *err)
{
	struct maple_random *r = self;

	return maple_profiling_ended(&r->profiling, job, end, err);
}

static void drop(void *self, struct maple_job *job)
{
	struct maple_random *r = self;

	maple_profiling_drop(&r->profiling, job);
}

static void count(const void *self, struct maple_coverage *coverage)
{
	const struct maple_random *r = self;

	maple_choice_count(&r->profiling.candidates, &r->profiling.limits,
			   coverage);
}

static void standing(const void *self, struct maple_standing *standing)
{
	*standing = (struct maple_standing){ 0 };
}

static void close_random(void *self)
{
	struct maple_random *r = self;

	maple_profiling_deinit(&r->profiling);
	free(r);
}

/* One of the three, by how its runs are scheduled. */
#define RANDOM(its_name, its_needs, SCHEDULE)                             \
	{                                                                 \
		.name = its_name, .classes = maple_classes,               \
		.needs = its_needs, .variant = MAPLE_SCHEDULE_##SCHEDULE, \
		.open = open_random, .next = next, .event = event,        \
		.ended = ended, .drop = drop, .count = count,             \
		.standing = standing, .close = close_random,              \
	}

const struct maple_strategy maple_strategy_native = RANDOM("native", 0, NATIVE);
const struct maple_strategy maple_strategy_pctlarge =
	RANDOM("pctlarge", MAPLE_NEEDS_CHANGES, PCTLARGE);
const struct maple_strategy maple_strategy_randdelay =
	RANDOM("randdelay", MAPLE_NEEDS_CHANGES, RANDDELAY);
