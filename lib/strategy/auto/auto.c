// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * auto: all of them, by what each of them brings (algorithms.md 14).
 *
 * maple predicts and enforces; pcr solves for patterns, and rank goes on from
 * one schedule to those beside it; meet shows what store buffers do, and has
 * few runs; pos draws, and so do grey, surw and pct later on. What one learns
 * all of them know: a run of any of them is predicted from, and a controlled
 * one shows patterns to pcr. How many runs each of them has, shares.c says.
 *
 * A controlled run of a program that does much can take a campaign's time. As
 * long as there is something to enforce there are none of such a program. In
 * some a thread spins for one that is not let run, and so it does in some of
 * maple's; they are let go soon.
 */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include "base/clock.h"
#include "../grey/greybox.h"
#include "../maple/classes.h"
#include "../maple/maple.h"
#include "../pcr/patterns.h"
#include "../meet/meetings.h"
#include "../rank/ranking.h"
#include "shares.h"

#define QUIET 1000 /* controlled runs without news, before a campaign ends */
#define SHORT \
	0.1 /* seconds of a profile run, for controlled ones to be short */
#define FREE_SECONDS 1.0 /* that controlled runs have, whatever others took */
#define EAGER	     2 /* runs in a row of orders that others did, by other callers */
#define LATE	     200 /* runs, after which time counts, not runs */
#define FADES	     0.1 /* of the mean, what a further run is */
#define HOLD_LEAST   0.5 /* seconds, until a run is let go, */
#define HOLD_TIMES   20	 /* ... and so many times what runs take */

/* From GREY on: later. */
enum part { MAPLE, PCR, RANK, POS, MEET, GREY, SURW, PCT, PARTS };

static const char *const names[PARTS + 1] = {
	[MAPLE] = "maple", [PCR] = "pcr",   [RANK] = "rank", [POS] = "pos",
	[MEET] = "meet",   [GREY] = "grey", [SURW] = "surw", [PCT] = "pct",
};

/*
 * Whose the first runs are, behind the one that all learn from: most bugs are
 * found by maple's. Those of rank go on from each other, and find little before
 * the fourth.
 */
static const enum part first[] = { MAPLE, MAPLE, MAPLE, PCR,  MAPLE, PCR,
				   RANK,  RANK,	 RANK,	RANK, RANK };

static const double weights[PARTS] = {
	[MAPLE] = 4, [PCR] = 4,	 [RANK] = 2, [POS] = 1,
	[MEET] = 1,  [GREY] = 4, [SURW] = 1, [PCT] = 1,
};

struct maple_portfolio {
	struct maple_search maple;
	struct maple_patterns patterns;
	struct maple_ranking ranking;
	struct maple_greybox greybox;
	struct maple_meetings meetings;
	struct maple_share share[PARTS];
	unsigned int firsts;	     /* of the first runs, those that were */
	double enforced, controlled; /* seconds of runs so far */
	double profiled; /* ... that the longest profile run would take then */
	double mean;	 /* ... about, that a run takes which is not let go */
	unsigned int begun;
	bool late;
	unsigned int eager; /* runs of variants, the last ones in a row */
	unsigned int quiet; /* controlled runs, the last ones, without news */
};

static_assert(!offsetof(struct maple_portfolio, maple),
	      "its profiling comes first");

static int open_auto(const struct maple_strategy *strategy,
		     struct maple_study *study, void **self,
		     struct maple_error *err)
{
	struct maple_portfolio *a = calloc(1, sizeof(*a));

	(void)strategy;
	if (!a)
		return maple_error_set(err, ENOMEM, "out of memory");
	maple_profiling_init(&a->maple.profiling, study, true);
	a->maple.profiling.crosses = study->meets;
	maple_ranking_init(&a->ranking, MAPLE_RANK_NEWS, study->options);
	for (int i = 0; i < PARTS; i++)
		maple_share_init(&a->share[i], weights[i]);
	a->share[POS].blind = a->share[MEET].blind = a->share[GREY].blind = true;
	*self = a;
	return 0;
}

/*
 * How long a run that took so many @seconds, @cpu of the CPU, is where it is
 * controlled, as far as can be known: a clock of its own leaves out its waits.
 */
static double length(const struct maple_portfolio *a, double seconds, double cpu)
{
	const struct maple_study *study = a->maple.profiling.study;

	return study->options->real_time || !(cpu > 0) ? seconds : cpu;
}

/*
 * Whether controlled runs are to be had while there is something to enforce.
 * Later on each part pays for the time that its runs take.
 */
static bool mixes(const struct maple_portfolio *a, bool late)
{
	if (a->maple.profiling.study->searching)
		return false;
	return late || (a->profiled < SHORT && (a->controlled < FREE_SECONDS ||
						a->controlled < a->enforced));
}

/*
 * Whether the first run can be a controlled one: it teaches all of them. What
 * such a run costs is not known yet.
 */
static bool is_short(const struct maple_portfolio *a)
{
	const struct maple_study *study = a->maple.profiling.study;

	return study->controls &&
	       length(a, study->native, study->native_cpu) < SHORT &&
	       a->maple.profiling.limits.order != MAPLE_ORDER_PAPER;
}

/* The parts whose turn it may be. Those that have no run left say so later. */
static void ask(const struct maple_portfolio *a, bool idle, bool late,
		bool *wants)
{
	const struct maple_profiling *p = &a->maple.profiling;
	bool controls = p->study->controls &&
			p->limits.order != MAPLE_ORDER_PAPER &&
			(idle || mixes(a, late));

	for (int i = 0; i < PARTS; i++)
		wants[i] = i == MAPLE || (controls && (late || i < GREY));
	/* Where nothing is forced it has said all that it can. */
	if (idle && controls && p->study->alone)
		wants[MAPLE] = false;
}

static int draw(struct maple_portfolio *a, struct maple_job *job,
		enum maple_policy_kind policy, struct maple_error *err)
{
	/* All events, from which the others learn. */
	static const struct maple_controlled how = { .keeps = true };

	return maple_profiling_control(&a->maple.profiling, job, &how, policy,
				       err);
}

/*
 * How long a schedule is held, in which one thread may spin for another that is
 * not let run. What a run of maple's takes is not known before there was one.
 */
static double holds(const struct maple_portfolio *a, enum part part)
{
	return part == MEET || (part == MAPLE && !(a->mean > 0))
		       ? 0
		       : HOLD_LEAST + HOLD_TIMES * a->mean;
}

/* Whether @part has a run, as @job. @e: 0, or -errno */
static bool begin(struct maple_portfolio *a, enum part part,
		  struct maple_job *job, struct maple_error *err, int *e)
{
	struct maple_profiling *p = &a->maple.profiling;

	*e = 0;
	job->part = part;
	job->hold = holds(a, part);
	switch (part) {
	case PCR:
		return maple_patterns_begin(&a->patterns, p, job, err, e);
	case RANK:
		return maple_ranking_begin(&a->ranking, p, job, err, e) ==
		       MAPLE_NEXT_RUN;
	case MEET:
		return maple_meetings_begin(&a->meetings, job);
	case GREY:
		*e = maple_greybox_begin(&a->greybox, p, job, err);
		break;
	case POS:
		*e = draw(a, job, MAPLE_POLICY_POS, err);
		break;
	case SURW:
		*e = draw(a, job, MAPLE_POLICY_SURW, err);
		break;
	case PCT:
		*e = draw(a, job, MAPLE_POLICY_PCT, err);
		break;
	default:
		assert(part == MAPLE);
		*e = maple_search_begin(&a->maple, job, err);
	}
	return true;
}

/* Whose turn it is, of those that have one. */
static enum part turn(struct maple_portfolio *a, const bool *wants)
{
	bool alone = a->maple.profiling.study->alone;
	enum part part;

	if (a->eager < EAGER && maple_search_is_eager(&a->maple))
		return MAPLE;
	while (a->firsts < sizeof(first) / sizeof(*first)) {
		part = first[a->firsts++];
		/* Where maple forces nothing it has profile runs: one is enough. */
		if (wants[part] && (part != MAPLE || !alone || a->firsts == 1))
			return part;
	}
	return maple_shares_next(a->share, PARTS, wants);
}

static enum maple_next next(void *self, struct maple_job *job,
			    struct maple_error *err, int *e)
{
	struct maple_portfolio *a = self;
	bool idle = maple_search_is_idle(&a->maple);
	bool late = idle || a->begun >= LATE;
	bool wants[PARTS];
	double since = maple_clock_now();
	enum part part;

	a->late = late;
	if (!a->begun++ && is_short(a) && begin(a, RANK, job, err, e))
		return MAPLE_NEXT_RUN;
	ask(a, idle, late, wants);
	for (;;) {
		part = turn(a, wants);
		assert(part < PARTS); /* maple or pos always has a run */
		if (begin(a, part, job, err, e))
			break;
		wants[part] = false;
	}
	a->eager = part == MAPLE && job->variant ? a->eager + 1 : 0;
	maple_shares_begun(a->share, PARTS, part);
	job->choice = maple_clock_now() - since;
	job->idle = idle;
	job->wanted = idle && wants[POS] && a->quiet < QUIET ? QUIET - a->quiet
							     : 0;
	return MAPLE_NEXT_RUN;
}

/*
 * How long @job took, over what others do, with what was learned from it
 * @since; not with the runs of other lanes that it has waited for.
 */
static double cost(struct maple_portfolio *a, const struct maple_job *job,
		   const struct maple_run *run, double since)
{
	double seconds = job->choice + run->seconds + maple_clock_now() - since;

	if (!run->released)
		a->mean += (seconds - a->mean) * (a->mean > 0 ? FADES : 1);
	return a->mean > 0 && (a->late || run->released) ? seconds / a->mean
							 : 1;
}

/* What a controlled run says to those that did not ask for it as well. */
static int teach(struct maple_portfolio *a, struct maple_job *job,
		 const struct maple_job_end *end, struct maple_error *err)
{
	struct maple_profiling *p = &a->maple.profiling;
	double since = maple_clock_now();
	bool shown = false;
	int e;

	assert(job->part < PARTS && job->part != MAPLE && job->part != MEET);
	e = maple_profiling_ended(p, job, end, err);
	if (!e)
		e = maple_meetings_learn(&a->meetings, p, err);
	if (job->part == RANK && e)
		maple_ranking_drop(&a->ranking, job);
	else if (job->part == RANK)
		e = maple_ranking_ended(&a->ranking, p, job, end, err);
	/* There are too many of them to look for patterns in each. */
	if (!e && job->part != GREY)
		e = maple_patterns_ended(&a->patterns, p, job, end, err);
	else if (!e)
		e = maple_greybox_ended(&a->greybox, p, job, end, &shown, err);
	maple_shares_ended(&a->share[job->part], job->news || shown,
			   cost(a, job, end->run, since));
	return e;
}

static int ended(void *self, struct maple_job *job,
		 const struct maple_job_end *end, struct maple_error *err)
{
	struct maple_portfolio *a = self;
	const struct maple_run *run = end->run;
	double taken, since = maple_clock_now();
	int e;

	if (job->part == MEET) {
		maple_meetings_ended(&a->meetings, job, end);
		maple_shares_ended(&a->share[MEET], job->news,
				   cost(a, job, run, since));
		return 0;
	}
	if (job->kind == MAPLE_RUN_CONTROL) {
		a->controlled += run->seconds;
		e = teach(a, job, end, err);
		a->quiet = job->news ? 0 : a->quiet + 1;
		return e;
	}
	taken = length(a, run->seconds, run->cpu_seconds);
	if (job->kind == MAPLE_RUN_ENFORCE)
		a->enforced += run->seconds;
	else if (!run->released && taken > a->profiled)
		a->profiled = taken;
	e = maple_search_ended(&a->maple, job, end, err);
	if (!e)
		e = maple_meetings_learn(&a->meetings, &a->maple.profiling, err);
	maple_shares_ended(&a->share[MAPLE], job->news,
			   cost(a, job, run, since));
	if (job->news)
		a->quiet = 0;
	return e;
}

static void drop(void *self, struct maple_job *job)
{
	struct maple_portfolio *a = self;

	if (job->part == RANK)
		maple_ranking_drop(&a->ranking, job);
	else if (job->part == PCR)
		maple_patterns_drop(job);
	else if (job->part == GREY)
		maple_greybox_drop(&a->greybox, job);
	maple_search_drop(&a->maple, job);
}

static void standing(const void *self, struct maple_standing *standing)
{
	const struct maple_portfolio *a = self;

	maple_search_standing(&a->maple, standing);
}

static void leave(void *self)
{
	struct maple_portfolio *a = self;

	maple_greybox_leave(&a->greybox, a->maple.profiling.study);
}

static void close_auto(void *self)
{
	struct maple_portfolio *a = self;

	maple_patterns_deinit(&a->patterns);
	maple_meetings_deinit(&a->meetings);
	maple_ranking_deinit(&a->ranking);
	maple_greybox_deinit(&a->greybox);
	maple_profiling_deinit(&a->maple.profiling);
	free(a);
}

const struct maple_strategy maple_strategy_auto = {
	.name = "auto",
	.classes = maple_classes,
	.parts = names,
	.forces = true,
	.open = open_auto,
	.next = next,
	.event = maple_profiled_event,
	.ended = ended,
	.drop = drop,
	.count = maple_profiled_count,
	.standing = standing,
	.around = maple_profiled_around,
	.sites = maple_profiled_sites,
	.leave = leave,
	.close = close_auto,
};
