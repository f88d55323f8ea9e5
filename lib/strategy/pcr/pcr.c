// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * pcr: schedules that are solved for, so that the runs show all patterns of
 * accesses that two threads can make (algorithms.md 11).
 *
 * All runs are controlled. The first has the older threads first; what it did
 * says which patterns other orders of it would show. An order for one of them
 * is the next schedule, as far as it is sure and one step beyond, and what that
 * run does teaches the same. In the fifth run no order is followed, but threads
 * go by turns, which shows at once what orders show one by one. Where no
 * pattern is left, and every other time where two runs brought nothing, what no
 * trace has shown yet is looked for by pos.
 *
 * maptest, to compare it with: all runs are random ones, each of which looks
 * for one pattern, of those that were met least, by holding threads before its
 * steps. Nothing is solved for, so whether there is such an order is not known.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include "patterns.h"

#define QUIET  1000 /* runs without news, before a campaign ends */
#define BARREN 2    /* runs without news, before some are drawn */
#define TURNS  5    /* the run in which threads go by turns */
#define DRY    3    /* ... at random, before all is said to be covered */

struct maple_pcr {
	struct maple_profiling profiling;
	struct maple_patterns patterns;
	unsigned int runs, underway, begun;
	bool drew; /* the last one was drawn, though there are orders */
	unsigned int quiet; /* runs without news, in a row */
	unsigned int dry;   /* ... at random, from which all was learned */
};

MAPLE_PROFILED(struct maple_pcr);

static int open_pcr(const struct maple_strategy *strategy,
		    struct maple_study *study, void **self,
		    struct maple_error *err)
{
	struct maple_pcr *s = calloc(1, sizeof(*s));

	if (!s)
		return maple_error_set(err, ENOMEM, "out of memory");
	maple_profiling_init(&s->profiling, study, true);
	s->patterns.mode = strategy->variant;
	s->patterns.promises = true;
	*self = s;
	return 0;
}

static enum maple_next next(void *self, struct maple_job *job,
			    struct maple_error *err, int *e)
{
	struct maple_pcr *s = self;
	struct maple_profiling *p = &s->profiling;
	struct maple_switches none = { 0 };

	s->underway++;
	s->begun++;
	if (s->patterns.mode == MAPLE_PATTERNS_SEEK) {
		*e = maple_patterns_seek(&s->patterns, p, job, err);
		return MAPLE_NEXT_RUN;
	}
	if (!s->runs && s->underway == 1) {
		*e = maple_profiling_follow(p, job, &maple_patterns_how, &none,
					    err);
		return MAPLE_NEXT_RUN;
	}
	if (s->begun == TURNS) {
		*e = maple_profiling_follow(p, job, &maple_patterns_how, &none,
					    err);
		job->policy.base = s->patterns.back ? MAPLE_POLICY_TURNS_BACK
						    : MAPLE_POLICY_TURNS;
		return MAPLE_NEXT_RUN;
	}
	/* By turns with orders that bring nothing: orders are of what is known. */
	s->drew = !s->drew && s->patterns.barren >= BARREN;
	if (!s->drew && maple_patterns_begin(&s->patterns, p, job, err, e))
		return MAPLE_NEXT_RUN;
	if (p->study->options->until_covered && s->dry >= DRY) {
		s->underway--;
		return s->underway ? MAPLE_NEXT_WAIT : MAPLE_NEXT_DONE;
	}
	job->idle = !maple_patterns_any(&s->patterns);
	job->wanted = job->idle && s->quiet < QUIET ? QUIET - s->quiet : 0;
	*e = maple_profiling_control(p, job, &maple_patterns_how,
				     MAPLE_POLICY_POS, err);
	return MAPLE_NEXT_RUN;
}

static int ended(void *self, struct maple_job *job,
		 const struct maple_job_end *end, struct maple_error *err)
{
	struct maple_pcr *s = self;
	int e = maple_profiling_ended(&s->profiling, job, end, err);

	assert(s->underway);
	s->underway--;
	s->runs++;
	if (!e)
		e = maple_patterns_ended(&s->patterns, &s->profiling, job, end,
					 err);
	s->quiet = job->news ? 0 : s->quiet + 1;
	s->dry = job->news || s->patterns.cut ? 0 : s->dry + job->idle;
	return e;
}

static void drop(void *self, struct maple_job *job)
{
	struct maple_pcr *s = self;

	assert(s->underway);
	s->underway--;
	maple_patterns_drop(job);
	maple_profiling_drop(&s->profiling, job);
}

static void count(const void *self, struct maple_coverage *coverage)
{
	const struct maple_pcr *s = self;

	maple_patterns_count(&s->patterns, coverage);
}

static void standing(const void *self, struct maple_standing *standing)
{
	const struct maple_pcr *s = self;

	*standing = (struct maple_standing){
		.not_split = s->profiling.not_split,
		.unshared = s->profiling.sharing.left,
		.untried = !s->runs,
	};
}

static void close_pcr(void *self)
{
	struct maple_pcr *s = self;

	maple_patterns_deinit(&s->patterns);
	maple_profiling_deinit(&s->profiling);
	free(s);
}

/* Orders that are solved for, or patterns that are met by chance. */
#define PATTERNS(its_name, MODE)                                  \
	const struct maple_strategy maple_strategy_##its_name = { \
		.name = #its_name,                                \
		.classes = maple_pattern_classes,                 \
		.needs = MAPLE_NEEDS_CONTROL,                     \
		.patterned = &maple_strategy_##its_name,          \
		.covers = (MODE) == MAPLE_PATTERNS_SOLVE,         \
		.variant = MODE,                                  \
		.open = open_pcr,                                 \
		.next = next,                                     \
		.event = maple_profiled_event,                    \
		.ended = ended,                                   \
		.drop = drop,                                     \
		.count = count,                                   \
		.standing = standing,                             \
		.close = close_pcr,                               \
	}

PATTERNS(pcr, MAPLE_PATTERNS_SOLVE);
PATTERNS(maptest, MAPLE_PATTERNS_SEEK);
