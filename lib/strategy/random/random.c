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

MAPLE_PROFILED(struct maple_random);

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

	job->schedule = p->study->once ? MAPLE_SCHEDULE_NATIVE : r->schedule;
	if (p->runs + p->underway)
		maple_change_draw(p->study, &p->sample, job, changes(r));
	*e = maple_profiling_begin(p, job, err);
	return MAPLE_NEXT_RUN;
}

/* One of the three, by how its runs are scheduled. */
#define RANDOM(its_name, its_needs, SCHEDULE)                                 \
	{                                                                     \
		.name = its_name, .classes = maple_classes,                   \
		.needs = its_needs, .variant = MAPLE_SCHEDULE_##SCHEDULE,     \
		.open = open_random, .next = next,                            \
		.event = maple_profiled_event, .ended = maple_profiled_ended, \
		.drop = maple_profiled_drop, .count = maple_profiled_count,   \
		.standing = maple_profiled_standing,                          \
		.close = maple_profiled_close,                                \
	}

const struct maple_strategy maple_strategy_native = RANDOM("native", 0, NATIVE);
const struct maple_strategy maple_strategy_pctlarge = RANDOM(
	"pctlarge", MAPLE_NEEDS_CHANGES | MAPLE_NEEDS_PRIORITIES, PCTLARGE);
const struct maple_strategy maple_strategy_randdelay =
	RANDOM("randdelay", MAPLE_NEEDS_CHANGES, RANDDELAY);
