// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * grey: runs begin as an earlier one did that showed something rare, and go on
 * by pos (algorithms.md 13). What is rare a chain of lucky choices leads to: by
 * pos alone each run has to have them all, here it keeps those that it had.
 *
 * The first runs are profile runs: they tell which sites share memory.
 */
#include <errno.h>
#include <stdlib.h>
#include "../maple/classes.h"
#include "greybox.h"

#define PROFILES 2 /* as many as it takes to know that a site is alone */

struct maple_grey {
	struct maple_profiling profiling;
	struct maple_greybox greybox;
};

MAPLE_PROFILED(struct maple_grey);

static int open_grey(const struct maple_strategy *strategy,
		     struct maple_study *study, void **self,
		     struct maple_error *err)
{
	struct maple_grey *s = calloc(1, sizeof(*s));

	(void)strategy;
	if (!s)
		return maple_error_set(err, ENOMEM, "out of memory");
	maple_profiling_init(&s->profiling, study, true);
	*self = s;
	return 0;
}

static enum maple_next next(void *self, struct maple_job *job,
			    struct maple_error *err, int *e)
{
	static const enum maple_schedule first[PROFILES] = {
		MAPLE_SCHEDULE_OLDER, MAPLE_SCHEDULE_PCT
	};
	struct maple_grey *s = self;
	struct maple_profiling *p = &s->profiling;
	unsigned int before = p->runs + p->underway;

	if (before < PROFILES) {
		job->schedule = first[before];
		*e = maple_profiling_begin(p, job, err);
	} else {
		*e = maple_greybox_begin(&s->greybox, p, job, err);
	}
	return MAPLE_NEXT_RUN;
}

static int ended(void *self, struct maple_job *job,
		 const struct maple_job_end *end, struct maple_error *err)
{
	struct maple_grey *s = self;
	bool controlled = job->kind == MAPLE_RUN_CONTROL, news;
	int e = maple_profiling_ended(&s->profiling, job, end, err);

	if (e || !controlled)
		return e;
	e = maple_greybox_ended(&s->greybox, &s->profiling, job, end, &news,
				err);
	job->news |= news;
	return e;
}

static void drop(void *self, struct maple_job *job)
{
	struct maple_grey *s = self;

	maple_greybox_drop(&s->greybox, job);
	maple_profiling_drop(&s->profiling, job);
}

static void leave(void *self)
{
	struct maple_grey *s = self;

	maple_greybox_leave(&s->greybox, s->profiling.study);
}

static void close_grey(void *self)
{
	struct maple_grey *s = self;

	maple_greybox_deinit(&s->greybox);
	maple_profiling_deinit(&s->profiling);
	free(s);
}

const struct maple_strategy maple_strategy_grey = {
	.name = "grey",
	.classes = maple_classes,
	.needs = MAPLE_NEEDS_CONTROL,
	.open = open_grey,
	.next = next,
	.event = maple_profiled_event,
	.ended = ended,
	.drop = drop,
	.count = maple_profiled_count,
	.standing = maple_profiled_standing,
	.leave = leave,
	.close = close_grey,
};
