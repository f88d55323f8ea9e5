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
 *   pctvb  the same, but all of these points are accesses to one variable,
 *        another one in each run
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
#define BOUND	 MAPLE_POLICIES /* of a variant: at one variable */

struct maple_controlling {
	struct maple_profiling profiling;
	enum maple_policy_kind policy;
	bool bound; /* to one variable */
};

MAPLE_PROFILED(struct maple_controlling);

static int open_control(const struct maple_strategy *strategy,
			struct maple_study *study, void **self,
			struct maple_error *err)
{
	struct maple_controlling *s = calloc(1, sizeof(*s));

	if (!s)
		return maple_error_set(err, ENOMEM, "out of memory");
	/* What sites share is learned by who listens. */
	maple_profiling_init(&s->profiling, study, true);
	s->policy = strategy->variant % BOUND;
	s->bound = strategy->variant >= BOUND;
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
	struct maple_controlled how = { .bound = s->bound };
	struct maple_profiling *p = &s->profiling;
	unsigned int before = p->runs + p->underway;

	if (before < PROFILES) {
		job->schedule = first[before];
		*e = maple_profiling_begin(p, job, err);
	} else {
		*e = maple_profiling_control(p, job, &how, s->policy, err);
	}
	return MAPLE_NEXT_RUN;
}

/* One of them, by its policy. */
#define CONTROL(its_name, POLICY)                                             \
	{                                                                     \
		.name = its_name, .classes = maple_classes,                   \
		.needs = MAPLE_NEEDS_CONTROL, .variant = POLICY,              \
		.open = open_control, .next = next,                           \
		.event = maple_profiled_event, .ended = maple_profiled_ended, \
		.drop = maple_profiled_drop, .count = maple_profiled_count,   \
		.standing = maple_profiled_standing,                          \
		.close = maple_profiled_close,                                \
	}

const struct maple_strategy maple_strategy_rw = CONTROL("rw", MAPLE_POLICY_RW);
const struct maple_strategy maple_strategy_pos =
	CONTROL("pos", MAPLE_POLICY_POS);
const struct maple_strategy maple_strategy_surw =
	CONTROL("surw", MAPLE_POLICY_SURW);
const struct maple_strategy maple_strategy_pct =
	CONTROL("pct", MAPLE_POLICY_PCT);
const struct maple_strategy maple_strategy_pctvb =
	CONTROL("pctvb", BOUND + MAPLE_POLICY_PCT);
