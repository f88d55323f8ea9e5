// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * rank: schedules that are one turn further from one that was run, those first
 * that reverse what was reversed least often (algorithms.md 12).
 *
 * All runs are controlled. Of two the older, and the younger, threads go on as
 * long as they can. In what a run did races are looked for: another schedule is
 * the same up to one side of a race, and goes on with the thread of the other.
 * What such a run would do is first worked out on paper; if that is the order
 * of a run that was, it is not run.
 *
 * With --exhaust, once no race is left within the bounds, all turns at all
 * places are taken; what all of them have done is no guess then. Without it,
 * what no list is left for is looked for by pos.
 *
 * Three more take all turns at all places from the start, in the orders that
 * were published, so that rank can be compared with them:
 *
 *   chess        fewest preemptions first; who goes on when a thread waits or
 *                ends is free
 *   delay        fewest delays first: each passes over the thread that is due
 *   rankchecker  fewest variables first, of these the rarest; of runs that
 *                came out the same only the first is gone on from
 */
#include <errno.h>
#include <stdlib.h>
#include "../maple/classes.h"
#include "ranking.h"

#define QUIET 1000 /* runs without news, before a campaign ends */

struct maple_rank {
	struct maple_profiling profiling;
	struct maple_ranking ranking;
	unsigned int quiet;
};

MAPLE_PROFILED(struct maple_rank);

static int open_rank(const struct maple_strategy *strategy,
		     struct maple_study *study, void **self,
		     struct maple_error *err)
{
	struct maple_rank *s = calloc(1, sizeof(*s));

	if (!s)
		return maple_error_set(err, ENOMEM, "out of memory");
	maple_profiling_init(&s->profiling, study, true);
	maple_ranking_init(&s->ranking, strategy->variant, study->options);
	*self = s;
	return 0;
}

static enum maple_next next(void *self, struct maple_job *job,
			    struct maple_error *err, int *e)
{
	struct maple_rank *s = self;
	struct maple_profiling *p = &s->profiling;
	bool exhausts = p->study->options->exhaust;
	enum maple_next next = maple_ranking_begin(&s->ranking, p, job, err, e);

	/* There is nearly always one more; it may be too much like these. */
	if (next == MAPLE_NEXT_RUN)
		job->idle = s->quiet >= QUIET && !exhausts;
	if (next != MAPLE_NEXT_DONE || exhausts ||
	    s->ranking.lists.way != MAPLE_RANK_NEWS)
		return next;
	job->idle = true;
	job->wanted = s->quiet < QUIET ? QUIET - s->quiet : 0;
	*e = maple_profiling_control(p, job, &s->ranking.how, MAPLE_POLICY_POS,
				     err);
	return MAPLE_NEXT_RUN;
}

static int ended(void *self, struct maple_job *job,
		 const struct maple_job_end *end, struct maple_error *err)
{
	struct maple_rank *s = self;
	int e = maple_profiling_ended(&s->profiling, job, end, err);

	if (job->aim && !e)
		e = maple_ranking_ended(&s->ranking, &s->profiling, job, end,
					err);
	else if (job->aim)
		maple_ranking_drop(&s->ranking, job);
	s->quiet = job->news ? 0 : s->quiet + 1;
	return e;
}

static void drop(void *self, struct maple_job *job)
{
	struct maple_rank *s = self;

	if (job->aim)
		maple_ranking_drop(&s->ranking, job);
	maple_profiling_drop(&s->profiling, job);
}

static void standing(const void *self, struct maple_standing *standing)
{
	const struct maple_rank *s = self;

	maple_profiled_standing(self, standing);
	if (s->profiling.study->options->exhaust)
		maple_ranking_bound(&s->ranking, &standing->bound);
}

static void close_rank(void *self)
{
	struct maple_rank *s = self;

	maple_ranking_deinit(&s->ranking);
	maple_profiling_deinit(&s->profiling);
	free(s);
}

/* One of the four, by what comes first. */
#define SEARCH(its_name, WAY)                                                 \
	{                                                                     \
		.name = its_name, .classes = maple_classes,                   \
		.needs = MAPLE_NEEDS_CONTROL, .exhausts = true,               \
		.variant = MAPLE_RANK_##WAY, .open = open_rank, .next = next, \
		.event = maple_profiled_event, .ended = ended, .drop = drop,  \
		.count = maple_profiled_count, .standing = standing,          \
		.close = close_rank,                                          \
	}

const struct maple_strategy maple_strategy_rank = SEARCH("rank", NEWS);
const struct maple_strategy maple_strategy_chess = SEARCH("chess", CHESS);
const struct maple_strategy maple_strategy_delay = SEARCH("delay", DELAYS);
const struct maple_strategy maple_strategy_rankchecker =
	SEARCH("rankchecker", VARIABLES);
