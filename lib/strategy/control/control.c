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
 * The first runs are profile runs: they tell which sites share memory, and
 * which race. The others are no points in most runs (sharing.c). A controlled
 * run observes as well, so it counts and teaches what a profile run does. With
 * --patterns the patterns that controlled runs show are counted in place of
 * iRoots, so that they can be compared with pcr's.
 */
#include <errno.h>
#include <stdlib.h>
#include "../maple/classes.h"
#include "../maple/profile.h"
#include "../pcr/patterns.h"

#define PROFILES 2 /* as many as it takes to know that a site is alone */
#define BOUND	 MAPLE_POLICIES /* of a variant: at one variable */

struct maple_controlling {
	struct maple_profiling profiling;
	enum maple_policy_kind policy;
	bool bound;  /* to one variable */
	bool counts; /* patterns */
	struct maple_patterns patterns;
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
	s->counts = strategy->classes == maple_pattern_classes;
	s->patterns.mode = MAPLE_PATTERNS_COUNT;
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
	struct maple_controlled how =
		s->counts ? maple_patterns_how : (struct maple_controlled){ 0 };
	struct maple_profiling *p = &s->profiling;
	unsigned int before = p->runs + p->underway;

	how.bound = s->bound;
	if (before < PROFILES) {
		job->schedule = first[before];
		*e = maple_profiling_begin(p, job, err);
	} else {
		*e = maple_profiling_control(p, job, &how, s->policy, err);
		if (s->counts)
			job->budget = MAPLE_PATTERNS_BUDGET;
	}
	return MAPLE_NEXT_RUN;
}

static int ended(void *self, struct maple_job *job,
		 const struct maple_job_end *end, struct maple_error *err)
{
	struct maple_controlling *s = self;
	bool counted = s->counts && job->kind == MAPLE_RUN_CONTROL;
	int e = maple_profiled_ended(self, job, end, err);

	if (!e && counted)
		e = maple_patterns_ended(&s->patterns, &s->profiling, job, end,
					 err);
	return e;
}

static void count(const void *self, struct maple_coverage *coverage)
{
	const struct maple_controlling *s = self;

	if (s->counts)
		maple_patterns_count(&s->patterns, coverage);
	else
		maple_profiled_count(self, coverage);
}

static void close_control(void *self)
{
	struct maple_controlling *s = self;

	maple_patterns_deinit(&s->patterns);
	maple_profiled_close(self);
}

#define TABLE(its_name, POLICY, CLASSES, PATTERNED)                          \
	{                                                                    \
		.name = its_name, .classes = CLASSES,                        \
		.needs = MAPLE_NEEDS_CONTROL, .patterned = PATTERNED,        \
		.variant = POLICY, .open = open_control, .next = next,       \
		.event = maple_profiled_event, .ended = ended,               \
		.drop = maple_profiled_drop, .count = count,                 \
		.standing = maple_profiled_standing, .close = close_control, \
	}

/* One of them, by its policy; and the same, that counts patterns. */
#define CONTROL(its_name, POLICY)                                 \
	static const struct maple_strategy its_name##_patterned = \
		TABLE(#its_name, POLICY, maple_pattern_classes,   \
		      &its_name##_patterned);                     \
	const struct maple_strategy maple_strategy_##its_name =   \
		TABLE(#its_name, POLICY, maple_classes, &its_name##_patterned)

CONTROL(rw, MAPLE_POLICY_RW);
CONTROL(pos, MAPLE_POLICY_POS);
CONTROL(surw, MAPLE_POLICY_SURW);
CONTROL(pct, MAPLE_POLICY_PCT);
CONTROL(pctvb, BOUND + MAPLE_POLICY_PCT);
