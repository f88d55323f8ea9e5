// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Controlled runs by themselves: each choice of the schedule is a policy's
 * (algorithms.md 10), and a run that fails is done again by the choices that it
 * had. They need no prediction, so they find what no candidate describes.
 *
 *   rw   each candidate is as likely as the others, at each point
 *   pos  an operation has a random priority; what is in conflict with the one
 *        that is executed draws anew
 *   surw all orders of the accesses to one variable are as likely as each other
 *   pct  a thread has a random priority, and goes below the others at depth - 1
 *        points of the run
 *
 * What surw and pct expect of a run, earlier runs say (expect.c).
 * The first runs are profile runs: they tell which sites share memory. Sites
 * that do not are no points in most runs (sharing.c). A controlled run observes
 * as well, so it counts and teaches what a profile run does.
 */
#include <errno.h>
#include <stdlib.h>
#include "../maple/classes.h"
#include "../maple/profile.h"

#define PROFILES 2 /* as many as it takes to know that a site is alone */

struct maple_controlling {
	struct maple_profiling profiling;
	enum maple_policy_kind policy;
};

static int open_control(const struct maple_strategy *strategy,
			struct maple_study *study, void **self,
			struct maple_error *err)
{
	struct maple_controlling *s = calloc(1, sizeof(*s));

	if (!s)
		return maple_error_set(err, ENOMEM, "out of memory");
	/* What sites share is learned by who listens. */
	maple_profiling_init(&s->profiling, study, true);
	s->policy = strategy->variant;
	*self = s;
	return 0;
}

static enum maple_next next(void *self, struct maple_job *job,
			    struct maple_error *err, int *e)
{
	static const enum maple_schedule first[PROFILES] = {
		MAPLE_SCHEDULE_OLDER, MAPLE_SCHEDULE_PCT
	};
	struct maple_controlling *s = self;
	struct maple_profiling *p = &s->profiling;
	unsigned int before = p->runs + p->underway;

	if (before < PROFILES) {
		job->schedule = first[before];
		*e = maple_profiling_begin(p, job, err);
	} else {
		*e = maple_profiling_control(p, job, s->policy, err);
	}
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
	struct maple_controlling *s = self;

	return maple_profiling_ended(&s->profiling, job, end, err);
}

static void drop(void *self, struct maple_job *job)
{
	struct maple_controlling *s = self;

	maple_profiling_drop(&s->profiling, job);
}

static void count(const void *self, struct maple_coverage *coverage)
{
	const struct maple_controlling *s = self;

	maple_choice_count(&s->profiling.candidates, &s->profiling.limits,
			   coverage);
}

static void standing(const void *self, struct maple_standing *standing)
{
	const struct maple_controlling *s = self;

	*standing = (struct maple_standing){
		.not_split = s->profiling.not_split,
		.unshared = s->profiling.sharing.left,
	};
}

static void close_control(void *self)
{
	struct maple_controlling *s = self;

	maple_profiling_deinit(&s->profiling);
	free(s);
}

/* One of the four, by its policy. */
#define CONTROL(its_name, POLICY)                                             \
	{                                                                     \
		.name = its_name, .classes = maple_classes,                   \
		.needs = MAPLE_NEEDS_CONTROL,                                 \
		.variant = MAPLE_POLICY_##POLICY, .open = open_control,       \
		.next = next, .event = event, .ended = ended, .drop = drop,   \
		.count = count, .standing = standing, .close = close_control, \
	}

const struct maple_strategy maple_strategy_rw = CONTROL("rw", RW);
const struct maple_strategy maple_strategy_pos = CONTROL("pos", POS);
const struct maple_strategy maple_strategy_surw = CONTROL("surw", SURW);
const struct maple_strategy maple_strategy_pct = CONTROL("pct", PCT);
