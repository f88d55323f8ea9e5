// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * grey: runs begin as an earlier one did that showed something rare, and go on
 * by pos (algorithms.md 13). What is rare a chain of lucky choices leads to: by
 * pos alone each run has to have them all, here it keeps those that it had.
 *
 * The first runs are profile runs: they tell which sites share memory. Of the
 * controlled ones some are predicted from, too, so that it is known what they
 * expose; to learn what was rare takes a tenth of that.
 */
#include <errno.h>
#include <stdlib.h>
#include "../maple/classes.h"
#include "corpus.h"

#define PROFILES  2	/* as many as it takes to know that a site is alone */
#define WHOLE	  8	/* controlled runs that are predicted from, at first; */
#define WHOLE_ONE 16	/* ... then one of so many */
#define BUDGET	  10000 /* events that a site records */
#define FORGET	  4000	/* runs without a finding: what is rare leads nowhere */

struct maple_grey {
	struct maple_profiling profiling;
	struct maple_corpus corpus;
	uint64_t begun; /* controlled runs */
	uint64_t vain;	/* ... that found nothing since the corpus was empty */
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
	s->profiling.keeps = true;
	*self = s;
	return 0;
}

static int begin_controlled(struct maple_grey *s, struct maple_job *job,
			    struct maple_error *err)
{
	struct maple_profiling *p = &s->profiling;
	const struct maple_study *study = p->study;
	struct maple_switches prefix;
	int e = maple_corpus_draw(&s->corpus,
				  study->random(study, job->seed + 1), &prefix);

	if (e)
		return maple_error_set(err, ENOMEM, "out of memory");
	p->lean = s->begun >= WHOLE && s->begun % WHOLE_ONE;
	s->begun++;
	e = prefix.n ? maple_profiling_follow(p, job, &prefix, err)
		     : maple_profiling_control(p, job, MAPLE_POLICY_POS, err);
	if (job->policy.policy == MAPLE_POLICY_LIST) {
		job->policy.behind = 1 + MAPLE_POLICY_POS;
		job->policy.blind = study->random(study, job->seed) & 1;
	}
	job->reads = true;
	job->budget = BUDGET;
	return e;
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
		*e = begin_controlled(s, job, err);
	}
	return MAPLE_NEXT_RUN;
}

static int learn(struct maple_grey *s, struct maple_job *job,
		 const struct maple_run *run, struct maple_error *err)
{
	const struct maple_study *study = s->profiling.study;
	uint32_t news;

	if (maple_corpus_learn(&s->corpus, run, &s->profiling.kept,
			       study->random(study, job->seed + 2), &news))
		return maple_error_set(err, ENOMEM, "out of memory");
	job->news |= news > 0;
	return 0;
}

/* A run that failed is not gone back to: others are to be found. */
static int ended(void *self, struct maple_job *job,
		 const struct maple_job_end *end, struct maple_error *err)
{
	struct maple_grey *s = self;
	const struct maple_run *run = end->run;
	bool controlled = job->kind == MAPLE_RUN_CONTROL;
	int e = maple_profiling_ended(&s->profiling, job, end, err);

	if (e || !controlled)
		return e;
	s->vain = end->failed ? 0 : s->vain + 1;
	if (s->vain >= FORGET) {
		maple_corpus_forget(&s->corpus);
		s->vain = 0;
	}
	if (end->failed || end->absent || run->lost || !run->names ||
	    run->counts.over || run->counts.uncounted || !s->profiling.kept.n ||
	    s->profiling.kept.cut)
		return 0;
	return learn(s, job, run, err);
}

static void close_grey(void *self)
{
	struct maple_grey *s = self;

	maple_corpus_forget(&s->corpus);
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
	.drop = maple_profiled_drop,
	.count = maple_profiled_count,
	.standing = maple_profiled_standing,
	.close = close_grey,
};
