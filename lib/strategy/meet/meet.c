// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * meet: what no order of accesses shows, since it takes two CPUs and their
 * store buffers (algorithms.md 16). Its runs are left to the kernel, on all
 * CPUs, without priorities; so they take no rights. Profile runs, as natively,
 * say which crossings there are.
 */
#include <errno.h>
#include <stdlib.h>
#include "../maple/classes.h"
#include "meetings.h"

#define PROFILES 2 /* the first says what races, the second what crosses */

struct maple_meet {
	struct maple_profiling profiling;
	struct maple_meetings meetings;
};

MAPLE_PROFILED(struct maple_meet);

static int open_meet(const struct maple_strategy *strategy,
		     struct maple_study *study, void **self,
		     struct maple_error *err)
{
	struct maple_meet *m;

	(void)strategy;
	if (!study->meets)
		return maple_error_set(err, ENOTSUP,
				       "--strategy meet has two threads run at "
				       "the same time, and this process may use "
				       "one CPU alone (taskset, cpuset)");
	m = calloc(1, sizeof(*m));
	if (!m)
		return maple_error_set(err, ENOMEM, "out of memory");
	/* What races is learned by who listens. */
	maple_profiling_init(&m->profiling, study, true);
	m->profiling.crosses = true;
	*self = m;
	return 0;
}

static enum maple_next next(void *self, struct maple_job *job,
			    struct maple_error *err, int *e)
{
	struct maple_meet *m = self;
	struct maple_profiling *p = &m->profiling;

	*e = 0;
	if (p->runs + p->underway >= PROFILES &&
	    maple_meetings_begin(&m->meetings, job))
		return MAPLE_NEXT_RUN;
	job->schedule = MAPLE_SCHEDULE_NATIVE;
	*e = maple_profiling_begin(p, job, err);
	job->idle = true;
	return MAPLE_NEXT_RUN;
}

static int ended(void *self, struct maple_job *job,
		 const struct maple_job_end *end, struct maple_error *err)
{
	struct maple_meet *m = self;
	int e;

	if (maple_meetings_is(job)) {
		maple_meetings_ended(&m->meetings, job, end);
		return 0;
	}
	e = maple_profiled_ended(self, job, end, err);
	return e ? e : maple_meetings_learn(&m->meetings, &m->profiling, err);
}

/* Without a meeting nothing was tested but what the kernel's own schedules do. */
static void standing(const void *self, struct maple_standing *standing)
{
	const struct maple_meet *m = self;

	maple_profiled_standing(self, standing);
	if (!m->meetings.met && m->meetings.n)
		standing->nothing = "no two threads met, on two CPUs: raise "
				    "--max-runs";
	else if (!m->meetings.met)
		standing->nothing =
			"no thread writes and then reads what another writes "
			"and reads, without a fence or a lock: that is all "
			"that --strategy meet tests; leave it out";
}

static void close_meet(void *self)
{
	struct maple_meet *m = self;

	maple_meetings_deinit(&m->meetings);
	maple_profiled_close(self);
}

const struct maple_strategy maple_strategy_meet = {
	.name = "meet",
	.classes = maple_classes,
	.needs = MAPLE_NEEDS_CONTROL,
	.open = open_meet,
	.next = next,
	.event = maple_profiled_event,
	.ended = ended,
	.drop = maple_profiled_drop,
	.count = maple_profiled_count,
	.standing = standing,
	.close = close_meet,
};
